"""Quantized tensors: integers with a scale and a zero point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from relex.dialects.dtypes import INTEGERS, SUB_BYTE, integer_limits, numpy_dtype
from relex.dialects.sizes import Sizes
from relex.frontend import op
from relex.frontend.compositions.normalization import per_channel
from relex.frontend.compositions.windows import by_rank
from relex.frontend.onnx import Node, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.arithmetic import converted
from relex.frontend.onnx.operators.windows import read_windows
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import element_type_of


def _spread(node: Node, x: Operand, parameter: Operand, axis: int, block: int) -> Operand:
    """Return a scale or a zero point in a shape that broadcasts with the data: one number, one for each position along
    a dimension, or one for each block along it."""
    shape, rank = node.shape(parameter), node.rank(x)
    if len(shape) == 0 or (len(shape) == 1 and shape[0] == 1 and not block):
        return op.reshape(parameter, [])
    if block:
        size = node.closed(node.shape(x)[axis], "blocks along a dynamic dimension", "block_size")
        places = np.arange(size, dtype=np.int64) // block
        return op.take(parameter, node.constant(places), axis)
    if len(shape) != 1:
        refuse(f"expected a scale of one dimension, found {len(shape)}")
    return op.expand_dims(parameter, [d for d in range(rank) if d != axis]) if rank > 1 else parameter


@imports("DequantizeLinear")
def dequantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Operand:
    """`(x - zero) * scale`."""
    axis = node.axis(x, default=1) if node.rank(x) > 1 else 0
    block = node.integer("block_size")
    wanted = node.integer("output_dtype")
    result = element_type_of(dtype_of(wanted)) if wanted else scale.element_type
    centred: Operand = op.astype(x, f32)
    if x.element_type in (*INTEGERS, *SUB_BYTE):
        centred = op.astype(x, i32)
        if zero is not None:
            centred = op.subtract(centred, _spread(node, x, op.astype(zero, i32), axis, block))
        centred = op.astype(centred, f32)
    product = op.multiply(centred, _spread(node, x, op.astype(scale, f32), axis, block))
    return op.astype(product, result)


@imports("QuantizeLinear")
def quantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Operand:
    """`round(x / scale) + zero`, as an integer, at the ends of whose range it saturates."""
    axis = node.axis(x, default=1) if node.rank(x) > 1 else 0
    block = node.integer("block_size")
    wanted = node.integer("output_dtype")
    if zero is not None:
        result = zero.element_type
    else:
        result = element_type_of(dtype_of(wanted)) if wanted else element_type_of(np.dtype(np.uint8))
    wide = op.divide(op.astype(x, f32), _spread(node, x, op.astype(scale, f32), axis, block))
    if result not in (*INTEGERS, *SUB_BYTE):
        return converted(node.tensor(wide), numpy_dtype(result), bool(node.integer("saturate", 1)))
    offset = None if zero is None else _spread(node, x, zero, axis, block)
    return saturated(op.round(wide), offset, result)


def saturated(x: Operand, zero: Operand | None, element_type: Attribute) -> Operand:
    """Return rounded floats, with a zero point added, as integers."""
    low, high = integer_limits(element_type)
    # The sum is computed with integers: floats have too few digits for 32-bit integers.
    clamped = op.astype(op.clip(x, float(-(2**24)), float(2**24)), i32)
    shifted = clamped if zero is None else op.add(clamped, op.astype(zero, i32))
    return op.astype(op.clip(shifted, max(low, -(2**31)), min(high, 2**31 - 1)), element_type)


@imports("MatMulInteger")
def matmul_integer(
    node: Node, a: Tensor, b: Tensor, zero_a: Tensor | None = None, zero_b: Tensor | None = None
) -> Operand:
    """The matrix product of integers without their zero points."""
    return op.matmul(_centred(a, zero_a, -2), _centred(b, zero_b, -1))


def _centred(x: Tensor, zero: Tensor | None, axis: int) -> Operand:
    """Return integers of 32 bits without the zero point: one, or one for each row or column."""
    wide = op.astype(x, i32)
    return wide if zero is None else op.subtract(wide, _placed(op.astype(zero, i32), zero.sizes, axis))


def _placed(parameter: Operand, sizes: Sizes, axis: int) -> Operand:
    """Return a parameter of these sizes, one for all or one for each row (-2) or column (-1), as matrices take it."""
    if len(sizes) != 1:
        return parameter
    return op.reshape(parameter, []) if sizes[0] == 1 else op.expand_dims(parameter, 1) if axis == -2 else parameter


def _scale(scale: Tensor, axis: int) -> Operand:
    return _placed(op.astype(scale, f32), scale.sizes, axis)


@imports("QLinearMatMul")
def quantized_matmul(node: Node, *inputs: Tensor) -> Operand:
    """The matrix product of quantized tensors, quantized."""
    a, scale_a, zero_a, b, scale_b, zero_b, scale_y, zero_y = inputs
    product = op.astype(op.matmul(_centred(a, zero_a, -2), _centred(b, zero_b, -1)), f32)
    scale = op.divide(op.multiply(_scale(scale_a, -2), _scale(scale_b, -1)), _scale(scale_y, -2))
    return saturated(op.round(op.multiply(product, scale)), _placed(zero_y, zero_y.sizes, -2), zero_y.element_type)


def _convolution(node: Node, x: Operand, weight: Tensor, kernel: Operand) -> Operand:
    windows = read_windows(node, node.shape(x)[2:], list(node.static_shape(weight)[2:]))
    function = by_rank((op.conv1d, op.conv2d, op.conv3d), node, x)
    return function(x, kernel, windows.strides, windows.padding, windows.dilation, node.integer("group", 1))


def _without_zero(x: Tensor, zero: Tensor | None) -> Operand:
    """Return integers of 32 bits without the zero point of all of them."""
    wide = op.astype(x, i32)
    return wide if zero is None else op.subtract(wide, op.reshape(op.astype(zero, i32), []))


def _per_output(node: Node, parameter: Operand, others: Sequence[int]) -> Operand:
    """Return a number for all output channels, or one for each, in a shape with other dimensions."""
    if node.rank(parameter) == 0 or node.shape(parameter)[0] == 1:
        return op.reshape(parameter, [])
    return op.expand_dims(parameter, others)


def _kernel(node: Node, weight: Tensor, zero: Tensor | None) -> Operand:
    wide = op.astype(weight, i32)
    others = range(1, node.rank(weight))
    return wide if zero is None else op.subtract(wide, _per_output(node, op.astype(zero, i32), others))


@imports("ConvInteger")
def conv_integer(
    node: Node, x: Tensor, weight: Tensor, zero_x: Tensor | None = None, zero_w: Tensor | None = None
) -> Operand:
    """A convolution of integers without their zero points."""
    return _convolution(node, _without_zero(x, zero_x), weight, _kernel(node, weight, zero_w))


@imports("QLinearConv")
def quantized_conv(node: Node, *inputs: Tensor) -> Operand:
    """A convolution of quantized tensors, quantized."""
    x, scale_x, zero_x, weight, scale_w, zero_w, scale_y, zero_y, *bias = inputs
    rank = node.rank(x)
    total = _convolution(node, _without_zero(x, zero_x), weight, _kernel(node, weight, zero_w))
    if bias:
        total = op.add(total, per_channel(bias[0], rank))
    ratio = op.divide(op.multiply(op.reshape(scale_x, []), scale_w), op.reshape(scale_y, []))
    factor = _per_output(node, ratio, [0, *range(2, rank)])
    scaled = op.round(op.multiply(op.astype(total, f32), factor))
    return saturated(scaled, op.reshape(zero_y, []), zero_y.element_type)
