"""Layers that ONNX Runtime's optimizer makes of several operators, `com.microsoft`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import f32, i32, i64

from relex.dialects.dtypes import is_emulated
from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.conversions import gelu, rounded_once
from relex.frontend.compositions.indexing import expect_in_range, numbers_below
from relex.frontend.compositions.softmax import standardized
from relex.frontend.importing.values import with_node
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.import_table import row
from relex.frontend.onnx.operators.activations import hard_line
from relex.frontend.onnx.operators.linear import gemm
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT
from relex.frontend.onnx.operators.windows import conv


def _matrices(node: OnnxNode, x: Tensor, name: str) -> Operand:
    """Return an operand of a product, whose matrices the attributes may transpose; their rows may come first."""
    rank = node.rank(x)
    order = list(range(rank))
    if node.flag(f"transBatch{name}") and rank > 2:
        order = [*order[1:-1], 0, order[-1]]
    if node.flag(f"trans{name}") and rank > 1:
        order[-2:] = order[:-3:-1]
    return x if order == list(range(rank)) else op.permute_dims(x, order)


@imports("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """A matrix product of transposed operands, times a number."""
    product = op.matmul(_matrices(node, a, "A"), _matrices(node, b, "B"))
    alpha = node.number("alpha", 1.0)
    return product if alpha == 1 else op.multiply(product, node.like(alpha, a))


ACTIVATIONS: dict[str, Callable[..., Operand]] = {
    "Clip": op.clip,
    "HardSigmoid": hard_line,
    "LeakyRelu": activations.leaky_relu,
    "Relu": op.relu,
    "Sigmoid": op.sigmoid,
    "Tanh": op.tanh,
}
"""The functions of elements of which a convolution may be the operand."""


@imports("FusedConv", domain=MICROSOFT)
def fused_conv(
    node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None, other: Tensor | None = None
) -> Operand:
    """A function of a convolution, to which a tensor may be added."""
    y = conv(node, x, weight, bias)
    return _activated(node, y if other is None else op.add(y, other), node.numbers("activation_params") or [])


@imports("FusedGemm", domain=MICROSOFT)
def fused_gemm(node: OnnxNode, a: Tensor, b: Tensor, c: Tensor | None = None) -> Operand:
    """A function of a product of matrices, to which a tensor may be added."""
    return _activated(node, gemm(node, a, b, c), _activation_numbers(node))


@imports("FusedMatMulActivation", domain=MICROSOFT)
def fused_matmul_and_activation(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """A function of a matrix product of transposed operands, times a number."""
    return _activated(node, fused_matmul(node, a, b), _activation_numbers(node))


@imports("GemmFastGelu", domain=MICROSOFT)
def matmul_and_gelu(node: OnnxNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """The Gaussian error linear unit of a matrix product, by a hyperbolic tangent."""
    return _biased_gelu(node, node.tensor(op.matmul(x, weight)), bias, approximate="tanh")


def _activation_numbers(node: OnnxNode) -> list[float]:
    return [node.number(name) for name in ("activation_alpha", "activation_beta") if node.has(name)]


def _activated(node: OnnxNode, y: Operand, numbers: Sequence[float]) -> Operand:
    """Return the function that an attribute names of a tensor and of numbers."""
    name = node.text("activation")
    if name and name not in ACTIVATIONS:
        refuse(f"expected an activation among {', '.join(ACTIVATIONS)}, found {name}", "activation")
    return ACTIVATIONS[name](y, *numbers) if name else y


def _biased_gelu(node: OnnxNode, x: Tensor, bias: Tensor | None = None, *, approximate: str) -> Operand:
    return gelu(node, x if bias is None else op.add(x, bias), approximate)


row("BiasGelu", partial(_biased_gelu, approximate="none"), with_node, domain=MICROSOFT)
row("Gelu", partial(_biased_gelu, approximate="none"), with_node, domain=MICROSOFT)
row("FastGelu", partial(_biased_gelu, approximate="tanh"), with_node, domain=MICROSOFT)


@imports("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: OnnxNode, x: Tensor) -> Operand:
    """`x` times a logistic function of a multiple of it."""
    return rounded_once(node, activations.swish, x, node.number("alpha", 1.702))


def _wide(node: OnnxNode, x: Operand) -> Operand:
    """Return floats of 32 bits at least."""
    return op.astype(x, f32) if is_emulated(node.element_type(x)) else x


def normalized(
    node: OnnxNode, x: Operand, gamma: Tensor, beta: Tensor | None, is_centred: bool, axes: Sequence[int] = (-1,)
) -> list[Operand]:
    """Return the last dimensions divided by their deviation, or by the root of their mean square, as it is stored; with
    the mean and the reciprocal that is multiplied by."""
    along = [*axes]
    epsilon = node.number("epsilon", 1e-12 if is_centred else 1e-5)
    if is_centred:
        normal, mean, inverse = standardized(x, along, epsilon)
    else:
        mean = op.mean(x, along, True)
        inverse = op.divide(1.0, op.sqrt(op.add(op.mean(op.multiply(x, x), along, True), epsilon)))
        normal = op.multiply(x, inverse)
    y = op.multiply(normal, _wide(node, gamma))
    y = y if beta is None else op.add(y, _wide(node, beta))
    return [op.astype(y, gamma.element_type), mean, inverse]


def _with_skip(node: OnnxNode, x: Tensor, skip: Tensor, bias: Tensor | None) -> Operand:
    total = op.add(_wide(node, x), _wide(node, skip))
    return total if bias is None else op.add(total, _wide(node, bias))


@imports("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(
    node: OnnxNode, x: Tensor, skip: Tensor, gamma: Tensor, beta: Tensor | None = None, bias: Tensor | None = None
) -> list[Operand]:
    """A normalized sum, and the sum."""
    total = _with_skip(node, x, skip, bias)
    return [*normalized(node, total, gamma, beta, is_centred=True), op.astype(total, x.element_type)]


@imports("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_norm(node: OnnxNode, x: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None = None) -> list[Operand]:
    """A sum divided by the root of its mean square, and the sum."""
    total = _with_skip(node, x, skip, bias)
    return [*normalized(node, total, gamma, None, is_centred=False), op.astype(total, x.element_type)]


@imports("SimplifiedLayerNormalization")
def rms_norm(node: OnnxNode, x: Tensor, gamma: Tensor) -> list[Operand]:
    """A tensor divided by the root of its mean square, and the reciprocal of that."""
    axes = range(node.axis(x, default=-1), node.rank(x))
    y, _, inverse = normalized(node, _wide(node, x), gamma, None, is_centred=False, axes=axes)
    return [y, inverse]


@imports("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(
    node: OnnxNode,
    ids: Tensor,
    segments: Tensor | None,
    words: Tensor,
    places: Tensor,
    kinds: Tensor | None,
    gamma: Tensor,
    beta: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
) -> list[Operand]:
    """A normalized sum of rows of tables for words, places and segments; how many words of each text count; the sum."""

    def rows(table: Tensor, indices: Tensor) -> Operand:
        expect_in_range(node, indices, node.shape(table)[0], from_end=False)
        return _wide(node, op.take(table, op.astype(indices, i64), 0))

    batch, length = node.shape(ids)
    order = node.tensor(op.expand_dims(numbers_below(length), 0)) if positions is None else positions
    total = op.add(rows(words, ids), rows(places, order))
    if segments is not None and kinds is not None:
        total = op.add(total, rows(kinds, segments))
    counted = node.full([batch], 0, i32) if mask is None else op.sum(op.astype(op.equal(mask, 1), i32), [1])
    y, *_ = normalized(node, total, gamma, beta, is_centred=True)
    return [y, counted, op.astype(total, words.element_type)]
