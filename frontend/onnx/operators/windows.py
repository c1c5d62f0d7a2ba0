"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from relex.dialects.sizes import IndexExpr, Size
from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.onnx.node import Node
from relex.frontend.onnx.operators.normalization import per_channel
from relex.frontend.onnx.table import imports
from relex.frontend.onnx.values import Tensor, refuse


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pool, along each dimension that they slide over."""

    size: list[int]
    strides: list[int]
    dilation: list[int]
    before: list[int]
    after: list[int]

    @classmethod
    def read(cls, node: Node, data: Sequence[Size], size: list[int]) -> Windows:
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
        return cls(size, strides, dilation, before, after)

    @property
    def padding(self) -> list[int]:
        """The padding before each dimension, and after each; negative padding is cut off the data."""
        return [max(n, 0) for n in (*self.before, *self.after)]

    @property
    def spans(self) -> list[int]:
        """What a window covers, with the gaps of dilation."""
        return [(n - 1) * d + 1 for n, d in zip(self.size, self.dilation, strict=True)]

    def with_ceiling(self, data: Sequence[int]) -> Windows:
        """Return the windows with more padding at the end, so that the last elements are in one, too."""
        after: list[int] = []
        for n, span, stride, before, end in zip(data, self.spans, self.strides, self.before, self.after, strict=True):
            windows = -(-(n + before + end - span) // stride) + 1
            if (windows - 1) * stride >= n + before:
                windows -= 1  # It would be in the padding alone.
            after.append((windows - 1) * stride + span - n - before)
        return Windows(self.size, self.strides, self.dilation, self.before, after)


def _same(n: Size, span: int, stride: int) -> int:
    """Return the padding for as many windows as there are strides in a dimension."""
    if isinstance(n, IndexExpr):
        if stride == 1:
            return span - 1
        refuse(f"padding that depends on a size that is open: {n}; 'shapes' closes them", "auto_pad")
    windows = -(-n // stride)
    return max((windows - 1) * stride + span - n, 0)


def _cut(x: Operand, windows: Windows) -> Operand:
    """Cut off negative padding."""
    for d, (before, after) in enumerate(zip(windows.before, windows.after, strict=True)):
        if before < 0 or after < 0:
            end = after if after < 0 else 2**63 - 1
            x = op.strided_slice(x, [d + 2], [max(-before, 0)], [end])
    return x


def by_rank(functions: Sequence[Callable[..., Operand]], node: Node, x: Operand) -> Callable[..., Operand]:
    """Return the operator for data with one, two or three dimensions that windows slide over."""
    rank = node.rank(x) - 2
    if not 1 <= rank <= len(functions):
        refuse(f"windows over {rank} dimensions")
    return functions[rank - 1]


@imports("Conv")
def conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A convolution."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    windows = Windows.read(node, node.shape(x)[2:], size)
    function = by_rank((op.conv1d, op.conv2d, op.conv3d), node, x)
    y = function(_cut(x, windows), weight, windows.strides, windows.padding, windows.dilation, node.integer("group", 1))
    return y if bias is None else op.add(y, per_channel(node, bias, node.rank(x)))


@imports("ConvTranspose")
def conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A transposed convolution. It is computed without padding, which is cut off, or added, afterwards."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    rank = len(size)
    more = node.integers("output_padding") or [0] * rank
    function = by_rank((op.conv1d_transpose, op.conv2d_transpose, op.conv3d_transpose), node, x)
    strides, dilation = node.integers("strides") or [1] * rank, node.integers("dilations") or [1] * rank
    y = function(x, weight, strides, [0] * (2 * rank), [0] * rank, dilation, node.integer("group", 1))
    before, after = _removed(node, y, strides, more, node.shape(x)[2:])
    for d in range(rank):
        end = more[d] - after[d]
        if end > 0:
            y = op.pad(y, [0, 0] * (2 + d) + [0, end] + [0, 0] * (rank - 1 - d))
        if before[d] or end < 0:
            y = op.strided_slice(y, [d + 2], [before[d]], [end if end < 0 else 2**63 - 1])
    return y if bias is None else op.add(y, per_channel(node, bias, node.rank(x)))


def _removed(
    node: Node, y: Operand, strides: Sequence[int], more: Sequence[int], data: Sequence[Size]
) -> tuple[list[int], list[int]]:
    """Return how much of a transposed convolution is removed at the ends of each dimension."""
    rank = len(strides)
    auto = node.text("auto_pad", "NOTSET") or "NOTSET"
    wanted = node.integers("output_shape")
    if wanted is None and auto not in ("SAME_UPPER", "SAME_LOWER"):
        pads = (node.integers("pads") or [0] * (2 * rank)) if auto == "NOTSET" else [0] * (2 * rank)
        return pads[:rank], pads[rank:]
    whole = node.static_shape(y)[2:]
    if wanted is None:
        wanted = [size * stride for size, stride in zip(data, strides, strict=True) if isinstance(size, int)]
    total = [n + extra - size for n, extra, size in zip(whole, more, wanted[-rank:], strict=True)]
    less, other = [n // 2 for n in total], [n - n // 2 for n in total]
    return (less, other) if auto == "SAME_UPPER" else (other, less)


@imports("MaxPool")
def max_pool(node: Node, x: Tensor) -> Operand:
    """The maximum of each window."""
    if node.output_count > 1:
        refuse("indices of the maxima")
    windows = _with_ceiling(node, x, Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or []))
    function = by_rank((op.max_pool1d, op.max_pool2d, op.max_pool3d), node, x)
    return function(_cut(x, windows), windows.size, windows.strides, windows.padding, windows.dilation)


def _with_ceiling(node: Node, x: Tensor, windows: Windows) -> Windows:
    return windows.with_ceiling(node.static_shape(x)[2:]) if node.flag("ceil_mode") else windows


@imports("AveragePool")
def average_pool(node: Node, x: Tensor) -> Operand:
    """The mean of each window."""
    windows = Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    included = node.flag("count_include_pad")
    if not node.flag("ceil_mode"):
        return _averages(node, x, windows, included)
    sizes = node.static_shape(x)[2:]
    declared = windows.after if included else [0] * len(sizes)
    wide = windows.with_ceiling(sizes)
    counts = _counts(wide, sizes, windows.before if included else None, declared)
    return op.divide(_sums(node, x, wide), node.like(counts.reshape(1, 1, *counts.shape), x))


def _averages(node: Node, x: Operand, windows: Windows, included: bool) -> Operand:
    function = by_rank((op.avg_pool1d, op.avg_pool2d, op.avg_pool3d), node, x)
    data = _cut(x, windows)
    return function(data, windows.size, windows.strides, windows.padding, windows.dilation, count_include_pad=included)


def _sums(node: Node, x: Operand, windows: Windows) -> Operand:
    """Return the sum of each window."""
    return _averages(node, x, windows, included=True) * float(prod(windows.size))


def _counts(
    windows: Windows, sizes: Sequence[int], before: Sequence[int] | None, after: Sequence[int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return how many elements count in each window, with so much of the padding."""
    counts = np.ones((), np.float64)
    for d, n in enumerate(sizes):
        first = windows.before[d] if before is None else 0
        counting = np.zeros(n + windows.before[d] + max(windows.after[d], after[d], 0))
        counting[first : windows.before[d] + n + after[d]] = 1
        starts = range(0, n + windows.before[d] + windows.after[d] - windows.spans[d] + 1, windows.strides[d])
        column = [counting[s : s + windows.spans[d] : windows.dilation[d]].sum() for s in starts]
        counts = np.multiply.outer(counts, np.array(column))
    return counts


@imports("LpPool")
def lp_pool(node: Node, x: Tensor) -> Operand:
    """The norm of each window."""
    windows = Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    return _root(node, _sums(node, _power(node, x), _with_ceiling(node, x, windows)))


def _power(node: Node, x: Tensor) -> Operand:
    p = node.integer("p", 2)
    return op.multiply(x, x) if p == 2 else op.power(op.abs(x), node.like(p, x))


def _root(node: Node, x: Operand) -> Operand:
    p = node.integer("p", 2)
    return op.sqrt(x) if p == 2 else op.power(x, node.like(1 / p, x))


def _pixels(node: Node, x: Tensor) -> list[int]:
    return list(range(2, node.rank(x)))


@imports("GlobalAveragePool")
def global_average_pool(node: Node, x: Tensor) -> Operand:
    """The mean of each channel."""
    return op.mean(x, _pixels(node, x), True)


@imports("GlobalMaxPool")
def global_max_pool(node: Node, x: Tensor) -> Operand:
    """The maximum of each channel."""
    return op.max(x, _pixels(node, x), True)


@imports("GlobalLpPool")
def global_lp_pool(node: Node, x: Tensor) -> Operand:
    """The norm of each channel."""
    return _root(node, op.sum(_power(node, x), _pixels(node, x), True))


@imports("Col2Im")
def columns_to_image(node: Node, x: Tensor, image: Tensor, block: Tensor) -> Operand:
    """The sum of blocks, each added at its place: columns back to an image."""
    shape = node.known_integers(image, "the shape of the image")
    size = node.known_integers(block, "the shape of a block")
    windows = Windows.read(node, shape, size)
    n, c, columns = node.static_shape(x)
    counts = [
        (length + before + after - span) // stride + 1
        for length, before, after, span, stride in zip(
            shape, windows.before, windows.after, windows.spans, windows.strides, strict=True
        )
    ]
    padded = [a + b + c for a, b, c in zip(windows.before, shape, windows.after, strict=True)]
    if prod(padded) * columns * prod(size) > 1 << 24:
        refuse("an image that is this large")
    places = _block_places(size, counts, padded, windows)
    matrix = np.zeros((prod(size) * columns, prod(padded)))
    matrix[np.arange(len(places)), places] = 1
    parts = node.reshape(x, [n, c // prod(size), prod(size) * columns])
    whole = node.reshape(op.matmul(parts, node.like(matrix, x)), [n, c // prod(size), *padded])
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
        inner = np.arange(size[d]).reshape([-1 if i == d else 1 for i in range(2 * rank)]) * windows.dilation[d]
        outer = np.arange(counts[d]).reshape([-1 if i == rank + d else 1 for i in range(2 * rank)]) * windows.strides[d]
        place += (inner + outer) * prod(padded[d + 1 :])
    return place.reshape(-1)
