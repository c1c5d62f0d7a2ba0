"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat

from relex.dialects.arrays import Array
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.sizes import IndexExpr, Size, Sizes, count, larger
from relex.frontend import op
from relex.frontend.compositions import sliding_windows
from relex.frontend.compositions.indexing import expect_in_range, numbers_below
from relex.frontend.compositions.sliding_windows import Windows, padded_by
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.import_table import row

_S = TypeVar("_S", int, Size)


def read_windows(node: OnnxNode, data: Sequence[Size], size: Sequence[int]) -> Windows:
    """Read the attributes of a node, for data of these sizes."""
    windows, widths = _windows_and_widths(node, data, size)
    reason = "padding that depends on a dynamic size: {}"
    return replace(windows, padding=tuple(node.closed(n, reason, "auto_pad") for n in widths))


def windows_over(node: OnnxNode, x: Operand, size: Sequence[int], value: Operand = 0) -> tuple[Operand, Windows]:
    """Read the attributes of a node, and return data for the windows to slide over. It is surrounded by a number if the
    dynamic sizes of `x` decide how far."""
    windows, widths = _windows_and_widths(node, node.shape(x)[2:], size)
    known = tuple(n for n in widths if isinstance(n, int))
    if len(known) == len(widths):
        return x, replace(windows, padding=known)
    rank = len(size)
    return padded_by(node, x, widths[:rank], widths[rank:], value), replace(windows, padding=(0,) * (2 * rank))


def _windows_and_widths(node: OnnxNode, data: Sequence[Size], size: Sequence[int]) -> tuple[Windows, Sizes]:
    """Return windows, and their padding before and after each dimension."""
    rank = len(size)
    strides, dilation, pads = _attributes(node, rank)
    if not len(data) == rank == len(strides) == len(dilation):
        refuse(f"expected {len(data)} numbers for windows, found {len(size)}, {len(strides)} and {len(dilation)}")
    windows = Windows(tuple(size), strides, pads, dilation, node.flag("ceil_mode"))
    match node.text("auto_pad") or "NOTSET":
        case "NOTSET":
            return windows, pads
        case "VALID":
            return windows, (0,) * (2 * rank)
        case auto:
            total = [_same(*part) for part in zip(data, cast("Sequence[int]", windows.spans), strides, strict=True)]
            return windows, _halves(total, auto)


def _attributes(node: OnnxNode, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the strides, the dilation and the padding of windows."""
    strides, dilation = (tuple(node.integers(name) or [1] * rank) for name in ("strides", "dilations"))
    return strides, dilation, tuple(node.integers("pads") or [0] * (2 * rank))


def _halves(total: Sequence[_S], auto: str) -> tuple[_S, ...]:
    """Return numbers before and after each dimension with given sums; those that are larger by one come last if `auto`
    says so."""
    less, more = [n // 2 for n in total], [n - n // 2 for n in total]
    return (*less, *more) if auto == "SAME_UPPER" else (*more, *less)


def _same(n: Size, span: int, stride: int) -> Size:
    """Return the padding for as many windows as there are strides in a dimension."""
    if isinstance(n, IndexExpr) and stride == 1:
        return span - 1
    return larger((-(-n // stride) - 1) * stride + span - n, 0)


def in_channels_last(node: OnnxNode, function: Callable[[Tensor], Any], x: Tensor) -> Operand:
    """Apply a function of data whose channels come first to data whose channels are the last dimension."""
    last = node.rank(x) - 1
    y = function(node.tensor(op.permute_dims(x, [0, last, *range(1, last)])))
    return op.permute_dims(y, [0, *range(2, last + 1), 1])


def _of_pool(node: OnnxNode, x: Operand) -> Windows:
    return read_windows(node, node.shape(x)[2:], node.integers("kernel_shape") or [])


def _over_pool(node: OnnxNode, x: Operand, value: Operand = 0) -> tuple[Operand, Windows]:
    return windows_over(node, x, node.integers("kernel_shape") or [], value)


@imports("Conv")
def conv(node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A convolution."""
    data, windows = windows_over(node, x, node.static_shape(weight, "sizes of the kernel")[2:])
    return sliding_windows.convolution(node, data, weight, bias, windows, node.integer("group", 1))


@imports("ConvTranspose")
def conv_transpose(node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A transposed convolution."""
    size = node.static_shape(weight, "sizes of the kernel")[2:]
    rank = len(size)
    more = node.integers("output_padding") or [0] * rank
    strides, dilation, pads = _attributes(node, rank)
    windows = Windows(size, strides, pads, dilation)
    removed = _removed(node, x, windows, more)
    after = [n - extra for n, extra in zip(removed[rank:], more, strict=True)]
    windows = replace(windows, padding=(*removed[:rank], *after))
    return sliding_windows.spread(node, x, weight, bias, windows, node.integer("group", 1))


def _removed(node: OnnxNode, x: Tensor, windows: Windows, more: Sequence[int]) -> Sequence[int]:
    """Return how much of a transposed convolution is removed before and after each dimension."""
    auto, wanted = node.text("auto_pad") or "NOTSET", node.integers("output_shape")
    if wanted is None and auto not in ("SAME_UPPER", "SAME_LOWER"):
        return windows.padding if auto == "NOTSET" else [0] * len(windows.padding)
    spans = cast("Sequence[int]", windows.spans)
    if wanted is None:  # The result has the size of the data times the stride.
        steps = zip(spans, windows.strides, more, strict=True)
        return _halves([span - stride + extra for span, stride, extra in steps], auto)
    data = zip(node.static_shape(x, first=2), windows.strides, spans, strict=True)
    whole = [(n - 1) * stride + span for n, stride, span in data]
    return _halves([n + extra - size for n, extra, size in zip(whole, more, wanted[-len(more) :], strict=True)], auto)


@imports("MaxPool")
def max_pool(node: OnnxNode, x: Tensor) -> Operand | list[Operand]:
    """The maximum of each window, and its position in the whole tensor."""
    if node.output_count < 2:
        return sliding_windows.maxima(node, *_over_pool(node, x, _lowest(x)))
    largest, positions = sliding_windows.maxima_and_places(node, x, _of_pool(node, x))
    return [largest, _in_all_channels(node, positions, node.shape(x), node.flag("storage_order"))]


def _lowest(x: Tensor) -> float:
    """Return the number that is the maximum of no elements."""
    return -np.inf if isinstance(x.element_type, AnyFloat) else int(np.iinfo(numpy_dtype(x.element_type)).min)


def _in_all_channels(node: OnnxNode, place: Operand, sizes: Sequence[Size], columns: bool) -> Operand:
    """Return positions in a whole tensor for positions in each channel, counted with the first dimension of pixels as
    the fastest one if that is wanted."""
    pixels = sizes[2:]
    if columns:
        rest, total = place, None
        strides = [count(pixels[:d]) for d in range(len(pixels))]
        for size, stride in reversed(list(zip(pixels, strides, strict=True))):
            part = op.multiply(op.floor_mod(rest, Known(size)), Known(stride))
            total = part if total is None else op.add(total, part)
            rest = op.floor_divide(rest, Known(size))
        assert total is not None
        place = total
    channels = numbers_below(count(sizes[:2]))
    starts = node.reshape(op.multiply(channels, Known(count(pixels))), [*sizes[:2], *[1] * len(pixels)])
    return op.add(starts, place)


@imports("MaxUnpool")
def max_unpool(node: OnnxNode, x: Tensor, positions: Tensor, shape: Tensor | None = None) -> Operand:
    """The elements at the positions that they had before pooling, among zeros."""
    n, c, *pooled = node.shape(x)
    windows = _of_pool(node, x)
    lengths = zip(pooled, windows.strides, windows.size, windows.before, windows.after, strict=True)
    pixels = [(length - 1) * stride + size - before - after for length, stride, size, before, after in lengths]
    expect_in_range(node, positions, count([n, c, *pixels]), from_end=False)
    made = sliding_windows.unpooled(node, x, positions, [], [n, c, *pixels])
    wanted = pixels if shape is None else node.known_integers(shape, "a shape")[2:]
    more = [a - b for a, b in zip(wanted, pixels, strict=True)]
    if any(not isinstance(n, int) or n < 0 for n in more):
        refuse(f"expected a shape of at least {[n, c, *pixels]}, found {[n, c, *wanted]}")
    widths = [0, 0, 0, 0, *(width for n in more if isinstance(n, int) for width in (0, n))]
    return op.pad(made, widths) if any(widths) else made


@imports("AveragePool")
def average_pool(node: OnnxNode, x: Tensor) -> Operand:
    """The mean of each window."""
    data, windows = _over_pool(node, x)
    if data is x or node.flag("count_include_pad"):
        return sliding_windows.averages(node, data, windows, node.flag("count_include_pad"))
    ones = node.full([1, 1, *node.shape(x)[2:]], 1, x.element_type)
    return op.divide(*(sliding_windows.sums(node, *_over_pool(node, part)) for part in (x, ones)))


@imports("LpPool")
def lp_pool(node: OnnxNode, x: Tensor) -> Operand:
    """The norm of each window."""
    return _root(node, sliding_windows.sums(node, *_over_pool(node, _power(node, x))))


def _power(node: OnnxNode, x: Tensor) -> Operand:
    p = node.integer("p", 2)
    return op.multiply(x, x) if p == 2 else op.power(op.abs(x), node.like(p, x))


def _root(node: OnnxNode, x: Operand) -> Operand:
    p = node.integer("p", 2)
    return op.sqrt(x) if p == 2 else op.power(x, node.like(1 / p, x))


def _over_pixels(node: OnnxNode, reduce: Any, x: Operand) -> Operand:
    """Reduce each channel."""
    return reduce(x, list(range(2, node.rank(x))), True)


row("GlobalAveragePool", op.mean, _over_pixels)
row("GlobalMaxPool", op.max, _over_pixels)


@imports("GlobalLpPool")
def global_lp_pool(node: OnnxNode, x: Tensor) -> Operand:
    """The norm of each channel."""
    return _root(node, _over_pixels(node, op.sum, _power(node, x)))


@imports("Col2Im")
def columns_to_image(node: OnnxNode, x: Tensor, image: Tensor, block: Tensor) -> Operand:
    """The sum of blocks, each added at its place: columns back to an image."""
    shape = node.known_integers(image, "the shape of the image")
    windows = read_windows(node, shape, node.known_integers(block, "the shape of a block"))
    n, c, columns = node.static_shape(x)
    padded = [a + b + c for a, b, c in zip(windows.before, shape, windows.after, strict=True)]
    size = prod(cast("Sequence[int]", windows.size))
    parts = node.reshape(x, [n, c // size, size * columns])
    empty = node.full([n, c // size, prod(padded)], 0, x.element_type)
    spots = node.broadcast_to(Known(_block_places(windows, shape, padded)), node.shape(parts))
    whole = node.reshape(op.scatter_elements(empty, spots, parts, 2, "add"), [n, c // size, *padded])
    axes = list(range(2, 2 + len(shape)))
    ends = [before + length for before, length in zip(windows.before, shape, strict=True)]
    return op.strided_slice(whole, axes, windows.before, ends)


def _block_places(windows: Windows, shape: Sequence[int], padded: Sequence[int]) -> Array:
    """Return the place in the flattened image of each element of each block."""
    rank, place = len(shape), np.zeros((), np.int64)
    for d, number in enumerate(cast("Sequence[int]", windows.counts(shape))):
        along = sliding_windows.places(windows, d, number) * prod(padded[d + 1 :])
        place = place + np.expand_dims(along, [axis for axis in range(2 * rank) if axis not in (d, rank + d)])
    return place.reshape(-1)
