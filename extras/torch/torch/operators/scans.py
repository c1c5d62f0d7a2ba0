"""Sums, products and extremes of all elements up to each one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i1, i8, i64

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import numbers_below
from relex.frontend.importing.loops import Row, conditional
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports


@imports("aten.cumsum", "aten.cumprod")
def cumulative(node: TorchNode, x: Tensor, axis: int, dtype: Any = None) -> Operand:
    """The sums or products of all elements up to each one."""
    return getattr(op, node.name)(node.typed(x), axis) if node.rank(x) else node.typed(x)


@imports("aten.cummax", "aten.cummin")
def extremes(node: TorchNode, x: Tensor, axis: int) -> list[Operand]:
    """The maximum or minimum of all elements up to each one, and its position: of equal ones, the last. NaN is more
    extreme than all numbers."""
    if node.rank(x) == 0:
        return [x, node.full([], 0, i64)]
    axis = node.dimension(axis, x)
    y = node.tensor(op.astype(x, i8)) if x.element_type == i1 else x
    reaches = op.greater_equal if node.name == "cummax" else op.less_equal

    def last(earlier: Operand, later: Operand) -> Operand:
        first, second = (op.gather_elements(y, places, axis) for places in (earlier, later))
        wins = reaches(second, first)
        return op.where(op.logical_or(op.isnan(second), wins) if node.is_float(y) else wins, later, earlier)

    others = [d for d in range(node.rank(x)) if d != axis]
    numbers = op.expand_dims(numbers_below(node.shape(x)[axis]), others) if others else numbers_below(node.shape(x)[0])
    places = _scanned(node, last, node.broadcast_to(numbers, node.shape(x)), axis)
    return [op.gather_elements(x, places, axis), places]


@imports("aten.logcumsumexp")
def log_cumulated_exp(node: TorchNode, x: Tensor, axis: int) -> Operand:
    """The logarithms of the sums of the exponentials of all elements up to each one."""
    return node.typed(_scanned(node, _log_of_sum, node.widened(x), node.dimension(axis, x))) if node.rank(x) else x


def _log_of_sum(x: Operand, y: Operand) -> Operand:
    """Return the logarithm of the sum of the exponentials of two numbers, without overflow."""
    larger, smaller = op.maximum(x, y), op.minimum(x, y)
    # Equal infinities have no difference.
    distance = op.where(op.equal(larger, smaller), 0.0, op.subtract(smaller, larger))
    return op.add(larger, op.log1p(op.exp(distance)))


def _scanned(node: TorchNode, combine: Callable[[Operand, Operand], Operand], x: Operand, axis: int) -> Tensor:
    """Return what an associative function makes of all parts of a tensor up to each one: first of neighbors, and in
    each trip of a loop of parts that are twice as far apart."""
    whole = node.tensor(x)
    length: Size = whole.sizes[axis]
    if isinstance(length, int) and length < 2:
        return whole
    numbers = node.tensor(numbers_below(length))
    following = list(range(1, node.rank(whole) - axis))

    def trip(_: Tensor, running: Tensor, state: Sequence[Tensor]) -> tuple[Operand, list[Operand], list[Row]]:
        distance, parts = state
        places = op.subtract(numbers, distance)
        combined = combine(op.take(parts, op.maximum(places, 0), axis), parts)
        is_inside = op.greater_equal(places, 0)
        joined = op.where(op.expand_dims(is_inside, following) if following else is_inside, combined, parts)
        farther = op.multiply(distance, 2)
        return op.less(farther, Known(length)), [farther, joined], []

    first = node.full([], 1, i64)
    return conditional(node.builder, None, op.less(first, Known(length)), trip, [first, whole])[1]
