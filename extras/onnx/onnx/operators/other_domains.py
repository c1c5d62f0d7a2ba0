"""Operators that ONNX Runtime had before the standard, or that converters of learnt models write, `com.microsoft`."""

from __future__ import annotations

from functools import reduce

from xdsl.dialects.builtin import f32, i32

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.indexing import expect_in_range, part_at, stacked, windows_along
from relex.frontend.compositions.truth import any_of
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.fused_layers import embed_layer_norm
from relex.frontend.onnx.operators.indexing import gather_nd, pad
from relex.frontend.onnx.operators.quantization import dequantize, quantized_conv
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT
from relex.frontend.onnx.operators.sampling import grid_sample
from relex.frontend.onnx.operators.shapes import numbers, triangle
from relex.frontend.onnx.operators.windows import in_channels_last

imports("GatherND", domain=MICROSOFT)(gather_nd)
imports("GridSample", domain=MICROSOFT)(grid_sample)
imports("Pad", domain=MICROSOFT)(pad)
imports("Trilu", domain=MICROSOFT)(triangle)


@imports("Range", domain=MICROSOFT)
def numbers_by(node: OnnxNode, start: Tensor, limit: Tensor, delta: Tensor | None = None) -> Operand:
    """Numbers with equal distances, by default of 1."""
    return numbers(node, start, limit, node.like(1, start) if delta is None else delta)


@imports("ExpandDims", domain=MICROSOFT)
def expand_dims(node: OnnxNode, x: Tensor, axis: Tensor) -> Operand:
    """The tensor with a new dimension of size 1."""
    return op.expand_dims(x, int(node.known_number(axis, "an axis")))


@imports("Unique", domain=MICROSOFT)
def unique_in_order(node: OnnxNode, x: Tensor) -> list[Operand]:
    """The different elements in the order in which they come first, where each element is among them, and counts."""
    values, first, inverse, counts = node.emit_results(op.unique(x))
    order = node.tensor(op.argsort(first, 0, False))
    ranks = op.argsort(order, 0, False)
    return [op.take(values, order, 0), op.take(ranks, inverse, 0), op.take(counts, order, 0)]


@imports("MatMulInteger16", domain=MICROSOFT)
def matmul_of_16_bits(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """The matrix product of integers."""
    return op.matmul(op.astype(a, i32), op.astype(b, i32))


@imports("IsAllFinite", domain=MICROSOFT)
def are_all_finite(node: OnnxNode, *tensors: Tensor) -> Operand:
    """Whether no element is infinite or NaN, or one of both."""

    def bad(x: Tensor) -> Operand:
        if node.flag("isnan_only"):
            return op.isnan(x)
        return op.isinf(x) if node.flag("isinf_only") else op.logical_not(op.isfinite(x))

    return reduce(op.logical_and, [op.logical_not(any_of(node, bad(x))) for x in tensors])


@imports("BiasSoftmax", domain=MICROSOFT)
def biased_softmax(node: OnnxNode, x: Tensor, bias: Tensor) -> Operand:
    """The shares of a sum, over all dimensions from one on."""
    sizes, axis = node.shape(x), node.axis(x, default=1)
    rows = node.reshape(op.add(x, bias), [count(sizes[:axis]), count(sizes[axis:])])
    return node.reshape(op.softmax(rows, 1), sizes)


@imports("ComplexMul", "ComplexMulConj", domain=MICROSOFT)
def complex_product(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """The product of complex numbers, the second of them conjugated or not; their parts are the last dimension."""
    (x, y), (u, v) = ((part_at(t, -1, 0), part_at(t, -1, 1)) for t in (a, b))
    v = v if node.proto.op_type == "ComplexMul" else op.negative(v)
    real = op.subtract(op.multiply(x, u), op.multiply(y, v))
    return stacked([real, op.add(op.multiply(x, v), op.multiply(y, u))], -1)


@imports("TorchEmbedding", domain=MICROSOFT)
def rows_of_table(node: OnnxNode, table: Tensor, indices: Tensor, *of_training: Tensor | None) -> Operand:
    """The rows of a table at indices."""
    expect_in_range(node, indices, node.shape(table)[0], from_end=False)
    return op.take(table, indices, 0)


@imports("CDist", domain=MICROSOFT)
def distances(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """The distance, or its square, of each row of a matrix from each row of another one."""
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        refuse(f"expected sqeuclidean or euclidean, found {metric}", "metric")
    apart = op.subtract(op.expand_dims(a, 1), op.expand_dims(b, 0))
    squares = op.sum(op.multiply(apart, apart), [2])
    return squares if metric == "sqeuclidean" else op.sqrt(squares)


@imports("UnfoldTensor", domain=MICROSOFT)
def unfold(node: OnnxNode, x: Tensor) -> Operand:
    """Windows along a dimension, whose elements are the last dimension."""
    size, step = node.integer("size"), node.integer("step", 1)
    if min(size, step) < 1:
        refuse(f"expected a size and a step of 1 or more, found {size} and {step}")
    return windows_along(node, x, node.axis(x, "dim", -1), size, step)


@imports("GatedAdd", domain=MICROSOFT)
def gated_sum(node: OnnxNode, x: Tensor, y: Tensor, gate: Tensor, weight: Tensor | None = None) -> Operand:
    """A sum with the product of a tensor and of a number for each row."""
    if weight is not None:
        refuse("a gate that is computed from weights")
    return op.add(x, op.multiply(y, gate))


@imports("ScaledSiLU", domain=MICROSOFT)
def scaled_swish(node: OnnxNode, x: Tensor, scale: Tensor | None = None) -> Operand:
    """A multiple of a tensor times the logistic function of it, each as it is stored."""
    wide = op.astype(x, f32)
    factor = node.number("alpha", 1.0) if scale is None else op.astype(op.reshape(scale, []), f32)
    scaled = op.astype(op.multiply(wide, factor), x.element_type)
    logistic = op.astype(op.sigmoid(op.astype(scaled, f32)), x.element_type)
    return op.multiply(scaled, logistic)


@imports("GatedRMSNorm", domain=MICROSOFT)
def gated_rms_norm(node: OnnxNode, x: Tensor, scale: Tensor, gate: Tensor) -> Operand:
    """Groups of elements divided by the root of their mean square, times a function of a gate."""
    name, *sizes = node.text("activation", "silu"), *node.shape(x)
    if name not in ("silu", "swish", "sigmoid"):
        refuse(f"expected silu, swish or sigmoid, found {name}", "activation")
    (group,) = node.static_shape(scale)
    grouped = node.tensor(op.astype(node.reshape(x, [*sizes[:-1], sizes[-1] // group, group]), f32))
    mean = op.mean(op.multiply(grouped, grouped), [-1], True)
    normal = op.divide(grouped, op.sqrt(op.add(mean, node.number("epsilon", 1e-5))))
    y = node.reshape(op.multiply(normal, op.astype(scale, f32)), sizes)
    wide = op.astype(gate, f32)
    opened = op.sigmoid(wide) if name == "sigmoid" else activations.swish(wide, 1.0)
    return op.astype(op.multiply(y, opened), x.element_type)


@imports("QLinearConv", domain=MICROSOFT)
def quantized_conv_of_any_layout(node: OnnxNode, x: Tensor, *others: Tensor) -> Operand:
    """A convolution of quantized tensors, quantized, whose channels may be the last dimension."""
    if not node.flag("channels_last"):
        return quantized_conv(node, x, *others)
    return in_channels_last(node, lambda data: quantized_conv(node, data, *others), x)


@imports("QEmbedLayerNormalization", domain=MICROSOFT)
def quantized_embed_layer_norm(
    node: OnnxNode, ids: Tensor, segments: Tensor | None, *inputs: Tensor | None
) -> list[Operand]:
    """A normalized sum of rows of quantized tables: of words, places and segments; then the factors and addends of the
    elements, a mask, and the scales and zero points of these tensors."""
    if len(inputs) != 16:
        refuse(f"expected 18 inputs, found {2 + len(inputs)}")
    tables, mask, scales, zeros = inputs[:5], inputs[5], inputs[6:11], inputs[11:]
    words, places, kinds, gamma, beta = (
        None if x is None or scale is None else node.tensor(dequantize(node, x, scale, zero))
        for x, scale, zero in zip(tables, scales, zeros, strict=True)
    )
    if words is None or places is None or gamma is None or beta is None:
        refuse("expected tables of words and places, and factors, with scales")
    return embed_layer_norm(node, ids, segments, words, places, kinds, gamma, beta, mask)[:2]
