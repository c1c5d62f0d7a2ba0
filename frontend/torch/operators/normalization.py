"""Normalizations, and softmax and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.sizes import IndexExpr
from relex.frontend import op
from relex.frontend.compositions.normalization import per_channel, standardized
from relex.frontend.torch import Known, Node, Operand, Tensor, imports, refuse
from relex.frontend.torch.table import IMPORTS


def _vector(node: Node, given: Tensor | None, size: Any, element_type: Attribute, default: float) -> Operand:
    """Return a parameter, or equal numbers where there is none."""
    if given is not None:
        return node.typed(given, element_type)
    if isinstance(size, IndexExpr):
        return node.full([size], default, element_type)
    return Known(np.full(size, default, numpy_dtype(element_type)))


def _by_channel(
    node: Node, x: Tensor, parameters: Sequence[Tensor | None], epsilon: float, of_batch: bool = False
) -> Operand:
    """Normalize by given means and variances, or by those of the batch if that is asked for or there are none."""
    scale, bias, *statistics = parameters
    size = node.shape(x)[1]
    if of_batch or not statistics or None in statistics:
        axes = [axis for axis in range(node.rank(x)) if axis != 1]
        normal, _, _ = standardized(x, axes, epsilon)
        return _scaled(node, normal, scale, bias)
    defaults = zip(parameters, (1.0, 0.0, 0.0, 1.0), strict=True)
    vectors = [_vector(node, given, size, x.element_type, default) for given, default in defaults]
    return op.batch_norm(x, *vectors, axis=1, epsilon=epsilon)


@imports("aten.batch_norm")
def batch_norm(node: Node, x: Tensor, *arguments: Any) -> Operand:
    """Normalization by given means and variances, or by those of the batch if there are none."""
    *parameters, training, _, epsilon, _ = arguments
    return _by_channel(node, x, parameters, epsilon, training)


@imports("aten._native_batch_norm_legit_no_training")
def batch_norm_for_inference(node: Node, x: Tensor, *arguments: Any) -> list[Operand]:
    """Normalization by given means and variances."""
    *parameters, _, epsilon = arguments
    return [_by_channel(node, x, parameters, epsilon)]


@imports("aten._native_batch_norm_legit", "aten.native_batch_norm", "aten._native_batch_norm_legit.no_stats")
def native_batch_norm(node: Node, x: Tensor, *arguments: Any) -> list[Operand]:
    """Normalization by the statistics of the batch, of models without others."""
    *parameters, training, _, epsilon = arguments
    if training and len(parameters) > 2:
        refuse("training")
    return [_by_channel(node, x, parameters, epsilon, training)]


@imports("aten.instance_norm")
def instance_norm(node: Node, x: Tensor, *arguments: Any) -> Operand:
    """Normalization of each channel of each element of the batch."""
    *parameters, use_input_stats, _, epsilon, _ = arguments
    if not use_input_stats:
        return _by_channel(node, x, parameters, epsilon)
    normal, _, _ = standardized(x, list(range(2, node.rank(x))), epsilon)
    return _scaled(node, normal, *parameters[:2])


def _scaled(node: Node, x: Operand, scale: Tensor | None, bias: Tensor | None) -> Operand:
    rank = node.rank(x)
    y = x if scale is None else op.multiply(x, per_channel(scale, rank))
    return y if bias is None else op.add(y, per_channel(bias, rank))


@imports("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(
    node: Node,
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
    if any(isinstance(size, IndexExpr) for size in whole) and (scale is None or bias is None):
        normal, _, _ = standardized(x, axes, epsilon)
        y: Operand = normal if scale is None else op.multiply(normal, scale)
        y = y if bias is None else op.add(y, bias)
    else:
        gamma = Known(np.ones(node.static_shape(x, first=-len(sizes)), x.dtype)) if scale is None else scale
        beta = Known(np.zeros(node.static_shape(gamma), x.dtype)) if bias is None else bias
        y = op.layer_norm(x, gamma, beta, axes, epsilon)
    return [y] if node.name.startswith("native") else y


@imports("aten.group_norm")
def group_norm(
    node: Node,
    x: Tensor,
    groups: int,
    scale: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    cudnn_enabled: bool = False,
) -> Operand:
    """Normalization of each group of channels."""
    n, c, *pixels = node.shape(x)
    parts = node.reshape(x, [n, groups, c // groups, *pixels])
    normal, _, _ = standardized(parts, list(range(2, len(pixels) + 3)), epsilon)
    return _scaled(node, node.reshape(normal, [n, c, *pixels]), scale, bias)


@imports("aten.native_group_norm")
def native_group_norm(node: Node, x: Tensor, *arguments: Any) -> list[Operand]:
    """Normalization of each group of channels."""
    scale, bias, _, _, _, groups, epsilon = arguments
    return [group_norm(node, x, groups, scale, bias, epsilon)]


@imports("aten.rms_norm")
def rms_norm(node: Node, x: Tensor, sizes: Sequence[Any], scale: Tensor | None, epsilon: float | None) -> Operand:
    """Division by the root of the mean of the squares along the last dimensions."""
    axes = list(range(-len(sizes), 0))
    epsilon = float(np.finfo(x.dtype).eps) if epsilon is None else epsilon
    y = op.multiply(x, op.rsqrt(op.mean(op.multiply(x, x), axes, True) + epsilon))
    return y if scale is None else op.multiply(y, scale)


_SOFTMAX: dict[str, Callable[[Operand, int], Operand]] = {
    "aten.softmax.int": op.softmax,
    "aten._softmax": op.softmax,
    "aten._safe_softmax": partial(op.softmax, safe=True),
    "aten.log_softmax.int": op.log_softmax,
    "aten._log_softmax": op.log_softmax,
}
"""Softmax along a dimension, and its logarithm; the one called safe is 0 where all elements are minus infinity."""


def _softmax(function: Callable[[Operand, int], Operand]) -> Callable[..., Operand]:
    def imported(node: Node, x: Tensor, axis: int, *options: Any) -> Operand:
        y = node.typed(x)
        return function(y, axis) if node.rank(x) else op.squeeze(function(op.expand_dims(y, 0), 0), 0)

    return imported


for _name, _function in _SOFTMAX.items():
    IMPORTS.add(_softmax(_function), _name)
