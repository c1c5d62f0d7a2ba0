"""Slices, gathering and padding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.relex.types import normalize_axis
from relex.dialects.sizes import IndexExpr, Size, count, larger, never_negative
from relex.frontend import op
from relex.frontend.compositions.indexing import (
    LAST,
    along,
    expect_in_range,
    from_front,
    numbers_below,
    part_at,
    position,
    sorted_along,
)
from relex.frontend.compositions.padding import padded
from relex.frontend.compositions.parts_in_order import ranks_of_parts
from relex.frontend.importing.values import refuse
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports
from relex.frontend.onnx.import_table import row


@imports("Slice")
def part(
    node: OnnxNode,
    x: Tensor,
    starts: Tensor | None = None,
    ends: Tensor | None = None,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Operand:
    """A part of a tensor between positions."""
    open_ones = [x for x in (starts, ends, steps) if x is not None and not isinstance(x, Known)]
    if open_ones and starts is not None and ends is not None:
        return _part_between(node, x, starts, ends, axes, steps)
    begin, end = (
        node.known_sizes(node.given(x, name), "positions") for x, name in ((starts, "starts"), (ends, "ends"))
    )
    chosen = list(range(len(begin))) if axes is None else node.known_integers(axes, "axes")
    strides = None if steps is None else node.known_integers(steps, "steps")
    sizes = [node.shape(x)[axis] for axis in chosen]
    for i, stride in enumerate(strides or ()):
        if stride < 0:
            begin[i], end[i] = _backwards(begin[i], end[i], sizes[i])
    first, last = ([_position(node, *pair) for pair in zip(places, sizes, strict=True)] for places in (begin, end))
    return op.strided_slice(x, chosen, first, last, strides)


def _position(node: OnnxNode, place: Size, size: Size) -> int | str:
    """Return a position. What an expression of sizes gives is always or never negative, and then counts from the
    end."""
    if isinstance(place, IndexExpr):
        rest = place - size
        # Of one or two less than the size, both readings are before the first element.
        if not isinstance(rest, int) or rest < -2:
            if never_negative(-place):
                node.expect_at_least(-place, 1, f"expected a position that is negative, found {place}")
                return str(larger(rest + 2 * size, 0))
            node.expect_at_least(place, 0, f"expected a position that is not negative, found {place}")
            return rest if isinstance(rest, int) else str(place)
    return position(place, size)


ENDS = (2**31 - 1, LAST)
"""What stands for the end of every dimension: backwards, ONNX Runtime takes it for the start."""


def _backwards(begin: Size, end: Size, size: Size) -> tuple[Size, Size]:
    """Return positions of a part that is read backwards, as NumPy takes them: one that begins before the first element
    begins there."""
    if isinstance(begin, int) and begin < -1:
        begin = larger(begin + size, 0)
    return begin, -LAST if isinstance(end, int) and end in ENDS else end


def _part_between(
    node: OnnxNode, x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None, steps: Tensor | None
) -> Operand:
    """A part between positions of which some are known only at run time."""
    (count,) = node.static_shape(starts, "a number of positions")
    chosen = None if axes is None else node.known_integers(axes, "axes")
    by = Known(np.ones(count, np.int64)) if steps is None else steps
    begin, end, step = (op.astype(places, i64) for places in (starts, ends, by))
    chosen = list(range(count)) if chosen is None else chosen
    if not isinstance(by, Known) or (by.array < 0).any():
        backwards = op.less(step, 0)
        before_all = Known(np.array([-node.shape(x)[axis] for axis in chosen], object))
        begin = op.where(backwards, op.maximum(begin, before_all), begin)
        for last in ENDS:
            end = op.where(op.logical_and(backwards, op.equal(end, last)), -LAST, end)
    return op.dynamic_strided_slice(x, begin, end, step, chosen)


@imports("Unique")
def unique(node: OnnxNode, x: Tensor) -> list[Operand]:
    """The different elements, or parts along a dimension, in order, or in the order in which they come first."""
    axis = node.axis(x) if node.has("axis") and node.rank(x) != 1 else None
    keys = node.reshape(x, [count(node.shape(x))]) if axis is None else ranks_of_parts(node, x, axis)
    values, first, inverse, counts = node.emit_results(op.unique(keys))
    if axis is not None:
        values = node.tensor(op.take(x, first, axis))
    if node.integer("sorted", 1):
        return [values, first, inverse, counts]
    order = node.tensor(op.argsort(first, 0, False))
    ranks = op.argsort(order, 0, False)
    return [
        op.take(values, order, axis or 0),
        *(op.take(*pair, 0) for pair in ((first, order), (ranks, inverse), (counts, order))),
    ]


@imports("NonMaxSuppression")
def non_max_suppression(
    node: OnnxNode,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    overlap: Tensor | None = None,
    least: Tensor | None = None,
) -> Operand:
    """The best boxes of each class that overlap no better one."""
    number = Known(0) if most is None else node.reshape(most, [])
    defaults = ((overlap, 0), (least, np.nan))
    part, score = (Known(np.array(n, np.float32)) if x is None else node.reshape(x, []) for x, n in defaults)
    is_center = bool(node.integer("center_point_box", 0))
    return op.non_max_suppression(boxes, scores, number, part, score, center=is_center)


@imports("Gather")
def gather(node: OnnxNode, x: Tensor, indices: Tensor) -> Operand:
    """The elements at positions along a dimension."""
    axis = node.axis(x)
    expect_in_range(node, indices, node.shape(x)[axis], from_end=True)
    return op.take(x, from_front(node, indices, node.shape(x)[axis]), axis)


@imports("GatherElements")
def gather_elements(node: OnnxNode, x: Tensor, indices: Tensor) -> Operand:
    """For each position, the element there with another index along one dimension."""
    expect_in_range(node, indices, node.shape(x)[node.axis(x)], from_end=True)
    return op.gather_elements(x, indices, node.axis(x))


def _expect_lists(node: OnnxNode, x: Tensor, indices: Tensor, batch: int = 0) -> None:
    """Check lists of indices along the dimensions of a tensor after the batch dimensions."""
    length = node.closed(node.shape(indices)[-1], "lists of indices of dynamic length: {}")
    for place, size in enumerate(node.shape(x)[batch : batch + length]):
        column = node.tensor(part_at(indices, node.rank(indices) - 1, place))
        expect_in_range(node, column, size, from_end=True)


@imports("GatherND")
def gather_nd(node: OnnxNode, x: Tensor, indices: Tensor) -> Operand:
    """The parts of a tensor at positions along its first dimensions, after those that are in the batch."""
    _expect_lists(node, x, indices, node.integer("batch_dims"))
    return op.gather_nd(x, indices, node.integer("batch_dims"))


def _reduction(node: OnnxNode) -> str:
    """Return what becomes of the elements that are there; `none` of them is left in an update."""
    return node.text("reduction", "none").replace("none", "update")


@imports("Scatter", "ScatterElements")
def scatter_elements(node: OnnxNode, x: Tensor, indices: Tensor, updates: Tensor) -> Operand:
    """The tensor with other elements at positions along one dimension."""
    expect_in_range(node, indices, node.shape(x)[node.axis(x)], from_end=True)
    return op.scatter_elements(x, indices, updates, node.axis(x), _reduction(node))


@imports("ScatterND")
def scatter_nd(node: OnnxNode, x: Tensor, indices: Tensor, updates: Tensor) -> Operand:
    """The tensor with other parts at positions along its first dimensions."""
    _expect_lists(node, x, indices)
    return op.scatter_nd(x, indices, updates, _reduction(node))


@imports("TensorScatter")
def tensor_scatter(node: OnnxNode, cache: Tensor, update: Tensor, starts: Tensor | None = None) -> Operand:
    """A cache in which a part along one dimension is new, from a position for each element of the batch on."""
    axis = node.axis(cache, default=-2)
    sizes, new = node.static_shape(cache), node.static_shape(update)
    rank = len(sizes)
    place: Operand = Known(along(np.arange(new[axis], dtype=np.int64), axis, rank))
    if starts is not None:
        place = op.add(place, op.expand_dims(op.astype(starts, i64), list(range(1, rank))))
    if node.text("mode", "linear") == "circular":
        place = op.floor_mod(place, sizes[axis])
    elif starts is not None and not isinstance(starts, Known):
        # An index beyond the end has no effect, as out-of-range updates of the cache are errors.
        place = op.where(op.less(place, sizes[axis]), place, sizes[axis])
    batch = [new[0] if starts is not None else 1] + [new[d] if d == axis else 1 for d in range(1, rank)]
    return op.scatter_elements(cache, op.broadcast_to(op.reshape(place, batch), new), update, axis)


def _cumulative(node: OnnxNode, function: Callable[..., Operand], x: Tensor, axis: Tensor) -> Operand:
    """Return what a function makes of all elements up to each one."""
    (chosen,) = node.axes([int(node.known_number(axis, "an axis"))], x)
    return function(x, chosen, node.flag("exclusive"), node.flag("reverse"))


row("CumProd", op.cumprod, _cumulative)
row("CumSum", op.cumsum, _cumulative)


@imports("TopK")
def top_k(node: OnnxNode, x: Tensor, k: Tensor | None = None) -> list[Operand]:
    """The largest or smallest elements along a dimension, and their positions."""
    counts, axis = node.sizes(node.given(k, "k"), "a number of elements"), node.axis(x, default=-1)
    if len(counts) != 1:
        refuse(f"expected a number of elements, found {len(counts)} numbers")
    (count,), available = counts, node.shape(x)[axis]
    node.expect_at_least(count, 0, f"expected a number of elements, found {count}")
    given = None if k is None or isinstance(k, Known) else op.reshape(k, [])
    node.expect_at_least(available, count, f"expected {available} elements at most", given)
    return sorted_along(x, axis, bool(node.integer("largest", 1)), count)


@imports("OneHot")
def one_hot(node: OnnxNode, indices: Tensor, depth: Tensor, values: Tensor) -> Operand:
    """A value where the index along a new dimension is the given one, and another one elsewhere."""
    depths = node.sizes(depth, "a depth")
    if len(depths) != 1 or node.shape(values) != (2,):
        refuse(f"expected a depth and two values, found {len(depths)} and {' x '.join(map(str, node.shape(values)))}")
    (size,) = depths
    node.expect_at_least(size, 0, f"expected a depth that is not negative, found {size}")
    rank = node.rank(indices) + 1
    axis = normalize_axis(node.integer("axis", -1), rank)
    wide = op.astype(indices, i64)
    place = op.expand_dims(op.where(op.less(wide, 0), op.add(wide, Known(size)), wide), axis)
    others = [d for d in range(rank) if d != axis]
    hot = op.equal(place, op.expand_dims(numbers_below(size), others) if others else numbers_below(size))
    off, on = (part_at(values, 0, i) for i in (0, 1))
    return op.where(hot, on, off)


@imports("Pad")
def pad(
    node: OnnxNode, x: Tensor, pads: Tensor | None = None, value: Tensor | None = None, axes: Tensor | None = None
) -> Operand:
    """A tensor surrounded by a number, or by its own elements."""
    widths, value = node.sizes(node.given(pads, "pads"), "pads"), node.given(value, "value")
    rank = node.rank(x)
    chosen = list(range(rank)) if axes is None else node.axes(node.known_integers(axes, "axes"), x)
    if len(widths) != 2 * len(chosen):
        refuse(f"expected {2 * len(chosen)} widths, found {len(widths)}")
    if axes is not None:
        complete: list[Size] = [0] * (2 * rank)
        for i, axis in enumerate(chosen):
            complete[axis], complete[axis + rank] = widths[i], widths[i + len(chosen)]
        widths = complete
    number = value.array.item() if isinstance(value, Known) else 0 if value is None else value
    return padded(node, x, widths, node.text("mode", "constant"), number)


@imports("ReverseSequence")
def reverse_sequence(node: OnnxNode, x: Tensor, lengths: Tensor) -> Operand:
    """The first elements of each sequence of a batch in reverse order."""
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis")
    sizes = node.shape(x)
    expect_in_range(node, lengths, sizes[time] + 1, from_end=False)
    steps, length = (
        op.expand_dims(numbers, [d for d in range(len(sizes)) if d != axis])
        for numbers, axis in ((numbers_below(sizes[time]), time), (op.astype(lengths, i64), batch))
    )
    place = op.where(op.less(steps, length), op.subtract(op.subtract(length, steps), 1), steps)
    return op.gather_elements(x, node.broadcast_to(place, sizes), time)


@imports("Compress")
def compress(node: OnnxNode, x: Tensor, condition: Tensor) -> Operand:
    """The elements where a condition holds. Their number is known at import if the condition is."""
    axis = node.axis(x) if node.has("axis") else None
    if not isinstance(condition, Known):
        return op.compress(x, condition, axis)
    if axis is None:
        x = node.tensor(node.reshape(x, [count(node.shape(x))]))
    size, conditions = node.shape(x)[axis or 0], condition.array.size
    node.expect_at_least(size, conditions, f"expected a condition of at most {size} elements, found {conditions}")
    return op.take(x, Known(np.flatnonzero(condition.array)), axis or 0)


@imports("NonZero")
def nonzero(node: OnnxNode, x: Tensor) -> Operand:
    """The positions of elements other than zero, a row for each dimension."""
    if isinstance(x, Known):
        return Known(np.array(np.nonzero(x.array), np.int64))
    places = op.nonzero(x if node.rank(x) else node.reshape(x, [1]))
    if not node.rank(x):
        # A number is at no position or at one, which has no indices.
        places = op.strided_slice(places, [1], [0], [0])
    return op.permute_dims(places)
