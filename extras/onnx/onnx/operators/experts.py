"""Mixtures of experts, `com.microsoft`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i64

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

FUNCTIONS: dict[str, Callable[[Operand], Operand]] = {
    "gelu": activations.gelu_by_tanh,
    "identity": lambda x: x,
    "relu": op.relu,
    "silu": lambda x: activations.swish(x, 1.0),
}
"""The functions between the two layers of an expert."""


@imports("MoE", domain=MICROSOFT)
def mixture(
    node: OnnxNode,
    x: Tensor,
    router: Tensor,
    first: Tensor,
    first_bias: Tensor | None,
    second: Tensor,
    second_bias: Tensor | None = None,
    *gates: Tensor | None,
) -> Operand:
    """The sum of what two layers make of each row, by those experts that have the largest scores, times their share.
    All experts are computed, and those without a share, of which NaN is none, are left out."""
    if any(gate is not None for gate in gates) or node.flag("use_sparse_mixer"):
        refuse("gates that are separate weights, and sparse mixers")
    experts, most = node.shape(first)[0], node.integer("k", 1)
    message = f"expected 1 to {experts} experts for a row, found {most}"
    if most < 1:
        refuse(message)
    node.expect_at_least(experts, most, message)
    sizes = node.shape(x)
    rows = node.tensor(node.reshape(x, [node.shape(router)[0], sizes[-1]]))
    hidden = _layer(op.expand_dims(rows, 0), first, first_bias)
    y = _layer(_activated(node, node.tensor(hidden)), second, second_bias)
    shares = op.expand_dims(op.permute_dims(_shares(node, router, most), [1, 0]), 2)
    counted = op.where(op.greater(shares, 0), op.multiply(y, shares), node.like(0.0, x))
    return node.reshape(op.sum(counted, [0]), sizes)


def _layer(x: Operand, weights: Tensor, bias: Tensor | None) -> Operand:
    """Return what the layer of each expert makes of rows."""
    y = op.matmul(x, op.permute_dims(weights, [0, 2, 1]))
    return y if bias is None else op.add(y, op.expand_dims(bias, 1))


def _shares(node: OnnxNode, router: Tensor, most: int) -> Operand:
    """Return the share of each expert in each row: 0 but for those with the largest scores."""
    chances = node.tensor(op.softmax(router, 1))
    best = op.strided_slice(op.argsort(router, 1, True), [1], [0], [most])
    shares = op.gather_elements(chances, best, 1)
    if node.flag("normalize_routing_weights"):
        shares = op.divide(shares, op.sum(shares, [1], True))
    nothing = node.full(node.shape(router), 0.0, router.element_type)
    return op.scatter_elements(nothing, op.astype(best, i64), shares, 1, "update")


def _activated(node: OnnxNode, x: Tensor) -> Operand:
    name = node.text("activation_type", "relu")
    if name in FUNCTIONS:
        return FUNCTIONS[name](x)
    if name != "swiglu" or node.integer("swiglu_fusion") != 1 or node.flag("swiglu_limit_after_activation"):
        refuse(f"expected an activation among {', '.join(FUNCTIONS)} and swiglu of pairs, found {name}")
    gate, linear = (op.strided_slice(x, [2], [start], [node.static_shape(x, first=2)[0]], [2]) for start in (0, 1))
    if node.has("swiglu_limit"):
        limit = node.number("swiglu_limit")
        gate, linear = op.minimum(gate, limit), op.clip(linear, -limit, limit)
    gate = activations.swish(gate, node.number("activation_alpha", 1.0))
    return op.multiply(gate, op.add(linear, node.number("activation_beta")))
