"""Floats as integers of few bits and back, as models are quantized for training and for inference."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i1, i64

from relex.frontend import op
from relex.frontend.graph_expressions import Expr
from relex.frontend.torch import Operand, Tensor, TorchNode, imports
from relex.frontend.torch.node import Value


def _along(node: TorchNode, numbers: Tensor, axis: int, x: Tensor) -> Tensor:
    """Return a number for each part along a dimension, in a shape that broadcasts."""
    shape = [-1 if d == axis % node.rank(x) else 1 for d in range(node.rank(x))]
    return node.tensor(op.reshape(numbers, shape))


def _rounded_to(
    node: TorchNode,
    x: Tensor,
    scale: Value,
    zero: Value,
    low: int,
    high: int,
    enabled: Value | None = None,
    *,
    by_channels: bool = False,
) -> list[Operand]:
    """Return floats rounded to multiples of a scale between limits, and whether they were between them. Of channels,
    floats out of the range of integers become the smallest one first, and a zero that is a float is rounded, too."""
    y, unit = node.widened(x), node.typed(scale, f32)
    middle = node.widened(zero)
    steps = op.multiply(y, node.widened(op.divide(1.0, unit)))
    is_moved = by_channels and isinstance(zero, Expr) and node.is_float(zero)
    number = node.tensor(op.round(op.add(steps, middle)) if is_moved else op.add(op.round(steps), middle))
    number = node.widened(node.typed(number, i64)) if by_channels else number
    inside = op.logical_and(op.greater_equal(number, float(low)), op.less_equal(number, float(high)))
    # NaN becomes the lower limit.
    cut = op.where(op.greater(number, float(low)), op.minimum(number, float(high)), float(low))
    # Products have 32 bits, but for channels, where they are rounded only at the end.
    kind = f64 if is_moved or (by_channels and y.element_type == f64) else f32
    found = node.typed(op.multiply(op.subtract(node.typed(cut, kind), node.typed(zero, kind)), node.typed(unit, kind)))
    if enabled is None:
        return [found, inside]
    is_on = node.typed(enabled, i1)
    return [op.where(is_on, found, node.typed(x)), op.logical_or(inside, op.logical_not(is_on))]


@imports("aten.fake_quantize_per_tensor_affine_cachemask")
def as_quantized(node: TorchNode, x: Tensor, scale: float, zero: int, low: int, high: int) -> list[Operand]:
    """Floats rounded as they would be as integers."""
    return _rounded_to(node, x, scale, zero, low, high)


@imports("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def as_quantized_by_tensors(
    node: TorchNode, x: Tensor, scale: Tensor, zero: Tensor, enabled: Tensor, low: int, high: int
) -> list[Operand]:
    """Floats rounded as they would be as integers, if that is switched on."""
    return _rounded_to(node, x, scale, zero, low, high, enabled)


@imports("aten.fake_quantize_per_channel_affine_cachemask")
def as_quantized_by_channels(
    node: TorchNode, x: Tensor, scale: Tensor, zero: Tensor, axis: int, low: int, high: int
) -> list[Operand]:
    """Floats rounded as they would be as integers, by a scale for each channel."""
    return _rounded_to(node, x, _along(node, scale, axis, x), _along(node, zero, axis, x), low, high, by_channels=True)


@imports("quantized_decomposed.quantize_per_tensor")
def quantized(node: TorchNode, x: Tensor, scale: Value, zero: Value, low: Value, high: Value, dtype: object) -> Operand:
    """Floats as integers: multiples of a scale, counted from the integer for 0."""
    unit: Value = 1 / scale if isinstance(scale, float) else op.divide(1.0, node.typed(scale, f32))
    number = op.add(op.round(op.multiply(node.typed(x, f32), node.typed(unit, f32))), node.typed(zero, f32))
    least, most = node.typed(low, f32), node.typed(high, f32)
    return node.typed(op.minimum(op.maximum(number, least), most))


@imports("quantized_decomposed.quantize_per_channel")
def quantized_by_channels(
    node: TorchNode, x: Tensor, scale: Tensor, zero: Tensor, axis: int, low: int, high: int, dtype: object
) -> Operand:
    """Floats as integers, by a scale for each channel."""
    return quantized(node, x, _along(node, scale, axis, x), _along(node, zero, axis, x), low, high, dtype)


@imports("quantized_decomposed.dequantize_per_tensor")
def floats_of(
    node: TorchNode, x: Tensor, scale: Value, zero: Value, low: Value, high: Value, *dtypes: object
) -> Operand:
    """The floats that integers stand for."""
    return op.multiply(op.subtract(node.typed(x), node.typed(zero)), node.typed(scale))


@imports("quantized_decomposed.dequantize_per_channel")
def floats_by_channels(
    node: TorchNode, x: Tensor, scale: Tensor, zero: Tensor | None, axis: int, low: int, high: int, *dtypes: object
) -> Operand:
    """The floats that integers stand for, by a scale for each channel."""
    middle = 0 if zero is None else _along(node, zero, axis, x)
    return floats_of(node, x, _along(node, scale, axis, x), middle, low, high)
