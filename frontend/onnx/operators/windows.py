"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
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


def _flat(node: Node, x: Operand, windows: Windows) -> tuple[Operand, Windows, bool]:
    """Return data with two dimensions for windows: one gets a second one of size 1. Negative padding is cut off."""
    rank = node.rank(x)
    for d, (before, after) in enumerate(zip(windows.before, windows.after, strict=True)):
        if before < 0 or after < 0:
            end = after if after < 0 else 2**63 - 1
            x = op.strided_slice(x, [d + 2], [max(-before, 0)], [end])
    windows = Windows(
        windows.size,
        windows.strides,
        windows.dilation,
        [max(n, 0) for n in windows.before],
        [max(n, 0) for n in windows.after],
    )
    if rank == 4:
        return x, windows, False
    if rank != 3:
        refuse(f"windows over {rank - 2} dimensions")
    one = Windows(
        [1, *windows.size], [1, *windows.strides], [1, *windows.dilation], [0, *windows.before], [0, *windows.after]
    )
    return op.expand_dims(x, 2), one, True


@imports("Conv")
def conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """A convolution."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    data, windows, squeezed = _flat(node, x, Windows.read(node, node.shape(x)[2:], size))
    kernel: Operand = op.expand_dims(weight, 2) if squeezed else weight
    y = op.conv2d(
        data, kernel, windows.strides, [*windows.before, *windows.after], windows.dilation, node.integer("group", 1)
    )
    result = op.squeeze(y, 2) if squeezed else y
    return result if bias is None else op.add(result, per_channel(node, bias, node.rank(x)))


@imports("MaxPool")
def max_pool(node: Node, x: Tensor) -> Operand:
    """The maximum of each window."""
    if node.output_count > 1:
        refuse("indices of the maxima")
    windows = Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    if node.flag("ceil_mode"):
        windows = windows.with_ceiling(node.static_shape(x)[2:])
    data, windows, squeezed = _flat(node, x, windows)
    y = op.max_pool2d(data, windows.size, windows.strides, [*windows.before, *windows.after], windows.dilation)
    return op.squeeze(y, 2) if squeezed else y


@imports("AveragePool")
def average_pool(node: Node, x: Tensor) -> Operand:
    """The mean of each window."""
    windows = Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    included = node.flag("count_include_pad")
    if node.flag("ceil_mode"):
        sizes = node.static_shape(x)[2:]
        declared = windows.after if included else [0] * len(sizes)
        wide = windows.with_ceiling(sizes)
        counts = _counts(wide, sizes, windows.before if included else None, declared)
        total = sums(node, x, wide)
        return op.divide(total, node.like(counts.reshape(1, 1, *counts.shape), x))
    data, windows, squeezed = _flat(node, x, windows)
    padding = [*windows.before, *windows.after]
    y = op.avg_pool2d(data, windows.size, windows.strides, padding, windows.dilation, included)
    return op.squeeze(y, 2) if squeezed else y


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


def sums(node: Node, x: Operand, windows: Windows) -> Operand:
    """Return the sum of each window."""
    data, windows, squeezed = _flat(node, x, windows)
    padding = [*windows.before, *windows.after]
    y = op.avg_pool2d(data, windows.size, windows.strides, padding, windows.dilation, True) * float(prod(windows.size))
    return op.squeeze(y, 2) if squeezed else y


@imports("LpPool")
def lp_pool(node: Node, x: Tensor) -> Operand:
    """The norm of each window."""
    windows = Windows.read(node, node.shape(x)[2:], node.integers("kernel_shape") or [])
    if node.flag("ceil_mode"):
        windows = windows.with_ceiling(node.static_shape(x)[2:])
    return _root(node, sums(node, _power(node, x), windows))


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
