"""Reductions along dimensions, and sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i1, i64

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions.indexing import sorted_along
from relex.frontend.compositions.reshaping import is_number
from relex.frontend.compositions.softmax import log_sum_exp
from relex.frontend.compositions.truth import all_of, any_of
from relex.frontend.torch import Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row

Axes = int | Sequence[int] | None


def _reduced(
    node: TorchNode, reduce: Callable[..., Operand], x: Operand, axes: Axes = None, keepdim: bool = False
) -> Operand:
    chosen = node.dimensions(axes, x)
    return reduce(x, chosen, keepdim) if chosen else x


def _typed(node: TorchNode, reduce: Callable[..., Operand], x: Tensor, axes: Any = None, *options: Any) -> Operand:
    """Reduce numbers of the type of the result. Without dimensions, this type is the second argument."""
    chosen = cast(Axes, axes) if isinstance(axes, int | list | tuple) else None
    return _reduced(node, reduce, node.typed(x), chosen, *options[:1])


row("amax max.default", op.max, _typed)
row("amin min.default", op.min, _typed)
row("mean", op.mean, _typed)
row("prod", op.prod, _typed)
row("sum", op.sum, _typed)


@imports("aten.logsumexp")
def log_of_sum(node: TorchNode, x: Tensor, axes: Axes, keepdim: bool = False) -> Operand:
    """The logarithm of the sum of exponentials; of none, minus infinity."""
    shape, chosen = node.shape(x), node.dimensions(axes, x)
    if any(is_number(shape[axis], 0) for axis in chosen):
        kept = [1 if d in chosen else size for d, size in enumerate(shape) if keepdim or d not in chosen]
        return node.full(kept, -np.inf, node.result_type)
    return node.typed(_reduced(node, log_sum_exp, node.widened(x), axes, keepdim))


@imports("aten.max.dim", "aten.min.dim")
def extreme_and_place(node: TorchNode, x: Tensor, axis: int, keepdim: bool = False) -> list[Operand]:
    """The maximum or minimum along a dimension, and its position."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    largest, place = (op.max, op.argmax) if node.name == "max" else (op.min, op.argmin)
    return [largest(x, axis, keepdim), place(x, axis, keepdim)]


@imports("aten.argmax", "aten.argmin")
def argmax(node: TorchNode, x: Tensor, axis: int | None = None, keepdim: bool = False) -> Operand:
    """The position of the maximum or minimum."""
    function = getattr(op, node.name)
    if x.element_type == i1:
        refuse("expected numbers, found booleans: PyTorch has no such kernel")
    if node.rank(x) == 0:
        return node.full([], 0, i64)
    if axis is None:
        place = function(node.reshape(x, [count(node.shape(x))]), 0, False)
        return node.reshape(place, [1] * node.rank(x)) if keepdim else place
    return function(x, axis, keepdim)


@imports("aten.any", "aten.all")
def any_or_all(node: TorchNode, x: Tensor, axes: Axes = None, keepdim: bool = False) -> Operand:
    """Whether any element is nonzero, or all are; of bytes, as a byte."""
    reduce = any_of if node.name == "any" else all_of
    return node.typed(_reduced(node, partial(reduce, node), node.typed(x, i1), axes, keepdim))


@imports("aten.var.correction", "aten.std.correction", "aten.var_mean.correction", "aten.std_mean.correction")
def variance(
    node: TorchNode, x: Tensor, axes: Axes = None, correction: float | None = None, keepdim: bool = False
) -> Operand | list[Operand]:
    """The variance, or its root, and the mean if that is asked for."""
    y = node.widened(x)
    chosen = node.dimensions(axes, y)
    number = count([node.shape(y)[axis] for axis in chosen])
    mean = node.tensor(op.mean(y, chosen, True))
    centred = op.subtract(y, mean)
    lost = 1 if correction is None else correction
    degrees: Operand = (
        float(max(number - lost, 0))
        if isinstance(number, int)
        else op.maximum(op.subtract(node.typed(number, node.element_type(y)), float(lost)), 0.0)
    )
    found = op.divide(op.sum(op.multiply(centred, centred), chosen, keepdim), degrees)
    spread = node.typed(op.sqrt(found) if node.name.startswith("std") else found)
    return [spread, node.typed(mean if keepdim else op.squeeze(mean, chosen))] if "_mean" in node.name else spread


@imports("aten.linalg_vector_norm", "aten.norm.Scalar")
def vector_norm(
    node: TorchNode, x: Tensor, order: float = 2, axes: Axes = None, keepdim: bool = False, dtype: Any = None
) -> Operand:
    """The norm of vectors."""
    return node.typed(_norm(node, node.widened(x), order, axes, keepdim))


@imports("aten.cdist", "aten._cdist_forward")
def distances(node: TorchNode, x: Tensor, y: Tensor, order: float = 2.0, mode: int | None = None) -> Operand:
    """The norms of the differences between each row of one matrix and each of another, whichever way to compute them is
    requested."""
    rows, columns = op.expand_dims(x, node.rank(x) - 1), op.expand_dims(y, node.rank(y) - 2)
    differences = node.tensor(op.subtract(rows, columns))
    if order == 0:  # Unlike other norms, it is NaN for NaN.
        return op.sum(op.minimum(op.ceil(op.abs(differences)), 1.0), -1, False)
    return _norm(node, differences, order, -1, keepdim=False)


def _norm(node: TorchNode, y: Operand, order: float, axes: Axes, keepdim: bool) -> Operand:
    absolute = op.abs(y)
    if order == 2:
        return op.sqrt(_reduced(node, op.sum, node.tensor(op.multiply(y, y)), axes, keepdim))
    if abs(order) == np.inf:
        return _reduced(node, op.max if order > 0 else op.min, node.tensor(absolute), axes, keepdim)
    if order == 0:
        return _reduced(node, op.sum, node.typed(op.not_equal(y, 0.0)), axes, keepdim)
    powers = absolute if order == 1 else op.power(absolute, node.like(order, y))
    sums = _reduced(node, op.sum, node.tensor(powers), axes, keepdim)
    return sums if order == 1 else op.power(sums, node.like(1 / order, y))


@imports("aten.histc")
def histogram(node: TorchNode, x: Tensor, bins: int = 100, low: float = 0, high: float = 0) -> Operand:
    """How many elements are in each of equal parts between two numbers, which are the extremes of the elements if they
    are equal. The last part includes its end; NaN is in none."""
    y = node.tensor(node.reshape(node.typed(x), [count(node.shape(x))]))
    first, last = (op.reshape(node.like(edge, y), []) for edge in (low, high))
    if low == high:
        first, last = (op.min(y), op.max(y)) if node.shape(y) != (0,) else (first, last)
        is_finite = op.logical_and(op.isfinite(first), op.isfinite(last))
        node.expect(is_finite, "expected elements that are finite, to divide their range")
        is_single = op.equal(first, last)
        first, last = op.where(is_single, first - 1.0, first), op.where(is_single, last + 1.0, last)
    inside = op.logical_and(op.greater_equal(y, first), op.less_equal(y, last))
    share = op.divide(op.subtract(y, first), op.subtract(last, first))
    place = op.minimum(op.astype(op.multiply(share, float(bins)), i64), bins - 1)
    # What is in no part is counted in one more, which is left out.
    counted = op.where(inside, place, bins)
    totals = op.scatter_elements(
        node.full([bins + 1], 0, node.result_type), counted, node.full(node.shape(y), 1, node.result_type), 0, "add"
    )
    return op.strided_slice(totals, [0], [0], [bins])


@imports("aten.sort", "aten.sort.stable")
def sort(node: TorchNode, x: Tensor, *options: Any) -> list[Operand]:
    """The elements along a dimension in order, and their positions."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    given = [option for option in options if not isinstance(option, bool) and option is not None]
    descending = options[-1] is True
    return sorted_along(x, node.dimension(given[0] if given else -1, x), descending)


@imports("aten.topk")
def top(
    node: TorchNode, x: Tensor, number: int, axis: int = -1, largest: bool = True, in_order: bool = True
) -> list[Operand]:
    """The largest or smallest elements along a dimension, and their positions."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    return sorted_along(x, node.dimension(axis, x), largest, number)
