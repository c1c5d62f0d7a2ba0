"""Normalizations, and softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.sizes import IndexExpr, Size, count
from relex.frontend import op
from relex.frontend.compositions.softmax import per_channel, standardized
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row


def _vector(node: TorchNode, given: Tensor | None, size: Any, element_type: Attribute, default: float) -> Operand:
    """Return a parameter, or equal numbers where there is none."""
    if given is not None:
        return node.typed(given, element_type)
    if isinstance(size, IndexExpr):
        return node.full([size], default, element_type)
    return Known(np.full(size, default, numpy_dtype(element_type)))


def _by_channel(
    node: TorchNode, x: Tensor, parameters: Sequence[Tensor | None], epsilon: float, of_batch: bool = False
) -> Operand:
    """Normalize by given means and variances, or by the batch's own if that is asked for or there are none."""
    scale, bias, *statistics = parameters
    size = node.shape(x)[1]
    if of_batch or not statistics or None in statistics:
        axes = [axis for axis in range(node.rank(x)) if axis != 1]
        normal, _, _ = standardized(node.widened(x), axes, epsilon)
        return node.typed(_scaled(node, normal, scale, bias))
    defaults = zip(parameters, (1.0, 0.0, 0.0, 1.0), strict=True)
    vectors = [_vector(node, given, size, x.element_type, default) for given, default in defaults]
    return op.batch_norm(x, *vectors, axis=1, epsilon=epsilon)


@imports("aten._native_batch_norm_legit_no_training")
def batch_norm_for_inference(node: TorchNode, x: Tensor, *arguments: Any) -> list[Operand]:
    """Normalization by given means and variances."""
    *parameters, _, epsilon = arguments
    return [_by_channel(node, x, parameters, epsilon)]


@imports("aten._native_batch_norm_legit", "aten.native_batch_norm", "aten._native_batch_norm_legit.no_stats")
def native_batch_norm(node: TorchNode, x: Tensor, *arguments: Any) -> list[Operand]:
    """Normalization by the statistics of the batch, of models without others."""
    *parameters, training, _, epsilon = arguments
    if training and len(parameters) > 2:
        refuse("training")
    return [_by_channel(node, x, parameters, epsilon, training)]


@imports("aten._native_batch_norm_legit_functional")
def batch_norm_in_training(
    node: TorchNode,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    means: Tensor,
    variances: Tensor,
    training: bool,
    momentum: float,
    epsilon: float,
) -> list[Operand]:
    """Normalization by the statistics of the batch, which it keeps beside what they were."""
    if not training:
        refuse("given statistics; expected 'aten._native_batch_norm_legit_no_training'")
    wide, axes = node.widened(x), [axis for axis in range(node.rank(x)) if axis != 1]
    normal, mean, inverse = standardized(wide, axes, epsilon)
    centred = op.subtract(wide, mean)
    number = node.typed(count([node.shape(x)[axis] for axis in axes]), node.element_type(wide))
    variance = op.sum(op.multiply(centred, centred), axes) / op.subtract(number, 1.0)
    own = op.squeeze(mean, axes)
    kept = [
        op.add(op.multiply(node.typed(old, node.element_type(wide)), 1 - momentum), op.multiply(new, momentum))
        for old, new in ((means, own), (variances, variance))
    ]
    return node.typed_results(_scaled(node, normal, scale, bias), own, op.squeeze(inverse, axes), *kept)


@imports("aten.instance_norm")
def instance_norm(node: TorchNode, x: Tensor, *arguments: Any) -> Operand:
    """Normalization of each channel of each element of the batch."""
    *parameters, use_input_stats, _, epsilon, _ = arguments
    if not use_input_stats:
        return _by_channel(node, x, parameters, epsilon)
    normal, _, _ = standardized(node.widened(x), list(range(2, node.rank(x))), epsilon)
    return node.typed(_scaled(node, normal, *parameters[:2]))


def _scaled(node: TorchNode, x: Operand, scale: Tensor | None, bias: Tensor | None) -> Operand:
    rank, wide = node.rank(x), node.element_type(x)
    y = x if scale is None else op.multiply(x, per_channel(node.typed(scale, wide), rank))
    return y if bias is None else op.add(y, per_channel(node.typed(bias, wide), rank))


@imports("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(
    node: TorchNode,
    x: Tensor,
    sizes: Sequence[Any],
    scale: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    cudnn_enabled: bool = False,
) -> Operand | list[Operand]:
    """Normalization along the last dimensions."""
    axes = list(range(-len(sizes), 0))
    whole = [*node.shape(x)[-len(sizes) :]]
    normal, mean, inverse = standardized(node.widened(x), axes, epsilon)
    if any(isinstance(size, IndexExpr) for size in whole) and (scale is None or bias is None):
        y: Operand = normal if scale is None else op.multiply(normal, node.widened(scale))
        y = y if bias is None else op.add(y, node.widened(bias))
    else:
        gamma = Known(np.ones(node.static_shape(x, first=-len(sizes)), x.dtype)) if scale is None else scale
        beta = Known(np.zeros(node.static_shape(gamma), x.dtype)) if bias is None else bias
        y = op.layer_norm(x, gamma, beta, axes, epsilon)
    return node.typed_results(y, mean, inverse) if node.name.startswith("native") else node.typed(y)


@imports("aten.native_group_norm")
def group_norm(
    node: TorchNode,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    n: Size,
    channels: int,
    pixels: Size,
    groups: int,
    epsilon: float,
) -> list[Operand]:
    """Normalization of each group of channels, with the means and the reciprocals of the deviations."""
    shape = node.shape(x)
    parts = node.reshape(node.widened(x), [n, groups, channels // groups, *shape[2:]])
    axes = list(range(2, len(shape) + 1))
    normal, *statistics = standardized(parts, axes, epsilon)
    y = _scaled(node, node.reshape(normal, shape), scale, bias)
    return node.typed_results(y, *(op.squeeze(value, axes) for value in statistics))


@imports("aten.rms_norm")
def rms_norm(node: TorchNode, x: Tensor, sizes: Sequence[Any], scale: Tensor | None, epsilon: float | None) -> Operand:
    """Division by the root of the mean of the squares along the last dimensions."""
    axes = list(range(-len(sizes), 0))
    epsilon = float(np.finfo(x.dtype).eps) if epsilon is None else epsilon
    wide = node.widened(x)
    y = op.multiply(wide, op.rsqrt(op.mean(op.multiply(wide, wide), axes, True) + epsilon))
    return node.typed(y if scale is None else op.multiply(y, node.widened(scale)))


def _along(node: TorchNode, function: Callable[..., Operand], x: Tensor, axis: int, *options: Any) -> Operand:
    """Apply a function along a dimension; a number is a tensor of one element."""
    y = node.typed(x)
    return function(y, axis) if node.rank(x) else op.squeeze(function(op.expand_dims(y, 0), 0), 0)


row("_softmax", op.softmax, _along)
row("_safe_softmax", partial(op.softmax, safe=True), _along)
row("_log_softmax", op.log_softmax, _along)
