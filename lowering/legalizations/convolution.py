"""Convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.relex import AvgPool2dOp, Conv2dOp, MaxPool2dOp
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.windows import Windows
from relex.lowering.legalizations.indexing import padded
from relex.lowering.legalizations.table import legalizes, result_shape
from relex.lowering.te import Axis, Expr, Tensor, cast, compute, lowest, max, reduce_axis, sum


@legalizes(Conv2dOp)
def conv2d(op: Conv2dOp, x: Tensor, w: Tensor) -> Tensor:
    """Legalize to a sum over channels and window of the padded input, for each group of channels."""
    windows = op.windows(w.shape)
    data = _padded(x, windows, 0)
    groups = as_integer(op.groups)
    channels, outputs = w.shape[1], w.shape[0] // groups
    c = reduce_axis(channels, "c")
    inner = _window_axes(windows)

    def element(n: Axis, o: Axis, y: Axis, x: Axis) -> Expr:
        channel = c if groups == 1 else o // outputs * channels + c
        return sum(data[n, channel, *_inside(windows, (y, x), inner)] * w[o, c, *inner], axis=(c, *inner))

    return compute(result_shape(op, x, w), element, name="conv2d")


@legalizes(MaxPool2dOp)
def max_pool2d(op: MaxPool2dOp, x: Tensor) -> Tensor:
    """Legalize to a maximum over each window; padding is the lowest value."""
    windows = op.windows
    data = _padded(x, windows, lowest(x.type))
    inner = _window_axes(windows)

    def element(n: Axis, c: Axis, y: Axis, x: Axis) -> Expr:
        return max(data[n, c, *_inside(windows, (y, x), inner)], axis=inner)

    return compute(result_shape(op, x), element, name="max_pool2d")


@legalizes(AvgPool2dOp)
def avg_pool2d(op: AvgPool2dOp, x: Tensor) -> Tensor:
    """Legalize to a sum over each window, divided by the number of elements counted."""
    windows = op.windows
    data = _padded(x, windows, 0)
    inner = _window_axes(windows)
    shape = result_shape(op, x)

    def window_sum(n: Axis, c: Axis, y: Axis, x: Axis) -> Expr:
        return sum(data[n, c, *_inside(windows, (y, x), inner)], axis=inner)

    total = compute(shape, window_sum, name="total")
    if op.count_include_pad is not None or not any(windows.padding):
        count = windows.size[0] * windows.size[1]
        return compute(shape, lambda *i: total[*i] / count, name="avg_pool2d")
    # The elements of a window that are not padding form a rectangle.
    rows, columns = (_unpadded(op, x, dimension, name) for dimension, name in enumerate(("rows", "columns")))
    return compute(shape, lambda n, c, y, x: total[n, c, y, x] / (rows[y] * columns[x]), name="avg_pool2d")


def _unpadded(op: AvgPool2dOp, x: Tensor, dimension: int, name: str) -> Tensor:
    """Count the elements of each window along one dimension that are not padding."""
    windows = op.windows
    size = x.shape[2 + dimension]
    first = windows.before[dimension]
    k = _window_axes(windows)[dimension]

    def element(i: Axis) -> Expr:
        place = i * windows.strides[dimension] + k * windows.dilation[dimension]
        inside = (place >= first) & (place < first + size)
        return sum(cast(inside, x.type), axis=k)

    return compute([result_shape(op, x)[2 + dimension]], element, name=name)


def _padded(x: Tensor, windows: Windows, value: float) -> Tensor:
    if not any(windows.padding):
        return x
    return padded(x, (0, 0, *windows.before), (0, 0, *windows.after), value)


def _window_axes(windows: Windows) -> tuple[Axis, Axis]:
    height, width = windows.size
    return reduce_axis(height, "r"), reduce_axis(width, "s")


def _inside(windows: Windows, place: Sequence[Axis], inner: Sequence[Axis]) -> list[Expr]:
    """Return the indices in the padded input of an element of a window."""
    steps = zip(place, windows.strides, inner, windows.dilation, strict=True)
    return [_scaled(index, stride) + _scaled(k, dilation) for index, stride, k, dilation in steps]


def _scaled(index: Axis, factor: int) -> Expr:
    return index if factor == 1 else index * factor
