"""Elements in order: medians, places among sorted numbers, and different parts of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST, numbers_below, sorted_along
from relex.frontend.compositions.parts_in_order import ranks_of_parts
from relex.frontend.compositions.truth import any_of
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports
from relex.frontend.torch.node import Value

_NOTHING = np.zeros(0, np.int64)


@imports("aten.median.default", "aten.nanmedian.default")
def median(node: TorchNode, x: Tensor) -> Operand:
    """The lower one of the middle elements; NaN if one is, or, of `nanmedian`, only if all are."""
    if (size := count(node.shape(x))) == 0:
        return node.full([], float("nan") if node.is_float(x) else 0, node.result_type)
    return _median(node, node.tensor(node.reshape(x, [size])), 0, keepdim=False)[0]


@imports("aten.median.dim", "aten.nanmedian.dim")
def median_along(node: TorchNode, x: Tensor, axis: int, keepdim: bool = False) -> list[Operand]:
    """The lower one of the middle elements along a dimension, and its position."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    return _median(node, x, node.dimension(axis, x), keepdim)


def _median(node: TorchNode, x: Tensor, axis: int, keepdim: bool) -> list[Operand]:
    values, places = sorted_along(x, axis, descending=False)
    size = node.shape(x)[axis]
    if not node.is_float(x):
        middle: Operand = op.reshape(Known([(size - 1) // 2]), [1] * node.rank(x))
    else:
        # NaN comes after all numbers.
        isnan = op.astype(op.isnan(x), i64)
        missing = op.sum(isnan, [axis], True)
        numbers = op.maximum(op.subtract(op.subtract(Known(size), missing), 1), 0)
        middle = op.trunc_divide(numbers, 2)
        if node.name == "median":
            first = op.subtract(Known(size), missing)
            middle = op.where(op.greater(missing, 0), first, Known((size - 1) // 2))
    shape = [1 if d == axis else n for d, n in enumerate(node.shape(x))]
    middle = node.broadcast_to(middle, shape)
    found = [op.gather_elements(part, middle, axis) for part in (values, places)]
    return [*found] if keepdim else [op.squeeze(part, axis) for part in found]


@imports("aten.kthvalue")
def kth_value(node: TorchNode, x: Tensor, k: int, axis: int = -1, keepdim: bool = False) -> list[Operand]:
    """The element at a place, counted from 1, of those along a dimension in order, and its position."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    axis = node.dimension(axis, x)
    size = node.shape(x)[axis]
    node.expect_at_least(size, k, f"expected a place from 1 to {size}, found {k}")
    parts = [op.strided_slice(part, [axis], [k - 1], [k]) for part in sorted_along(x, axis, descending=False)]
    return [*parts] if keepdim else [op.squeeze(part, axis) for part in parts]


@imports("aten.bucketize")
def bucketize(
    node: TorchNode, x: Value, bounds: Tensor, out_int32: bool = False, right: bool = False, *options: Any
) -> Operand:
    """The number of the interval between sorted bounds that each number is in."""
    return _places_among(node, bounds, x, right)


@imports("aten.searchsorted")
def searchsorted(
    node: TorchNode,
    bounds: Tensor,
    x: Value,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Operand:
    """The place of each number among sorted ones, before equal ones or, on the right, after them."""
    if sorter is not None:
        bounds = node.tensor(op.gather_elements(bounds, sorter, node.rank(bounds) - 1))
    return _places_among(node, bounds, x, right or side == "right")


def _places_among(node: TorchNode, bounds: Tensor, x: Value, after: bool) -> Operand:
    """Return how many of the bounds along the last dimension each number is behind. NaN is behind all."""
    rows, numbers = (node.typed(part, node.common_type) for part in (bounds, x))
    if node.rank(rows) > 1:
        rows = op.expand_dims(rows, node.rank(rows) - 1)
    behind = (op.greater if after else op.greater_equal)(rows, op.expand_dims(numbers, node.rank(numbers)))
    return node.typed(op.sum(op.astype(op.logical_not(behind), i64), [-1], False))


@imports("aten.isin")
def is_in(node: TorchNode, x: Value, among: Value, assume_unique: bool = False, invert: bool = False) -> Operand:
    """Whether each element is in another tensor, or is not."""
    given, others = (node.typed(part, node.common_type) for part in (x, among))
    flat = node.reshape(others, [count(node.shape(others))])
    found = any_of(
        node, node.tensor(op.equal(op.expand_dims(given, node.rank(given)), flat)), [node.rank(given)], False
    )
    return op.logical_not(found) if invert else found


@imports("aten.unique_dim")
def unique_parts(
    node: TorchNode,
    x: Tensor,
    axis: int,
    is_sorted: bool = True,
    with_places: bool = False,
    with_counts: bool = False,
) -> list[Operand]:
    """The different parts along a dimension in ascending order, the place of each part among them, and how many there
    are."""
    axis = node.dimension(axis, x)
    order = node.tensor(op.argsort(ranks_of_parts(node, x, axis), 0, False))
    values, groups, numbers = runs(node, node.tensor(op.take(x, order, axis)), axis)
    places = op.scatter_elements(node.full(node.shape(groups), 0, i64), order, groups, 0)
    return wanted(values, (with_places, places), (with_counts, numbers))


@imports("aten._unique2")
def unique(
    node: TorchNode, x: Tensor, is_sorted: bool = True, with_places: bool = False, with_counts: bool = False
) -> list[Operand]:
    """The different elements in ascending order, the place of each element among them, and how many there are. Each NaN
    is another element."""
    flat = node.tensor(node.reshape(x, [count(node.shape(x))]))
    order = node.tensor(op.argsort(flat, 0, False))
    values, groups, numbers = runs(node, node.tensor(op.take(flat, order, 0)), 0)
    places = op.scatter_elements(node.full(node.shape(groups), 0, i64), order, groups, 0)
    return wanted(values, (with_places, node.reshape(places, node.shape(x))), (with_counts, numbers))


@imports("aten.unique_consecutive")
def unique_consecutive(
    node: TorchNode, x: Tensor, with_places: bool = False, with_counts: bool = False, axis: int | None = None
) -> list[Operand]:
    """The first element, or part along a dimension, of each row of equal ones; for each, the number of its row; and
    the lengths of the rows. Each NaN is another element."""
    if axis is None:
        values, groups, numbers = runs(node, node.tensor(node.reshape(x, [count(node.shape(x))])), 0)
        groups = node.reshape(groups, node.shape(x))
    else:
        values, groups, numbers = runs(node, x, node.dimension(axis, x))
    return wanted(values, (with_places, groups), (with_counts, numbers))


def wanted(values: Operand, *others: tuple[bool, Operand]) -> list[Operand]:
    """Return results, with an empty tensor in place of each that is not asked for."""
    return [values, *(found if is_wanted else Known(_NOTHING) for is_wanted, found in others)]


def runs(node: TorchNode, x: Tensor, axis: int) -> tuple[Operand, Operand, Operand]:
    """Return the first part of each run of equal parts along a dimension, the number of the run that each part is in,
    and the lengths of runs."""
    length = node.shape(x)[axis]
    numbers = node.tensor(numbers_below(length))
    before = op.maximum(op.subtract(numbers, 1), 0)
    differs = op.not_equal(x, op.take(x, before, axis))
    others = [d for d in range(node.rank(x)) if d != axis]
    starts = op.logical_or(op.equal(numbers, 0), any_of(node, node.tensor(differs), others) if others else differs)
    first = node.tensor(op.compress(numbers, starts, 0))
    ends = op.concat(op.strided_slice(first, [0], [1], [LAST]), op.reshape(Known([length]), [1]), axis=0)
    lengths = op.subtract(_first(node, ends, first), first)
    return op.take(x, first, axis), op.subtract(op.cumsum(op.astype(starts, i64), 0), 1), lengths


def _first(node: TorchNode, x: Operand, like: Tensor) -> Operand:
    """Return as many elements as another row has."""
    return op.strided_slice(x, [0], [0], [str(node.shape(like)[0])])
