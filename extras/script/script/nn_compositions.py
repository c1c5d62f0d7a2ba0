"""TVM's operators on numbers, and layers of networks."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f16, f32, i8, i32, i64

from relex.dialects.dtypes import INTEGERS
from relex.dialects.relex.types import shape_str
from relex.frontend import op
from relex.frontend.compositions.activations import gelu_by_tanh, leaky_relu, selu
from relex.frontend.compositions.number_functions import square
from relex.frontend.compositions.softmax import standardized
from relex.frontend.graph_expressions import Operand, const
from relex.frontend.script.compositions import (
    DType,
    Given,
    Result,
    as_type,
    axes_of_layout,
    composed,
    default_layout,
    expect_integers,
)
from relex.frontend.script.tensor_compositions import number, ones_like, reshaped
from relex.lowering.te import highest, lowest


@composed("R.square")
def _square(x: Given) -> Result:
    return square(x)


@composed("R.outer")
def outer(x1: Given, x2: Given) -> Result:
    return op.multiply(op.expand_dims(x1, 1), op.expand_dims(x2, 0))


@composed("R.log_add_exp")
def log_add_exp(x1: Given, x2: Given) -> Result:
    return op.add(op.maximum(x1, x2), op.log1p(op.exp(op.negative(op.abs(op.subtract(x1, x2))))))


def _deviations(x: Operand, axes: Sequence[int]) -> Operand:
    return op.subtract(x, op.mean(x, list(axes), keepdims=True))


@composed("R.variance")
def variance(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Result:
    rest = _deviations(x, x.axes(axis))
    return op.mean(op.multiply(rest, rest), x.axes(axis), keepdims=keepdims)


@composed("R.std")
def std(x: Given, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Result:
    rest = _deviations(x, x.axes(axis))
    return op.sqrt(op.mean(op.multiply(rest, rest), x.axes(axis), keepdims=keepdims))


# Activations.


@composed("R.nn.relu6")
def relu6(data: Given) -> Result:
    return op.clip(data, 0, 6)


@composed("R.nn.leakyrelu")
def leakyrelu(data: Given, alpha: float = 0.01) -> Result:
    return leaky_relu(data, alpha)


@composed("R.nn.prelu")
def prelu(data: Given, alpha: Given, axis: int = 1) -> Result:
    place = data.axis(axis)
    slopes = op.reshape(alpha, [-1 if d == place else 1 for d in range(data.rank)])
    return leaky_relu(data, slopes)


@composed("R.nn.selu")
def _selu(data: Given) -> Result:
    return selu(data)


@composed("R.nn.gelu_tanh")
def gelu_tanh(data: Given) -> Result:
    return gelu_by_tanh(data)


@composed("R.nn.softplus")
def softplus(data: Given, beta: float = 1.0, threshold: float = 20.0) -> Result:
    scaled = op.multiply(data, float(beta))
    return op.where(op.greater(scaled, float(threshold)), data, op.divide(op.log1p(op.exp(scaled)), float(beta)))


@composed("R.nn.dropout")
def dropout(data: Given, rate: float = 0.5) -> Result:
    """In inference nothing is dropped."""
    return data, ones_like(data)


# Normalizations.


def _along(parameter: Given, axis: int, rank: int) -> Operand:
    return op.reshape(parameter, [-1 if d == axis else 1 for d in range(rank)])


@composed("R.nn.rms_norm")
def rms_norm(data: Given, weight: Given, axes: int | Sequence[int] = -1, epsilon: float = 1e-5) -> Result:
    x: Operand = op.astype(data, f32) if data.element_type == f16 else data
    gain: Operand = op.astype(weight, f32) if data.element_type == f16 else weight
    squares = op.mean(op.multiply(x, x), data.axes(axes), keepdims=True)
    result = op.multiply(op.multiply(x, op.rsqrt(op.add(squares, epsilon))), gain)
    return op.astype(result, f16) if data.element_type == f16 else result


@composed("R.nn.instance_norm")
def instance_norm(
    data: Given,
    gamma: Given,
    beta: Given,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Result:
    _expect_affine(center, scale)
    x = standardized(data, data.axes(axes), epsilon)[0]
    channel = data.axis(channel_axis)
    return _affine(x, _along(gamma, channel, data.rank), _along(beta, channel, data.rank))


@composed("R.nn.group_norm")
def group_norm(
    data: Given,
    gamma: Given,
    beta: Given,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Result:
    _expect_affine(center, scale)
    channel = data.axis(channel_axis)
    size = data.size(channel)
    if num_groups < 1 or size % num_groups:
        raise ValueError(f"expected {size} channels to be in equal groups, found {num_groups} groups")
    sizes = data.sizes()
    groups = reshaped(data, [*sizes[:channel], num_groups, size // num_groups, *sizes[channel + 1 :]])
    within = [channel + 1, *(axis + (axis > channel) for axis in data.axes(axes) if axis != channel)]
    # Before the split, a name of a dynamic size is the name of the same dimension, or of the next one.
    back = [f"d{d + (d > channel)}" if isinstance(n, str) else n for d, n in enumerate(sizes)]
    x = reshaped(standardized(groups, within, epsilon)[0], back)
    return _affine(x, _along(gamma, channel, data.rank), _along(beta, channel, data.rank))


def _expect_affine(center: bool, scale: bool) -> None:
    """Refuse what TVM takes and has no effect there."""
    if not (center and scale):
        raise ValueError("expected center and scale to be True")


def _affine(x: Operand, gamma: Operand, beta: Operand, center: bool = True, scale: bool = True) -> Operand:
    x = op.multiply(x, gamma) if scale else x
    return op.add(x, beta) if center else x


@composed("R.nn.batch_norm")
def batch_norm(
    data: Given,
    gamma: Given,
    beta: Given,
    moving_mean: Given,
    moving_var: Given,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Result:
    channel = data.axis(axis)
    if not training and center and scale:
        return op.batch_norm(data, gamma, beta, moving_mean, moving_var, channel, epsilon), moving_mean, moving_var
    if not training:
        mean, var = moving_mean, moving_var
    else:
        others = [d for d in range(data.rank) if d != channel]
        rest = _deviations(data, others)
        mean, var = op.mean(data, others), op.mean(op.multiply(rest, rest), others)
    shape = [-1 if d == channel else 1 for d in range(data.rank)]
    rest = op.subtract(data, op.reshape(mean, shape))
    x = op.divide(rest, op.sqrt(op.add(op.reshape(var, shape), epsilon)))
    result = _affine(x, _along(gamma, channel, data.rank), _along(beta, channel, data.rank), center, scale)
    if not training:
        return result, moving_mean, moving_var
    kept = 1.0 - momentum
    means = op.add(op.multiply(moving_mean, kept), op.multiply(mean, momentum))
    return result, means, op.add(op.multiply(moving_var, kept), op.multiply(var, momentum))


# Windows.


@composed("R.nn.adaptive_avg_pool1d", "R.nn.adaptive_avg_pool2d", "R.nn.adaptive_avg_pool3d")
def adaptive_avg_pool(
    data: Given,
    output_size: int | Sequence[int] | None = None,
    layout: str | None = None,
    out_layout: str | None = None,
) -> Result:
    """Means of parts of equal lengths, or of parts that overlap where the lengths are not equal."""
    layout = layout or default_layout(data)
    if out_layout not in (None, "", layout):
        raise ValueError(f"expected out_layout to be '{layout}', as layout is, found '{out_layout}'")
    axes = axes_of_layout(data, layout)
    wanted = [output_size] * len(axes) if isinstance(output_size, int) else output_size
    x: Operand = data
    for axis, size in zip(axes, wanted or [data.size(axis) for axis in axes], strict=True):
        if size == 1:
            x = op.mean(x, [axis], keepdims=True)
            continue
        old = data.size(axis)
        spans = [(i * old // size, -(-(i + 1) * old // size)) for i in range(size)]
        parts = [op.mean(op.strided_slice(x, [axis], [a], [b]), [axis], keepdims=True) for a, b in spans]
        x = op.concat(*parts, axis=axis)
    return x


@composed("R.nn.pad")
def pad(data: Given, pad_width: Sequence[int], pad_mode: str = "constant", pad_value: float | None = None) -> Result:
    if pad_mode == "constant":
        return op.pad(data, pad_width, pad_value)
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if pad_mode not in modes:
        raise ValueError(f"expected pad_mode to be constant, {', '.join(modes)}, found '{pad_mode}'")
    if len(pad_width) != 2 * data.rank:
        raise ValueError(f"expected {2 * data.rank} widths, found {len(pad_width)}")
    x: Operand = data
    for axis, widths in enumerate(zip(pad_width[::2], pad_width[1::2], strict=True)):
        if widths != (0, 0):
            mode: Any = modes[pad_mode]
            x = op.take(x, const(np.pad(np.arange(data.size(axis)), widths, mode)), axis)
    return x


@composed("R.nn.pixel_shuffle")
def pixel_shuffle(data: Given, upscale_factor: int) -> Result:
    *batch, channels, height, width = (data.size(d) for d in range(data.rank))
    r, n = upscale_factor, len(batch)
    parts = op.reshape(data, [*batch, channels // r**2, r, r, height, width])
    moved = op.permute_dims(parts, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return op.reshape(moved, [*batch, channels // r**2, height * r, width * r])


# Losses, and attention.


@composed("R.nn.cross_entropy_with_logits")
def cross_entropy_with_logits(predictions: Given, labels: Given) -> Result:
    total = op.negative(op.sum(op.multiply(predictions, labels)))
    return op.divide(total, float(predictions.size(0))) if predictions.rank > 1 else total


@composed("R.nn.nll_loss")
def nll_loss(
    predictions: Given, targets: Given, weights: Given | None = None, reduction: str = "mean", ignore_index: int = -100
) -> Result:
    expect_integers(targets)
    axis = min(1, predictions.rank - 1)
    expected = [size for d, size in enumerate(predictions.shape) if d != axis]
    if list(targets.shape) != expected:
        raise ValueError(f"expected targets of shape {shape_str(expected)}, found {shape_str(targets.shape)}")
    shape = [-1 if d == axis else 1 for d in range(predictions.rank)]
    classes = np.arange(predictions.size(axis)).reshape(shape)
    # Small integers may not count as far as there are classes.
    wanted = op.expand_dims(as_type(targets, i64, targets.element_type), axis)
    chosen = op.logical_and(op.equal(wanted, const(classes)), op.not_equal(wanted, ignore_index))
    share: Operand = number(1, predictions.element_type) if weights is None else op.reshape(weights, shape)
    losses = op.negative(op.sum(op.where(chosen, op.multiply(predictions, share), 0), [axis]))
    match reduction:
        case "none":
            return losses
        case "sum":
            return op.sum(losses)
        case "mean":
            return op.divide(op.sum(losses), op.sum(op.where(chosen, share, 0)))
        case _:
            raise ValueError(f"expected reduction to be none, sum or mean, found '{reduction}'")


# Quantized numbers.


def _parameter(parameter: Given, data: Given, axis: int) -> Operand:
    """Return a scale or a zero point: one for all elements, or for each place along a dimension."""
    is_single = all(size == 1 for size in parameter.shape)
    return op.reshape(parameter, []) if is_single else _along(parameter, data.axis(axis), data.rank)


@composed("R.quantize")
def quantize(data: Given, scale: Given, zero_point: Given, axis: int = -1, out_dtype: DType = i8) -> Result:
    if out_dtype not in INTEGERS:
        raise ValueError(f"expected out_dtype to be an integer, found {out_dtype}")
    steps = op.round(op.divide(data, _parameter(scale, data, axis)))
    offset = as_type(_parameter(zero_point, data, axis), data.element_type, zero_point.element_type)
    whole = op.clip(op.add(steps, offset), lowest(out_dtype), highest(out_dtype))
    return op.astype(whole, out_dtype)


@composed("R.dequantize")
def dequantize(data: Given, scale: Given, zero_point: Given, axis: int = -1, out_dtype: DType = f32) -> Result:
    if data.element_type not in INTEGERS or out_dtype not in (f32, f16):
        raise ValueError(f"expected integers to become f32 or f16, found {data.element_type} and {out_dtype}")
    offset = as_type(_parameter(zero_point, data, axis), i32, zero_point.element_type)
    steps = op.astype(op.subtract(as_type(data, i32, data.element_type), offset), f32)
    factor = as_type(_parameter(scale, data, axis), f32, scale.element_type)
    result = op.multiply(steps, factor)
    return result if out_dtype == f32 else op.astype(op.clip(result, lowest(f16), highest(f16)), f16)


@composed("R.nn.attention", "R.nn.attention_bias")
def attention(
    query: Given,
    key: Given,
    value: Given,
    bias: Given | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Result:
    if window_size is not None:
        raise ValueError(f"expected no window_size, found {window_size}")
    q, k, v = (op.permute_dims(x, [0, 2, 1, 3]) for x in (query, key, value))
    factor = 1 / sqrt(query.size(3)) if scale is None else float(scale)
    scores: Operand = op.multiply(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])), factor)
    if bias is not None:
        scores = op.add(scores, bias)
    if causal_mask is not None:
        rows, columns = query.size(1), key.size(1)
        if causal_mask not in ("TopLeft", "BottomRight"):
            raise ValueError(f"expected causal_mask to be TopLeft or BottomRight, found '{causal_mask}'")
        seen = np.tri(rows, columns, 0 if causal_mask == "TopLeft" else abs(rows - columns), dtype=bool)
        scores = op.where(const(seen), scores, float("-inf"))
    return op.permute_dims(op.matmul(op.softmax(scores), v), [0, 2, 1, 3])
