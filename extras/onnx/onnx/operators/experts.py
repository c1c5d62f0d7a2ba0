"""Mixtures of experts, `com.microsoft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.indexing import LAST
from relex.frontend.importing.loops import Row, counted
from relex.frontend.importing.regions import zeros
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.block_quantized import unpacked
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

FUNCTIONS: dict[str, Callable[[Operand], Operand]] = {
    "gelu": activations.gelu_by_tanh,
    "identity": lambda x: x,
    "relu": lambda x: op.where(op.greater(x, 0.0), x, 0.0),
    "silu": lambda x: activations.swish(x, 1.0),
}
"""The functions between the two layers of an expert. Of NaN, `relu` makes 0, as ONNX Runtime does."""


@dataclass(frozen=True)
class Layer:
    """A layer of each expert."""

    node: OnnxNode
    weights: Tensor
    """A matrix for each expert, with a row for each result; packed if there are scales."""
    bias: Tensor | None
    scales: Tensor | None = None
    offsets: Tensor | None = None
    """The zero points, packed as the weights are."""

    def applied(self, x: Operand, expert: Tensor) -> Operand:
        """Return what the layer of an expert makes of rows of `f32`."""
        y = op.dense(x, self._matrix(expert))
        return y if self.bias is None else op.add(y, op.astype(op.take(self.bias, expert, 0), f32))

    def _matrix(self, expert: Tensor) -> Operand:
        """Return the matrix of an expert in `f32`."""
        matrix = op.take(self.weights, expert, 0)
        if self.scales is None:
            return op.astype(matrix, f32)
        node, bits = self.node, self.node.integer("expert_weight_bits", 4)
        rows, width = node.static_shape(unpacked(node, matrix, bits), "sizes of experts")
        blocks = node.static_shape(self.scales, "sizes of scales")[2] if node.rank(self.scales) == 3 else 1
        offsets: Operand = Known(np.array(2 ** (bits - 1), np.int32))
        if self.offsets is not None:
            numbers = unpacked(node, op.take(self.offsets, expert, 0), bits)
            numbers = op.strided_slice(numbers, [-1], [0], [blocks if node.rank(self.scales) == 3 else rows])
            offsets = node.reshape(numbers, [rows, blocks, 1])
        digits = node.reshape(unpacked(node, matrix, bits), [rows, blocks, width // blocks])
        factors = node.reshape(op.astype(op.take(self.scales, expert, 0), f32), [rows, blocks, 1])
        return node.reshape(op.multiply(op.astype(op.subtract(digits, offsets), f32), factors), [rows, width])


@imports("MoE", domain=MICROSOFT)
def mixture(node: OnnxNode, x: Tensor, router: Tensor, *given: Tensor | None) -> Operand:
    """The sum of what two layers make of each row, by those experts that have the largest scores, times their share."""
    pairs = [*given, *[None] * (6 - len(given))]
    first, second, gate = (
        None if w is None else Layer(node, w, b) for w, b in zip(pairs[::2], pairs[1::2], strict=True)
    )
    return _mixed(node, x, router, first, second, gate, _shares)


@imports("QMoE", domain=MICROSOFT)
def quantized_mixture(node: OnnxNode, x: Tensor, router: Tensor, *given: Tensor | None) -> Operand:
    """The same with weights of a few bits, which have a scale for each row or for each block of it."""
    if node.text("quant_type", "int") != "int" or any(node.has(f"fc{i}_expert_weight_bits") for i in (1, 2, 3)):
        refuse("weights of floats, and layers that differ in bits", "quant_type")
    if node.integer("expert_weight_bits", 4) not in (2, 4, 8):
        refuse(f"expected numbers of 2, 4 or 8 bits, found {node.integer('expert_weight_bits')}", "expert_weight_bits")
    inputs = [*given, *[None] * (18 - len(given))]
    if any(more is not None for more in inputs[13:]):
        refuse("scales of whole experts, and of what they are multiplied by")
    parts = zip(inputs[:9:3], inputs[2:9:3], inputs[1:9:3], inputs[9:12], strict=True)
    first, second, gate = (
        None if weights is None else Layer(node, weights, bias, scales, offsets)
        for weights, bias, scales, offsets in parts
    )
    return _mixed(node, x, router, first, second, gate, partial(_shares_of_best, inputs[12]))


def _mixed(
    node: OnnxNode,
    x: Tensor,
    router: Tensor,
    first: Layer | None,
    second: Layer | None,
    gate: Layer | None,
    shares_of: Callable[[OnnxNode, Operand, Operand], Operand],
) -> Operand:
    """Return the sum for each row. Rows are sorted by their experts, and each expert has its rows in a trip of a loop:
    experts without rows take no time, and what they would make of other rows, as NaN, does not matter."""
    if first is None or second is None:
        refuse("expected two layers, found none")
    if node.flag("use_sparse_mixer"):
        refuse("sparse mixers", "use_sparse_mixer")
    experts, most = node.shape(first.weights)[0], node.integer("k", 1)
    message = f"expected 1 to {experts} experts for a row, found {most}"
    if most < 1:
        refuse(message)
    node.expect_at_least(experts, most, message)
    sizes, (count, _) = node.shape(x), node.shape(router)
    rows = node.tensor(op.astype(node.reshape(x, [count, sizes[-1]]), f32))
    scores = node.tensor(op.astype(router, f32))
    best = node.tensor(_best(scores, experts, most))
    shares = node.tensor(shares_of(node, scores, best))
    # What has no share, of which NaN is none, belongs to no expert.
    counts = node.tensor(op.greater(shares, 0))
    taken = node.tensor(node.reshape(op.where(counts, best, Known(-1)), [count * most]))
    order = node.tensor(op.argsort(taken, 0))
    names, _, _, numbers = node.emit_results(op.unique(taken))
    ends = node.tensor(op.cumsum(numbers, 0))

    def trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        end = op.take(ends, i, 0)
        begin, expert = op.subtract(end, op.take(numbers, i, 0)), node.tensor(op.take(names, i, 0))
        end = op.where(op.less(expert, 0), begin, end)
        expert = node.tensor(op.maximum(expert, 0))
        places = node.tensor(op.take(order, op.arange(begin, end, Known(1)), 0))
        part = node.tensor(op.take(rows, op.floor_divide(places, most), 0))
        hidden = node.tensor(first.applied(part, expert))
        inner = _activated(node, hidden, None if gate is None else gate.applied(part, expert))
        y = second.applied(inner, expert)
        return [op.scatter_nd(state[0], op.expand_dims(places, 1), y)], []

    whole = zeros([count * most, sizes[-1]], f32)
    found = counted(node.builder, node.shape(names)[0], trip, [whole])[0]
    apart = node.reshape(found, [count, most, sizes[-1]])
    total = op.sum(op.multiply(apart, op.expand_dims(op.where(counts, shares, 0), 2)), [1])
    return op.astype(node.reshape(total, sizes), x.element_type)


def _best(scores: Operand, experts: Size, most: int) -> Operand:
    """Return the experts with the largest scores of each row. Of experts with equal scores, the last ones count, as in
    ONNX Runtime."""
    backwards = op.strided_slice(scores, [1], [-1], [-LAST], [-1])
    order = op.argsort(backwards, 1, True)
    return op.subtract(Known(experts - 1), op.strided_slice(order, [1], [0], [most]))


def _shares(node: OnnxNode, scores: Operand, best: Operand) -> Operand:
    """Return the shares of the best experts of each row: by default, of all of them."""
    shares = op.gather_elements(op.softmax(scores, 1), best, 1)
    return op.divide(shares, op.sum(shares, [1], True)) if node.flag("normalize_routing_weights") else shares


def _shares_of_best(weights: Tensor | None, node: OnnxNode, scores: Operand, best: Operand) -> Operand:
    """Return the shares of the best experts of each row: of them only, or as they are given."""
    if weights is None:
        return op.softmax(op.gather_elements(scores, best, 1), 1)
    shares = op.gather_elements(op.astype(weights, f32), best, 1)
    return op.divide(shares, op.sum(shares, [1], True)) if node.flag("normalize_routing_weights") else shares


def _activated(node: OnnxNode, x: Operand, linear: Operand | None) -> Operand:
    name, width = node.text("activation_type", "relu"), node.static_shape(x, first=1)[0]
    if name in FUNCTIONS:
        return FUNCTIONS[name](x) if linear is None else op.multiply(FUNCTIONS[name](x), linear)
    fusion = node.integer("swiglu_fusion")
    if name != "swiglu" or (fusion == 0) != (linear is not None) or node.flag("swiglu_limit_after_activation"):
        refuse(f"expected an activation among {', '.join(FUNCTIONS)} and swiglu of pairs, found {name}")
    if linear is None and fusion == 1:
        gate, linear = (op.strided_slice(x, [1], [start], [width], [2]) for start in (0, 1))
    elif linear is None:
        gate, linear = (op.strided_slice(x, [1], [start], [start + width // 2]) for start in (0, width // 2))
    else:
        gate = x
    if node.has("swiglu_limit"):
        limit = node.number("swiglu_limit")
        gate, linear = op.minimum(gate, limit), op.clip(linear, -limit, limit)
    gate = activations.swish(gate, node.number("activation_alpha", 1.0))
    return op.multiply(gate, op.add(linear, node.number("activation_beta")))
