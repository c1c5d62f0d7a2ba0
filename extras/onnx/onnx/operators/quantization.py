"""Quantized tensors: integers with a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from relex.dialects.dtypes import INTEGERS, SUB_BYTE, integer_limits, numpy_dtype, record_of
from relex.dialects.relex.block_layouts import SIZES_OF_FEW_BITS, name_of_few_bits
from relex.frontend import op
from relex.frontend.compositions.sliding_windows import by_rank
from relex.frontend.compositions.softmax import per_channel
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.arithmetic import converted
from relex.frontend.onnx.operators.windows import windows_over
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import element_type_of


def one_number(node: OnnxNode, parameter: Operand) -> Operand:
    """Return a scale or a zero point that is the same for a whole tensor."""
    if any(size != 1 for size in node.shape(parameter)):
        refuse("expected one scale and one zero point for a tensor, found several")
    return op.reshape(parameter, [])


def placed(node: OnnxNode, parameter: Operand, others: Sequence[int]) -> Operand:
    """Return a scale or a zero point in a shape that broadcasts: one number for all, or one for each position along a
    dimension, with the `others` beside it."""
    sizes = node.shape(parameter)
    if len(sizes) == 1 and sizes[0] != 1:
        return op.expand_dims(parameter, others) if others else parameter
    return op.reshape(parameter, []) if len(sizes) == 1 else parameter


def centred(node: OnnxNode, x: Tensor, zero: Tensor | None, others: Sequence[int] | None = None) -> Operand:
    """Return integers of 32 bits without the zero point: one for the whole tensor, or one for each position along a
    dimension, with the `others` beside it."""
    wide = op.astype(x, i32)
    if zero is None:
        return wide
    offset = op.astype(zero, i32)
    return op.subtract(wide, one_number(node, offset) if others is None else placed(node, offset, others))


def _along(node: OnnxNode, x: Operand, parameter: Operand) -> Operand:
    """Return a scale or a zero point in a shape that broadcasts with the data: one number, one for each position along
    a dimension, or one for each block along it."""
    rank, block = node.rank(x), node.integer("block_size")
    axis = node.axis(x, default=1) if rank > 1 else 0
    if block and node.rank(parameter):
        size = node.closed(node.shape(x)[axis], "blocks along a dynamic dimension", "block_size")
        return op.take(parameter, node.constant(np.arange(size, dtype=np.int64) // block), axis)
    if node.rank(parameter) > 1:
        refuse(f"expected a scale of one dimension, found {node.rank(parameter)}")
    return placed(node, parameter, [d for d in range(rank) if d != axis])


def _result_type(node: OnnxNode, default: Attribute) -> Attribute:
    wanted = node.integer("output_dtype")
    return element_type_of(dtype_of(wanted)) if wanted else default


def _packed(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None) -> Operand | None:
    """Return a matrix in blocks as packed bytes that are unpacked where they are used; None if it, its scales or its
    zero points are no constants, or in a form that no layout has."""
    block, bits = node.integer("block_size"), record_of(x.element_type).bits
    known = [t.array for t in (x, scale, zero) if isinstance(t, Known) and not t.is_symbolic]
    if x.element_type not in (*INTEGERS, *SUB_BYTE) or bits not in (2, 4, 8) or block not in SIZES_OF_FEW_BITS:
        return None
    if len(known) < 2 + (zero is not None):
        return None
    along_rows = node.rank(x) == 2 and node.axis(x, default=1) == 0
    numbers, factors, *zeros = (array.T if along_rows else array for array in known)
    if (
        factors.dtype not in (np.dtype(np.float16), np.dtype(np.float32))
        or numbers.ndim != 2
        or numbers.shape[1] % block
    ):
        return None
    # Layouts have unsigned numbers. Without a zero point, they mean the middle.
    lowest, middle = integer_limits(x.element_type)[0], 2 ** (bits - 1)
    shifted = (numbers.astype(np.int16) - lowest).astype(np.uint8).reshape(*factors.shape, block)
    places = shifted.reshape(*factors.shape, -1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
    parts = [factors[..., None].copy().view(np.uint8), np.bitwise_or.reduce(places, -1)]
    has_zeros = bool(zeros) or lowest + middle != 0
    if has_zeros:
        given = (zeros[0].astype(np.int16) if zeros else np.zeros(factors.shape, np.int16)) - lowest
        parts.insert(1, given.astype(np.uint8)[..., None])
    layout = name_of_few_bits(bits, block, has_zeros=has_zeros, has_halves=factors.dtype == np.float16)
    matrix = op.dequantize_blocks(Known(np.concatenate(parts, -1).reshape(len(factors), -1)), layout=layout)
    return op.permute_dims(matrix, [1, 0]) if along_rows else matrix


@imports("DequantizeLinear")
def dequantize(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Operand:
    """`(x - zero) * scale`."""
    if (packed := _packed(node, x, scale, zero)) is not None:
        return op.astype(packed, _result_type(node, scale.element_type))
    wide: Operand = x
    if x.element_type in (*INTEGERS, *SUB_BYTE):
        wide = op.astype(x, i32)
        wide = wide if zero is None else op.subtract(wide, _along(node, x, op.astype(zero, i32)))
    product = op.multiply(op.astype(wide, f32), _along(node, x, op.astype(scale, f32)))
    return op.astype(product, _result_type(node, scale.element_type))


@imports("QuantizeLinear")
def quantize(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Operand:
    """`round(x / scale) + zero`, as an integer, at the ends of whose range it saturates."""
    result = _result_type(node, element_type_of(np.dtype(np.uint8))) if zero is None else zero.element_type
    wide = op.divide(op.astype(x, f32), _along(node, x, op.astype(scale, f32)))
    if result not in (*INTEGERS, *SUB_BYTE):
        return converted(node.tensor(wide), numpy_dtype(result), bool(node.integer("saturate", 1)))
    return saturated(op.round(wide), None if zero is None else _along(node, x, zero), result)


def saturated(x: Operand, zero: Operand | None, element_type: Attribute) -> Operand:
    """Return rounded floats, with a zero point added, as integers."""
    low, high = integer_limits(element_type)
    # The sum is computed with integers: floats have too few digits for 32-bit integers.
    clamped = op.astype(op.clip(x, float(-(2**24)), float(2**24)), i32)
    shifted = clamped if zero is None else op.add(clamped, op.astype(zero, i32))
    return op.astype(op.clip(shifted, max(low, -(2**31)), min(high, 2**31 - 1)), element_type)


ROWS, COLUMNS = (1,), ()
"""The dimensions beside a number for each row, or each column, of a matrix."""


@imports("MatMulInteger")
def matmul_integer(
    node: OnnxNode, a: Tensor, b: Tensor, zero_a: Tensor | None = None, zero_b: Tensor | None = None
) -> Operand:
    """The matrix product of integers without their zero points."""
    return op.matmul(centred(node, a, zero_a, ROWS), centred(node, b, zero_b, COLUMNS))


@imports("QLinearMatMul")
def quantized_matmul(node: OnnxNode, *inputs: Tensor) -> Operand:
    """The matrix product of quantized tensors, quantized."""
    a, scale_a, zero_a, b, scale_b, zero_b, scale_y, zero_y = inputs
    product = op.astype(matmul_integer(node, a, b, zero_a, zero_b), f32)
    rows, columns, results = (
        placed(node, op.astype(scale, f32), others)
        for scale, others in ((scale_a, ROWS), (scale_b, COLUMNS), (scale_y, ROWS))
    )
    scaled = op.multiply(product, op.divide(op.multiply(rows, columns), results))
    return saturated(op.round(scaled), placed(node, zero_y, ROWS), zero_y.element_type)


@imports("ConvInteger")
def conv_integer(
    node: OnnxNode, x: Tensor, weight: Tensor, zero_x: Tensor | None = None, zero_w: Tensor | None = None
) -> Operand:
    """A convolution of integers without their zero points."""
    data, windows = windows_over(node, centred(node, x, zero_x), node.static_shape(weight, "sizes of the kernel")[2:])
    function = by_rank((op.conv1d, op.conv2d, op.conv3d), node, x)
    kernel = centred(node, weight, zero_w, range(1, node.rank(weight)))
    return function(data, kernel, windows.strides, windows.padding, windows.dilation, node.integer("group", 1))


@imports("QLinearConv")
def quantized_conv(node: OnnxNode, *inputs: Tensor) -> Operand:
    """A convolution of quantized tensors, quantized."""
    x, scale_x, zero_x, weight, scale_w, zero_w, scale_y, zero_y, *bias = inputs
    rank = node.rank(x)
    total = conv_integer(node, x, weight, zero_x, zero_w)
    if bias:
        total = op.add(total, per_channel(bias[0], rank))
    ratio = op.divide(op.multiply(one_number(node, scale_x), scale_w), one_number(node, scale_y))
    scaled = op.round(op.multiply(op.astype(total, f32), placed(node, ratio, [0, *range(2, rank)])))
    return saturated(scaled, one_number(node, zero_y), zero_y.element_type)
