"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from relex.dialects.sizes import IndexExpr, Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import along, numbers_below
from relex.frontend.compositions.windows import Windows, averages, convolution, maxima, maxima_and_places, spread, sums
from relex.frontend.onnx import Known, Node, Operand, Tensor, imports, refuse


def read_windows(node: Node, data: Sequence[Size], size: list[int]) -> Windows:
    """Read the attributes of a node, for data of these sizes."""
    rank = len(size)
    strides = node.integers("strides") or [1] * rank
    dilation = node.integers("dilations") or [1] * rank
    if len(data) != rank or len(strides) != rank or len(dilation) != rank:
        refuse(f"expected {len(data)} numbers for windows, found {len(size)}, {len(strides)} and {len(dilation)}")
    pads = node.integers("pads") or [0] * (2 * rank)
    before, after = pads[:rank], pads[rank:]
    auto = node.text("auto_pad", "NOTSET") or "NOTSET"
    if auto == "VALID":
        before, after = [0] * rank, [0] * rank
    elif auto != "NOTSET":
        spans = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
        total = [_same(*part) for part in zip(data, spans, strides, strict=True)]
        less, more = [t // 2 for t in total], [t - t // 2 for t in total]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    return Windows(size, strides, dilation, before, after)


def _same(n: Size, span: int, stride: int) -> int:
    """Return the padding for as many windows as there are strides in a dimension."""
    if isinstance(n, IndexExpr):
        if stride == 1:
            return span - 1
        refuse(f"padding that depends on a dynamic size: {n}; fix the size with `shapes=`", "auto_pad")
    windows = -(-n // stride)
    return max((windows - 1) * stride + span - n, 0)


@imports("Conv")
def conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A convolution."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    windows = read_windows(node, node.shape(x)[2:], size)
    return convolution(node, x, weight, bias, windows, node.integer("group", 1))


@imports("ConvTranspose")
def conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A transposed convolution."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    rank = len(size)
    more = node.integers("output_padding") or [0] * rank
    strides, dilation = node.integers("strides") or [1] * rank, node.integers("dilations") or [1] * rank
    full = Windows(size, strides, dilation, [0] * rank, [0] * rank)
    before, after = _removed(node, x, full, more)
    windows = replace(full, before=before, after=[n - extra for n, extra in zip(after, more, strict=True)])
    return spread(node, x, weight, bias, windows, node.integer("group", 1))


def _removed(node: Node, x: Tensor, full: Windows, more: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return how much of a transposed convolution is removed at the ends of each dimension."""
    rank = len(more)
    auto = node.text("auto_pad", "NOTSET") or "NOTSET"
    wanted = node.integers("output_shape")
    if wanted is None and auto not in ("SAME_UPPER", "SAME_LOWER"):
        pads = (node.integers("pads") or [0] * (2 * rank)) if auto == "NOTSET" else [0] * (2 * rank)
        return pads[:rank], pads[rank:]
    data = node.static_shape(x, first=2)
    steps = list(zip(data, full.strides, strict=True))
    whole = [(n - 1) * stride + span for (n, stride), span in zip(steps, full.spans, strict=True)]
    if wanted is None:
        wanted = [n * stride for n, stride in steps]
    total = [n + extra - size for n, extra, size in zip(whole, more, wanted[-rank:], strict=True)]
    less, other = [n // 2 for n in total], [n - n // 2 for n in total]
    return (less, other) if auto == "SAME_UPPER" else (other, less)


@imports("MaxPool")
def max_pool(node: Node, x: Tensor) -> Operand | list[Operand]:
    """The maximum of each window, and its position in the whole tensor."""
    windows = _with_ceiling(node, x, read_windows(node, node.shape(x)[2:], node.integers("kernel_shape") or []))
    if node.output_count < 2:
        return maxima(node, x, windows)
    largest, places = maxima_and_places(node, x, windows)
    return [largest, _in_all_channels(node, places, node.shape(x), node.flag("storage_order"))]


def _in_all_channels(node: Node, place: Operand, sizes: Sequence[Size], columns: bool) -> Operand:
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
def max_unpool(node: Node, x: Tensor, places: Tensor, shape: Tensor | None = None) -> Operand:
    """The elements at the positions that they had before pooling, among zeros."""
    n, c, *pooled = node.shape(x)
    size = node.integers("kernel_shape") or []
    windows = read_windows(node, pooled, size)
    pixels = [
        (length - 1) * stride - before - after + kernel
        for length, stride, before, after, kernel in zip(
            pooled, windows.strides, windows.before, windows.after, size, strict=True
        )
    ]
    whole = [n, c, *pixels]
    elements = [count(node.shape(x))]
    zeros = node.full([count(whole)], 0, x.element_type)
    filled = op.scatter_elements(zeros, node.reshape(places, elements), node.reshape(x, elements), 0)
    made = node.reshape(filled, whole)
    wanted = pixels if shape is None else node.known_integers(shape, "a shape")[2:]
    more = [a - b for a, b in zip(wanted, pixels, strict=True)]
    if any(not isinstance(n, int) or n < 0 for n in more):
        refuse(f"expected a shape of at least {whole}, found {[n, c, *wanted]}")
    widths = [0, 0, 0, 0, *(width for n in more if isinstance(n, int) for width in (0, n))]
    return op.pad(made, widths) if any(widths) else made


def _with_ceiling(node: Node, x: Tensor, windows: Windows) -> Windows:
    return windows.with_ceiling(node.static_shape(x, first=2)) if node.flag("ceil_mode") else windows


@imports("AveragePool")
def average_pool(node: Node, x: Tensor) -> Operand:
    """The mean of each window."""
    windows = read_windows(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    return averages(node, x, windows, node.flag("count_include_pad"), node.flag("ceil_mode"))


@imports("LpPool")
def lp_pool(node: Node, x: Tensor) -> Operand:
    """The norm of each window."""
    windows = read_windows(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    return _root(node, sums(node, _power(node, x), _with_ceiling(node, x, windows)))


def _power(node: Node, x: Tensor) -> Operand:
    p = node.integer("p", 2)
    return op.multiply(x, x) if p == 2 else op.power(op.abs(x), node.like(p, x))


def _root(node: Node, x: Operand) -> Operand:
    p = node.integer("p", 2)
    return op.sqrt(x) if p == 2 else op.power(x, node.like(1 / p, x))


def _pixels(node: Node, x: Tensor) -> list[int]:
    return list(range(2, node.rank(x)))


@imports("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node, x: Tensor) -> Operand:
    """The mean, or the maximum, of each channel."""
    reduce = op.mean if node.proto.op_type == "GlobalAveragePool" else op.max
    return reduce(x, _pixels(node, x), True)


@imports("GlobalLpPool")
def global_lp_pool(node: Node, x: Tensor) -> Operand:
    """The norm of each channel."""
    return _root(node, op.sum(_power(node, x), _pixels(node, x), True))


@imports("Col2Im")
def columns_to_image(node: Node, x: Tensor, image: Tensor, block: Tensor) -> Operand:
    """The sum of blocks, each added at its place: columns back to an image."""
    shape = node.known_integers(image, "the shape of the image")
    size = node.known_integers(block, "the shape of a block")
    windows = read_windows(node, shape, size)
    n, c, columns = node.static_shape(x)
    counts = [
        (length + before + after - span) // stride + 1
        for length, before, after, span, stride in zip(
            shape, windows.before, windows.after, windows.spans, windows.strides, strict=True
        )
    ]
    padded = [a + b + c for a, b, c in zip(windows.before, shape, windows.after, strict=True)]
    channels = c // prod(size)
    places = _block_places(size, counts, padded, windows)
    parts = node.reshape(x, [n, channels, prod(size) * columns])
    empty = node.full([n, channels, prod(padded)], 0, x.element_type)
    added = op.scatter_elements(empty, node.broadcast_to(Known(places), node.shape(parts)), parts, 2, "add")
    whole = node.reshape(added, [n, channels, *padded])
    axes = list(range(2, 2 + len(shape)))
    ends = [before + length for before, length in zip(windows.before, shape, strict=True)]
    return op.strided_slice(whole, axes, windows.before, ends)


def _block_places(
    size: Sequence[int], counts: Sequence[int], padded: Sequence[int], windows: Windows
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the place in the flattened image of each element of each block."""
    rank = len(size)
    place = np.zeros((*size, *counts), np.int64)
    for d in range(rank):
        inner = along(np.arange(size[d]), d, 2 * rank) * windows.dilation[d]
        outer = along(np.arange(counts[d]), rank + d, 2 * rank) * windows.strides[d]
        place += (inner + outer) * prod(padded[d + 1 :])
    return place.reshape(-1)
