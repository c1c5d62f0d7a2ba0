"""Weights of a few bits with a scale for each block of them, `com.microsoft`, as language models are quantized."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64

from relex.dialects.dtypes import SUB_BYTE
from relex.dialects.relex.block_layouts import SIZES_OF_FEW_BITS, name_of_few_bits
from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range, from_front
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

ROUNDS_TO_BYTES = 4
"""The level of accuracy at which data may be rounded to bytes, with a scale for each block, as ONNX Runtime does."""


def _bits(node: OnnxNode) -> int:
    """Return the bits of a number."""
    bits = node.integer("bits", 4)
    if bits not in (2, 4, 8):
        refuse(f"expected numbers of 2, 4 or 8 bits, found {bits}", "bits")
    return bits


def unpacked(node: OnnxNode, x: Operand, bits: int) -> Operand:
    """Return the numbers in bytes, along the last dimension: the lowest bits come first."""
    wide = op.astype(x, i32)
    if bits == 8:
        return wide
    *rest, size = node.shape(x)
    shifts = node.constant(np.arange(0, 8, bits, dtype=np.int32))
    numbers = op.bitwise_and(op.right_shift(op.expand_dims(wide, -1), shifts), 2**bits - 1)
    return node.reshape(numbers, [*rest, size * (8 // bits)])


def _first(node: OnnxNode, x: Operand, axis: int, size: Size) -> Operand:
    """Return the first numbers along a dimension: bytes may have more of them."""
    found = node.shape(x)[axis]
    return x if found == size else op.strided_slice(x, [axis], [0], [node.closed(size, "blocks of dynamic number: {}")])


def _zeros(node: OnnxNode, zeros: Tensor | None, bits: int, default: int, shape: Sequence[Size]) -> Operand:
    """Return what is subtracted from the numbers of each block, in bytes or as floats."""
    if zeros is None:
        return node.constant(np.array(default, np.int32))
    if node.is_float(zeros):
        return node.reshape(zeros, shape)
    if zeros.element_type in SUB_BYTE:
        return op.astype(zeros, i32)
    count = node.closed(shape[-1], "blocks of dynamic number: {}")
    rows = node.reshape(zeros, [*shape[:-1], -(-count * bits // 8)])
    return _first(node, unpacked(node, rows, bits), -1, count)


def _floats(node: OnnxNode, x: Operand, zeros: Operand, scales: Operand) -> Operand:
    kind = node.element_type(scales)
    if node.is_float(zeros):
        return op.multiply(op.subtract(op.astype(x, kind), zeros), scales)
    return op.multiply(op.astype(op.subtract(x, zeros), kind), scales)


def _in_blocks(
    node: OnnxNode, x: Tensor, weights: Tensor, scales: Tensor, zeros: Tensor | None, bits: int, block: int
) -> Operand | None:
    """Return the dense layer on weights that stay packed; None if they, their scales or their zero points are no
    constants, or in a form that no layout has."""
    known = [tensor for tensor in (weights, scales, zeros) if tensor is not None]
    if block not in SIZES_OF_FEW_BITS or not all(isinstance(t, Known) and not t.is_symbolic for t in known):
        return None
    digits, factors, *rest = (tensor.array for tensor in known if isinstance(tensor, Known))
    if factors.dtype not in (np.dtype(np.float16), np.dtype(np.float32)) or any(
        zero.dtype != np.uint8 for zero in rest
    ):
        return None
    rows, width = node.integer("N"), node.integer("K")
    blocks = -(-width // block)
    parts = [digits.reshape(rows, blocks, block * bits // 8)]
    for packed in rest:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        numbers = (packed.reshape(rows, -1, 1) >> shifts & (2**bits - 1)).reshape(rows, -1)
        parts.insert(0, numbers[:, :blocks, None])
    layout = name_of_few_bits(bits, block, has_zeros=bool(rest), has_halves=factors.dtype == np.float16)
    in_bytes = np.ascontiguousarray(factors).reshape(rows, blocks).view(np.uint8)
    together = np.concatenate(parts, -1) if rest else parts[0]
    wide = op.astype(x, f32)
    if missing := blocks * block - width:
        wide = op.pad(wide, [0] * (2 * node.rank(x) - 1) + [missing])
    if node.integer("accuracy_level", 0) == ROUNDS_TO_BYTES:
        wide = op.round_blocks(wide, block)
    y = op.dense_blocks(wide, Known(in_bytes), Known(together.reshape(rows, -1)), layout=layout)
    return op.astype(y, x.element_type)


@imports("MatMulNBits", domain=MICROSOFT)
def matmul_of_few_bits(
    node: OnnxNode,
    x: Tensor,
    weights: Tensor,
    scales: Tensor,
    zeros: Tensor | None = None,
    order: Tensor | None = None,
    bias: Tensor | None = None,
) -> Operand:
    """A dense layer whose weights have a scale for each block of a row."""
    bits, block = _bits(node), node.integer("block_size")
    packed = _in_blocks(node, x, weights, scales, zeros, bits, block) if order is None else None
    if packed is not None:
        return packed if bias is None else op.add(packed, bias)
    rows, width = node.integer("N"), node.integer("K")
    blocks = -(-width // block)
    numbers = unpacked(node, node.reshape(weights, [rows, blocks, block * bits // 8]), bits)
    offsets = _zeros(node, zeros, bits, 2 ** (bits - 1), [rows, blocks])
    columns = _first(node, node.reshape(numbers, [rows, blocks * block]), 1, width)
    of_block = node.constant(np.arange(width) // block) if order is None else op.astype(order, i64)

    def spread(parameter: Operand) -> Operand:
        return op.take(parameter, of_block, 1) if node.rank(parameter) else parameter

    matrix = _floats(node, columns, spread(offsets), spread(node.reshape(scales, [rows, blocks])))
    y = op.matmul(x, op.permute_dims(op.astype(matrix, x.element_type), [1, 0]))
    return y if bias is None else op.add(y, bias)


FOUR_BITS = (
    (0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25),
    (-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334),
    (-0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    (0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
TABLES = [[*FOUR_BITS[0], *(-x for x in FOUR_BITS[0])], [x for row in FOUR_BITS[1:] for x in row]]
"""What the numbers of `MatMulBnb4` stand for: floats of 4 bits, or quantiles of the normal distribution."""


@imports("MatMulBnb4", domain=MICROSOFT)
def matmul_of_table_weights(node: OnnxNode, x: Tensor, weights: Tensor, largest: Tensor) -> Operand:
    """A dense layer whose weights are numbers of a table, times the largest one of their block."""
    rows, width, block = (node.integer(name) for name in ("N", "K", "block_size"))
    kind = node.integer("quant_type")
    if not node.integer("transB", 1):
        refuse("expected weights that are transposed, found 0", "transB")
    if kind not in (0, 1):
        refuse(f"expected floats of 4 bits (0) or quantiles (1), found {kind}", "quant_type")
    wide = op.expand_dims(op.astype(weights, i32), 1)
    digits = op.bitwise_and(op.right_shift(wide, node.constant(np.array([4, 0], np.int32))), 15)
    places = _first(node, node.reshape(digits, [-(-rows * width // 2) * 2]), 0, rows * width)
    table = Known(np.array(TABLES[kind], np.float32))
    scales = op.take(op.astype(largest, f32), node.constant(np.arange(rows * width) // block), 0)
    matrix = node.reshape(op.multiply(op.take(table, op.astype(places, i64), 0), scales), [rows, width])
    return op.dense(x, op.astype(matrix, x.element_type))


@imports("GatherBlockQuantized", domain=MICROSOFT)
def gather_of_few_bits(
    node: OnnxNode, x: Tensor, indices: Tensor, scales: Tensor, zeros: Tensor | None = None
) -> Operand:
    """The parts of a tensor at positions along a dimension, with a scale for each block along another."""
    along, axis = (name % node.rank(x) for name in (node.integer("gather_axis"), node.integer("quantize_axis", 1)))
    bits, block = _bits(node), node.integer("block_size", 128)
    if along == axis:
        refuse("blocks along the dimension that is gathered; quantize along another one", "quantize_axis")
    is_packed = x.element_type not in SUB_BYTE
    if is_packed and bits < 8 and axis != node.rank(x) - 1:
        refuse("bytes of several numbers that are not along the last dimension", "quantize_axis")
    expect_in_range(node, indices, node.shape(x)[along], from_end=True)
    places = op.astype(from_front(node, indices, node.shape(x)[along]), i64)
    numbers = unpacked(node, x, bits) if is_packed else op.astype(x, i32)
    default = 2 ** (bits - 1) if is_packed else 0
    offsets = _zeros(node, zeros, bits, default, node.shape(scales))
    size = node.closed(node.shape(numbers)[axis], "blocks along a dynamic dimension: {}")
    of_block = node.constant(np.arange(size, dtype=np.int64) // block)

    def spread(parameter: Operand) -> Operand:
        return op.take(op.take(parameter, of_block, axis), places, along) if node.rank(parameter) else parameter

    return _floats(node, op.take(numbers, places, along), spread(offsets), spread(scales))
