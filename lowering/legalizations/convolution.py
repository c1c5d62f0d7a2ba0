"""Convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import mul

from xdsl.dialects.builtin import AnyFloat, i64

from relex.dialects import relex
from relex.dialects.relex.blocked_convolution import parts_of_block
from relex.dialects.relex.properties import as_integer
from relex.dialects.sizes import Size, count
from relex.lowering import te
from relex.lowering.legalizations.gather_scatter import padded
from relex.lowering.legalizations.legalization_table import legalizes, result_shape
from relex.lowering.legalizations.matrix_products import times

SPATIAL = "zyx"
WINDOW = "qrs"
_COUNTS = ("slices", "rows", "columns")
"""Names for the dimensions, of which the last ones are taken."""


@legalizes(relex.Convolution)
def convolution(op: relex.Convolution, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Legalize to a sum over channels and window of the padded input, for each group of channels."""
    windows = op.windows(w.shape)
    data = _padded(x, windows, 0)
    groups = as_integer(op.groups)
    channels, outputs = w.shape[1], w.shape[0] // groups
    c = te.reduce_axis(channels, "c")
    axes = _window_axes(windows)
    inner = [0 if axis.extent == 1 else axis for axis in axes]
    terms = [c, *(axis for axis in axes if axis in inner)]

    def element(n: te.Axis, g: te.PrimExpr | int, o: te.PrimExpr | int, *place: te.Axis) -> te.PrimExpr:
        source = data[n, member(g, channels, c), *_inside(windows, place, inner)]
        return te.sum(times(op, source, w[member(g, outputs, o), c, *inner]), axis=terms)

    return _by_group(op, [x, w], groups, outputs, element, SPATIAL[-op.RANK :])


@legalizes(relex.BlockedConvolution)
def conv2d_blocked(op: relex.BlockedConvolution, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Legalize to a sum over blocks of channels, the window, and the channels of a block, for each group of blocks."""
    windows = op.windows(w.shape)
    data = _padded(x, windows, 0)
    groups = as_integer(op.groups)
    blocks, outputs = w.shape[1], w.shape[0] // groups
    axes = [te.reduce_axis(blocks, "b"), *_window_axes(windows), te.reduce_axis(w.shape[4], "c")]
    terms = [axis for axis in axes if axis.extent != 1] or [axes[-1]]
    b, *inner, c = (axis if axis in terms else 0 for axis in axes)
    parts = parts_of_block(x.shape, w.shape, op.properties)

    def element(n: te.Axis, g: te.PrimExpr | int, o: te.PrimExpr | int, *index: te.Axis) -> te.PrimExpr:
        *place, i = index
        output = member(g, outputs, o)
        if op.depthwise is not None:
            source, inside = output, [i]
        else:
            block = member(g, blocks, b)
            source, inside = (block, [c]) if parts == 1 else (block // parts, [block % parts * w.shape[4] + c])
        inside = [] if x.ndim == 4 else inside
        value = te.cast(data[n, source, *_inside(windows, place, inner), *inside], w.type)
        return te.sum(times(op, value, w[output, b, *inner, c, i]), axis=terms)

    return _by_group(op, [x, w], groups, outputs, element, "yxi")


def _by_group(
    op: relex.SlidingWindows,
    operands: Sequence[te.Tensor],
    groups: int,
    outputs: Size,
    element: Callable[..., te.PrimExpr],
    names: Sequence[str],
) -> te.Tensor:
    """Compute `element` of an image, a group, one of its output channels, or blocks of these, and a place, whose axes
    have names. Groups of several have a separate loop: each is a convolution of all of its channels."""
    shape = result_shape(op, *operands)

    def of_channel(n: te.Axis, o: te.Axis, *place: te.Axis) -> te.PrimExpr:
        return element(n, 0, o, *place) if groups == 1 else element(n, o, 0, *place)

    def of_sums(n: te.Axis, o: te.Axis, *place: te.Axis) -> te.PrimExpr:
        return sums[n, o // outputs, o % outputs, *place]

    if groups == 1 or outputs == 1:
        return te.compute(shape, of_channel, _name(op), [*"no", *names])
    sums = te.compute((shape[0], groups, outputs, *shape[2:]), element, "sums", [*"ngo", *names])
    return te.compute(shape, of_sums, _name(op), [*"no", *names])


def member(group: te.PrimExpr | int, size: Size, index: te.PrimExpr | int) -> te.PrimExpr | int:
    """Return the channel at an index in a group of channels; 0 stands for the only group, or the only channel."""
    if isinstance(group, int):
        return index
    first = group if size == 1 else group * size
    return first if isinstance(index, int) else first + index


def _reduced(
    op: relex.Pool, x: te.Tensor, data: te.Tensor, function: Callable[..., te.PrimExpr], name: str | None = None
) -> te.Tensor:
    """Reduce the elements of each window of `data`, which is `x` with its padding."""
    inner = _window_axes(op.windows)

    def element(n: te.Axis, c: te.Axis, *place: te.Axis) -> te.PrimExpr:
        return function(data[n, c, *_inside(op.windows, place, inner)], axis=inner)

    return windowed(op, [x], "nc", element, name)


@legalizes(relex.MaxPool)
def max_pool(op: relex.MaxPool, x: te.Tensor) -> te.Tensor:
    """Legalize to a maximum over each window; padding is the lowest value."""
    return _reduced(op, x, _padded(x, op.windows, te.lowest(x.type)), te.max)


@legalizes(relex.MaxPoolWithIndices)
def max_pool_with_indices(op: relex.MaxPoolWithIndices, x: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """Legalize to the maximum over each window, then the smallest position in the data that holds it, or NaN."""
    windows, sizes = op.windows, x.shape[2:]
    data = _padded(x, windows, te.lowest(x.type))
    beyond = count(sizes)
    largest = _reduced(op, x, data, te.max, "largest")
    places = _window_axes(windows)

    def first(n: te.Axis, c: te.Axis, *place: te.Axis) -> te.PrimExpr:
        at = _inside(windows, place, places)
        value = data[n, c, *at]
        found = te.equal(value, largest[n, c, *place])
        if isinstance(x.type, AnyFloat):
            found = found | te.is_nan(value)
        # Row by row: the position in all dimensions so far.
        position: te.PrimExpr | None = None
        for index, before, size in zip(at, windows.before, sizes, strict=True):
            offset = index - before if before else index
            found = found & (offset >= 0) & (offset < size)
            position = offset if position is None else position * size + offset
        assert position is not None
        return te.min(te.select(found, te.cast(position, i64), beyond), axis=places)

    earliest = windowed(op, [x], "nc", first, name="earliest")

    def known(n: te.Axis, c: te.Axis, *place: te.Axis) -> te.PrimExpr:
        found = earliest[n, c, *place]
        return te.select(te.equal(found, beyond), -1, found)

    return largest, windowed(op, [x], "nc", known, name="indices")


@legalizes(relex.AvgPool)
def avg_pool(op: relex.AvgPool, x: te.Tensor) -> te.Tensor:
    """Legalize to a sum over each window, divided by the number of elements counted."""
    windows = op.windows
    total = _reduced(op, x, _padded(x, windows, 0), te.sum, "total")
    includes_padding = op.count_include_pad is not None
    if not windows.ceil_mode and (includes_padding or not any(windows.padding)):
        count = prod(windows.size)
        return te.compute(result_shape(op, x), lambda *i: total[*i] / count, name=_name(op))
    # The elements of a window that are counted form a box.
    counts = [_counted(op, x, dimension, includes_padding) for dimension in range(op.RANK)]

    def element(n: te.Axis, c: te.Axis, *place: te.Axis) -> te.PrimExpr:
        return total[n, c, *place] / reduce(mul, (count[i] for count, i in zip(counts, place, strict=True)))

    return windowed(op, [x], "nc", element)


def _counted(op: relex.AvgPool, x: te.Tensor, dimension: int, includes_padding: bool) -> te.Tensor:
    """Count the elements of each window along one dimension that are not padding, or not beyond it."""
    windows = op.windows
    before, after = windows.before[dimension], windows.after[dimension]
    size = x.shape[2 + dimension]
    first, end = (0, before + size + after) if includes_padding else (before, before + size)
    k = _window_axes(windows)[dimension]

    def element(i: te.Axis) -> te.PrimExpr:
        place = i * windows.strides[dimension] + k * windows.dilation[dimension]
        inside = (place >= first) & (place < end)
        return te.sum(te.cast(inside, x.type), axis=k)

    return te.compute([result_shape(op, x)[2 + dimension]], element, name=_COUNTS[dimension - op.RANK])


def _padded(x: te.Tensor, windows: relex.Windows, value: float) -> te.Tensor:
    if not any(windows.padding) and not windows.ceil_mode:
        return x
    after = windows.ends(x.shape[2 : 2 + windows.rank])
    block = [0] * (x.ndim - 2 - windows.rank)
    return padded(x, (0, 0, *windows.before, *block), (0, 0, *after, *block), value)


def windowed(
    op: relex.SlidingWindows, operands: Sequence[te.Tensor], others: str, element: te.OfIndices, name: str | None = None
) -> te.Tensor:
    """Compute the result of an operator over windows, with axes called by their letters, `others` in front."""
    return te.compute(result_shape(op, *operands), element, name or _name(op), [*others, *SPATIAL[-op.RANK :]])


def _name(op: relex.SlidingWindows) -> str:
    return op.name.rpartition(".")[2]


def _window_axes(windows: relex.Windows) -> list[te.Axis]:
    return [te.reduce_axis(extent, name) for extent, name in zip(windows.size, WINDOW[-windows.rank :], strict=True)]


def _inside(windows: relex.Windows, place: Sequence[te.Axis], inner: Sequence[te.Axis | int]) -> list[te.PrimExpr]:
    """Return the indices in the padded input of an element of a window."""
    firsts = [_scaled(index, stride) for index, stride in zip(place, windows.strides, strict=True)]
    steps = zip(firsts, inner, windows.dilation, strict=True)
    return [first + _scaled(k, dilation) if isinstance(k, te.Axis) else first for first, k, dilation in steps]


def _scaled(index: te.Axis, factor: int) -> te.PrimExpr:
    return index if factor == 1 else index * factor
