"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.fourier import fourier, hermitian
from relex.frontend.compositions.indexing import part_at, stacked, windows_along
from relex.frontend.importing.values import size_argument
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT
from relex.frontend.onnx.operators.shapes import MOST
from relex.frontend.onnx.tensors import dtype_of


@imports("DFT")
def transform(node: OnnxNode, x: Tensor, length: Tensor | None = None, axis: Tensor | None = None) -> Operand:
    """The discrete Fourier transform along a dimension."""
    place = node.given(axis, "axis")
    (axis_from_front,) = node.axes([-2 if place is None else int(node.known_number(place, "an axis"))], x)
    return _along(node, x, length, axis_from_front)


def _along(node: OnnxNode, x: Tensor, length: Tensor | None, axis: int) -> Operand:
    size = node.shape(x)[axis]
    inverse, onesided = node.flag("inverse"), node.flag("onesided")
    count: Size = size if length is None else node.known_size(length, "a length")
    if inverse and onesided:
        count = 2 * (size - 1) if length is None else count
    rank = node.rank(x)
    # The parts of complex numbers come first, then the elements along the dimension.
    moved = op.permute_dims(x, [*(d for d in range(rank) if d != axis), axis])
    real, imaginary = _parts(node, moved, rank)
    width = count // 2 + 1 if inverse and onesided else count
    real, imaginary = (None if part is None else _resized(node, part, width) for part in (real, imaginary))
    assert real is not None
    results = _product(node, real, imaginary, count, inverse, onesided)
    return op.permute_dims(stacked(results, -1), [*range(axis), rank - 2, *range(axis, rank - 2), rank - 1])


def _parts(node: OnnxNode, x: Operand, rank: int) -> tuple[Operand, Operand | None]:
    """Return the real and the imaginary part of numbers along the last dimension but one."""
    kinds = node.closed(node.shape(x)[rank - 2], "numbers with parts along a dynamic dimension")
    return part_at(x, rank - 2, 0), None if kinds == 1 else part_at(x, rank - 2, 1)


def _resized(node: OnnxNode, x: Operand, size: Size) -> Operand:
    """Return a tensor cut off, or continued by zeros, along its last dimension."""
    *others, old = node.shape(x)
    if old == size:
        return x
    if not isinstance(old, int) or not isinstance(size, int):
        refuse(f"a transform along a dynamic dimension, of {size} of {old} numbers; fix the sizes with `shapes=`")
    if old > size:
        return op.strided_slice(x, [-1], [0], [size])
    return op.pad(x, [*(0 for _ in range(2 * len(others))), 0, size - old])


def _product(
    node: OnnxNode, real: Operand, imaginary: Operand | None, count: Size, inverse: bool, onesided: bool
) -> Sequence[Operand]:
    """Return the real and the imaginary part of the transform."""
    if inverse and onesided:
        real, imaginary = hermitian((real, imaginary), count)
    parts: list[Operand] = list(fourier(node, (real, imaginary), count, 1 if inverse else -1))
    if inverse:
        parts = [_over_count(node, part, count) for part in parts[: 1 if onesided else 2]]
    elif onesided:
        parts = [op.strided_slice(part, [-1], [0], [size_argument(count // 2 + 1)]) for part in parts]
    return parts


def _over_count(node: OnnxNode, x: Operand, count: Size) -> Operand:
    """Divide by the length of a transform."""
    if isinstance(count, int):
        return op.multiply(x, node.like(1 / count, x))
    return op.divide(x, op.astype(Known(count), node.element_type(x)))


@imports("MelWeightMatrix")
def mel_weights(node: OnnxNode, bins: Tensor, length: Tensor, rate: Tensor, low: Tensor, high: Tensor) -> Operand:
    """The matrix from a spectrum to bins that have equal widths on the mel scale."""
    count, size = (int(node.known_number(x, "a number of bins")) for x in (bins, length))
    sampled = int(node.known_number(rate, "a sample rate"))
    ends = [float(node.known_number(end, "a frequency")) for end in (low, high)]
    if min(count, size, sampled) < 1 or count * size > MOST:
        refuse(f"expected numbers of bins for a matrix, found {count}, {size} and {sampled}")
    first, last = (2595 * np.log10(1 + max(end, 0.0) / 700) for end in ends)
    mels = first + np.arange(count + 2) * (last - first) / (count + 2)
    places = ((size + 1) * 700 * (10 ** (mels / 2595) - 1) // sampled).astype(np.int64)
    if min(ends) < 0 or places.max() > size // 2:
        refuse(f"expected frequencies from 0 to half of the sample rate {sampled}, found {ends[0]} and {ends[1]}")
    row = np.arange(size // 2 + 1)[:, None]
    before, centre, after = places[:-2], places[1:-1], places[2:]
    rising = (row - before) / np.maximum(centre - before, 1)
    falling = (after - row) / np.maximum(after - centre, 1)
    matrix = np.where((row >= before) & (row <= centre) & (centre > before), rising, 0)
    matrix = np.where((row == centre) & (centre == before), 1, matrix)
    matrix = np.where((row >= centre) & (row < after), falling, matrix)
    return Known(matrix.astype(dtype_of(node.integer("output_datatype", 1))))


@imports("STFT")
def short_time(
    node: OnnxNode, x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None
) -> Operand:
    """The transforms of the parts of a signal under a window that moves."""
    hop = int(node.known_number(step, "a step"))
    if hop < 1:
        refuse(f"expected a step of 1 or more, found {hop}")
    if length is not None:
        size = int(node.known_number(length, "a length"))
    elif window is not None:
        size = node.static_shape(window)[0]
    else:
        refuse("expected a window or its length, found neither")
    # A signal of real numbers may come without a dimension for their parts.
    is_real = node.rank(x) == 2
    real, imaginary = (x, None) if is_real else _parts(node, op.permute_dims(x, [0, 2, 1]), 3)

    def framed(part: Operand) -> Operand:
        taken = windows_along(node, node.tensor(part), 1, size, hop)
        return taken if window is None else op.multiply(taken, window)

    onesided = bool(node.integer("onesided", 1))
    results = _product(node, framed(real), None if imaginary is None else framed(imaginary), size, False, onesided)
    return stacked(results, -1)


@imports("Rfft", "Irfft", domain=MICROSOFT)
def transform_of_real_numbers(node: OnnxNode, x: Tensor) -> Operand:
    """The transform of real numbers along the last dimension, or its inverse, divided by the length. The parts of
    complex numbers are the dimension after it."""
    if node.integer("signal_ndim", 1) != 1 or node.flag("normalized") or not node.integer("onesided", 1):
        refuse("transforms along several dimensions, of both sides, or divided by roots")
    if node.proto.op_type == "Rfft":
        size = node.closed(node.shape(x)[-1], "a transform along a dynamic dimension")
        return stacked(_product(node, x, None, size, inverse=False, onesided=True), -1)
    size = 2 * (node.closed(node.shape(x)[-2], "a transform along a dynamic dimension") - 1)
    real, imaginary = part_at(x, -1, 0), part_at(x, -1, 1)
    return _product(node, real, imaginary, size, inverse=True, onesided=True)[0]
