"""Floats as integers of few bits and back, as models are quantized for training and for inference."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i1, i64

from relex.frontend import op
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
    is_cut: bool = False,
) -> list[Operand]:
    """Return floats rounded to multiples of a scale between limits, and whether they were between them. If `is_cut`,
    floats out of the range of integers become the smallest one first."""
    y, unit, middle = node.widened(x), node.typed(scale, f32), node.typed(zero, f32)
    wide = node.typed(y, f32)
    number = node.tensor(op.add(op.round(op.multiply(wide, op.divide(1.0, unit))), middle))
    number = node.typed(node.typed(number, i64), f32) if is_cut else number
    inside = op.logical_and(op.greater_equal(number, float(low)), op.less_equal(number, float(high)))
    # NaN becomes the lower limit.
    cut = op.where(op.greater(number, float(low)), op.minimum(number, float(high)), float(low))
    found = node.typed(op.multiply(op.subtract(cut, middle), unit))
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
    return _rounded_to(node, x, _along(node, scale, axis, x), _along(node, zero, axis, x), low, high, is_cut=True)


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
