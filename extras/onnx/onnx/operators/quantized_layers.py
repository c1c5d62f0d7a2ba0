"""Layers of quantized tensors, `com.microsoft`, as the quantizer of ONNX Runtime writes them.

Each is computed with floats, whose result is quantized; `QGemm` multiplies integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions.activations import leaky_relu
from relex.frontend.compositions.indexing import part_at
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports
from relex.frontend.onnx.operators.quantization import (
    COLUMNS,
    ROWS,
    centred,
    dequantize,
    one_number,
    placed,
    quantize,
    saturated,
)
from relex.frontend.onnx.operators.recurrent import Function, lstm
from relex.frontend.onnx.operators.windows import average_pool, in_channels_last, max_pool

MICROSOFT = "com.microsoft"
"""The domain of the operators that ONNX Runtime adds."""

imports("DequantizeLinear", domain=MICROSOFT)(dequantize)
imports("QuantizeLinear", domain=MICROSOFT)(quantize)


def _floats(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None) -> Operand:
    """Return what a quantized tensor stands for."""
    return op.multiply(op.astype(centred(node, x, zero), f32), one_number(node, scale))


def _quantized(node: OnnxNode, y: Operand, scale: Tensor, zero: Tensor | None, element_type: Attribute) -> Operand:
    """Return floats as integers of a type, at the ends of whose range they saturate."""
    offset = None if zero is None else one_number(node, zero)
    return saturated(op.round(op.divide(y, one_number(node, scale))), offset, element_type)


def _complete(inputs: Sequence[Tensor | None], number: int) -> list[Any]:
    """Return inputs with None for those at the end that are not given."""
    return [*inputs, *[None] * (number - len(inputs))]


@imports("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def quantized_arithmetic(node: OnnxNode, *inputs: Tensor) -> Operand:
    """The sum or the product of quantized tensors."""
    a, scale_a, zero_a, b, scale_b, zero_b, scale_y, zero_y = _complete(inputs, 8)
    function = op.add if node.proto.op_type == "QLinearAdd" else op.multiply
    y = function(_floats(node, a, scale_a, zero_a), _floats(node, b, scale_b, zero_b))
    return _quantized(node, y, scale_y, zero_y, a.element_type)


def _softmax(node: OnnxNode, x: Tensor) -> Operand:
    if node.integer("opset", 13) >= 13:
        return op.softmax(x, node.axis(x, default=-1))
    # Before, it is over all dimensions from one on.
    sizes, axis = node.shape(x), node.axis(x, default=1)
    return node.reshape(op.softmax(node.reshape(x, [count(sizes[:axis]), count(sizes[axis:])]), 1), sizes)


def _global_average_pool(node: OnnxNode, x: Tensor) -> Operand:
    """Return the mean of each channel."""
    first = 1 if node.flag("channels_last") else 2
    return op.mean(x, list(range(first, first + node.rank(x) - 2)), True)


def _average_pool(node: OnnxNode, x: Tensor) -> Operand:
    """Return the mean of each window."""
    return (
        in_channels_last(node, partial(average_pool, node), x) if node.flag("channels_last") else average_pool(node, x)
    )


@imports("NhwcMaxPool", domain=MICROSOFT)
def max_pool_of_channels_last(node: OnnxNode, x: Tensor) -> Operand:
    """The maximum of each window."""
    return in_channels_last(node, partial(max_pool, node), x)


FUNCTIONS: dict[str, Callable[[OnnxNode, Tensor], Operand]] = {
    "QLinearSigmoid": lambda node, x: op.sigmoid(x),
    "QLinearLeakyRelu": lambda node, x: leaky_relu(x, node.number("alpha", 0.01)),
    "QLinearSoftmax": _softmax,
    "QLinearGlobalAveragePool": _global_average_pool,
    "QLinearAveragePool": _average_pool,
    "QLinearReduceMean": lambda node, x: op.mean(x, node.integers("axes"), bool(node.integer("keepdims", 1))),
}


@imports(*FUNCTIONS, domain=MICROSOFT)
def quantized_function(node: OnnxNode, *inputs: Tensor) -> Operand:
    """An activation or a pool of a quantized tensor."""
    x, scale_x, zero_x, scale_y, zero_y = _complete(inputs, 5)
    y = FUNCTIONS[node.proto.op_type](node, node.tensor(_floats(node, x, scale_x, zero_x)))
    return _quantized(node, y, scale_y, zero_y, x.element_type)


@imports("QLinearConcat", domain=MICROSOFT)
def quantized_concat(node: OnnxNode, scale_y: Tensor, zero_y: Tensor, *inputs: Tensor) -> Operand:
    """Quantized tensors one after another."""
    parts = [
        _quantized(node, _floats(node, x, scale, zero), scale_y, zero_y, zero_y.element_type)
        for x, scale, zero in zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True)
    ]
    return op.concat(*parts, axis=node.axis(inputs[0], default=1))


@imports("QLinearWhere", domain=MICROSOFT)
def quantized_where(node: OnnxNode, condition: Tensor, *inputs: Tensor) -> Operand:
    """Elements of one quantized tensor or another."""
    x, scale_x, zero_x, y, scale_y, zero_y, scale, zero = inputs
    chosen = op.where(condition, _floats(node, x, scale_x, zero_x), _floats(node, y, scale_y, zero_y))
    return _quantized(node, chosen, scale, zero, zero.element_type)


@imports("QGemm", domain=MICROSOFT)
def quantized_gemm(node: OnnxNode, *inputs: Tensor) -> Operand:
    """A dense layer of quantized tensors, quantized unless there is no scale for the result."""
    a, scale_a, zero_a, b, scale_b, zero_b, bias, scale_y, zero_y = _complete(inputs, 9)
    is_per_row = zero_b is not None and node.rank(zero_b) == 1 and node.flag("transB")
    left, right = centred(node, a, zero_a), centred(node, b, zero_b, ROWS if is_per_row else COLUMNS)
    left = op.permute_dims(left, [1, 0]) if node.flag("transA") else left
    right = op.permute_dims(right, [1, 0]) if node.flag("transB") else right
    total: Operand = op.matmul(left, right)
    total = total if bias is None else op.add(total, bias)
    scale = op.multiply(one_number(node, scale_a), placed(node, scale_b, COLUMNS))
    y = op.multiply(op.astype(total, f32), op.multiply(scale, node.number("alpha", 1.0)))
    return y if scale_y is None else _quantized(node, y, scale_y, zero_y, a.element_type)


@imports("MulInteger", domain=MICROSOFT)
def product_of_integers(
    node: OnnxNode, a: Tensor, zero_a: Tensor | None, b: Tensor, zero_b: Tensor | None = None
) -> Operand:
    """The product of quantized tensors, as integers."""
    return op.multiply(centred(node, a, zero_a), centred(node, b, zero_b))


@imports("ReduceSumInteger", domain=MICROSOFT)
def sum_of_integers(node: OnnxNode, x: Tensor) -> Operand:
    """The sum of integers of 8 bits along dimensions, in 32 bits."""
    return op.sum(op.astype(x, i32), node.integers("axes"), bool(node.integer("keepdims", 1)))


@imports("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_of_integers(node: OnnxNode, *inputs: Tensor) -> Operand:
    """A product of quantized matrices, as floats."""
    a, b, scale_a, scale_b, zero_a, zero_b, bias = _complete(inputs, 7)
    total = op.matmul(centred(node, a, zero_a), centred(node, b, zero_b, COLUMNS))
    return _scaled(node, total, scale_a, scale_b, bias)


@imports("DynamicQuantizeMatMul", domain=MICROSOFT)
def matmul_quantized_by_its_range(node: OnnxNode, *inputs: Tensor) -> Operand:
    """A product of floats and a quantized matrix: the floats are quantized by the range of all of them."""
    x, b, scale_b, zero_b, bias = _complete(inputs, 5)
    y = times_by_its_range(node, x, centred(node, b, zero_b, COLUMNS), scale_b)
    return y if bias is None else op.add(y, bias)


def times_by_its_range(node: OnnxNode, x: Operand, matrix: Operand, scale_b: Operand) -> Operand:
    """Return the product of floats and a matrix of integers: the floats are quantized by the range of all of them."""
    low, high = op.minimum(op.min(x), 0.0), op.maximum(op.max(x), 0.0)
    width = op.subtract(high, low)
    scale = op.where(op.equal(width, 0.0), 1.0, op.divide(width, 255.0))
    zero = op.round(op.clip(op.divide(op.negative(low), scale), 0.0, 255.0))
    steps = op.clip(op.add(op.round(op.divide(x, scale)), zero), 0.0, 255.0)
    return _scaled(node, op.matmul(op.astype(op.subtract(steps, zero), i32), matrix), scale, scale_b, None)


def _scaled(node: OnnxNode, total: Operand, scale_a: Operand, scale_b: Operand, bias: Tensor | None) -> Operand:
    y = op.multiply(op.astype(total, f32), op.multiply(one_number(node, scale_a), placed(node, scale_b, COLUMNS)))
    return y if bias is None else op.add(y, bias)


@imports("DynamicQuantizeLSTM", domain=MICROSOFT)
def lstm_quantized_by_its_range(node: OnnxNode, *inputs: Tensor) -> list[Operand]:
    """Long short-term memory with quantized weights, whose rows come first: the input is quantized by the range of all
    of it, and the state by its range in each step."""
    *given, scale_w, zero_w, scale_r, zero_r = _complete(inputs, 12)

    def products(direction: int) -> tuple[Function, Function]:
        def times(weight: Tensor, scale: Tensor, zero: Tensor, x: Operand) -> Operand:
            matrix, factor, offset = (node.tensor(part_at(t, 0, direction)) for t in (weight, scale, zero))
            return times_by_its_range(node, x, centred(node, matrix, offset, COLUMNS), factor)

        return partial(times, given[1], scale_w, zero_w), partial(times, given[2], scale_r, zero_r)

    return lstm(node, products, *given)
