"""Operators that ONNX Runtime had before the standard, or that converters of learnt models write, `com.microsoft`."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from relex.frontend import op
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.indexing import gather_nd, pad
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT
from relex.frontend.onnx.operators.shapes import numbers, triangle

imports("GatherND", domain=MICROSOFT)(gather_nd)
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


@imports("CDist", domain=MICROSOFT)
def distances(node: OnnxNode, a: Tensor, b: Tensor) -> Operand:
    """The distance, or its square, of each row of a matrix from each row of another one."""
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        refuse(f"expected sqeuclidean or euclidean, found {metric}", "metric")
    apart = op.subtract(op.expand_dims(a, 1), op.expand_dims(b, 0))
    squares = op.sum(op.multiply(apart, apart), [2])
    return squares if metric == "sqeuclidean" else op.sqrt(squares)
