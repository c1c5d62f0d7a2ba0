"""Matrix products and sums of products."""

from __future__ import annotations

from relex.frontend import op
from relex.frontend.compositions.einsum import einsum
from relex.frontend.expressions import Operand
from relex.frontend.onnx.node import Node
from relex.frontend.onnx.table import imports
from relex.frontend.onnx.values import Tensor


@imports("MatMul")
def matmul(node: Node, a: Tensor, b: Tensor) -> Operand:
    """The matrix product of NumPy."""
    return op.matmul(a, b)


@imports("Gemm")
def gemm(node: Node, a: Tensor, b: Tensor, c: Tensor | None = None) -> Operand:
    """`alpha * a @ b + beta * c`, of transposed matrices if the attributes say so."""
    left: Operand = op.permute_dims(a, [1, 0]) if node.flag("transA") else a
    product: Operand = op.dense(left, b) if node.flag("transB") else op.matmul(left, b)
    product = _scaled(node, product, node.number("alpha"))
    return product if c is None else op.add(product, _scaled(node, c, node.number("beta")))


def _scaled(node: Node, x: Operand, factor: float) -> Operand:
    return x if factor == 1 else op.multiply(x, node.like(factor, x))


@imports("Einsum")
def sum_of_products(node: Node, *tensors: Tensor) -> Operand:
    """The sum of products in Einstein's notation."""
    return einsum(node, node.text("equation"), tensors)
