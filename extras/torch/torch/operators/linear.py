"""Matrix products, sums of products and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from xdsl.dialects.builtin import i1

from relex.frontend import op
from relex.frontend.compositions.attention import repeated_heads
from relex.frontend.compositions.einsum import einsum
from relex.frontend.compositions.indexing import diagonal_mask
from relex.frontend.torch import Operand, Tensor, TorchNode, imports, refuse


@imports("aten.mm", "aten.bmm", "aten.matmul", "aten.mv", "aten.dot")
def matmul(node: TorchNode, x: Tensor, y: Tensor) -> Operand:
    """The matrix product."""
    return op.matmul(x, y)


@imports("aten.linear")
def linear(node: TorchNode, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Operand:
    """The product with a transposed weight."""
    y: Operand = op.matmul(x, weight) if node.rank(weight) == 1 else op.dense(x, weight)
    return y if bias is None else op.add(y, bias)


@imports("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(node: TorchNode, bias: Tensor, x: Tensor, y: Tensor, beta: float, alpha: float) -> Operand:
    """A matrix product and another tensor, both scaled; integers by what is before the point of the factors."""
    product = op.matmul(x, y)
    scaled = product if alpha == 1 else op.multiply(product, node.like(alpha, x))
    if beta == 0:
        return scaled
    return op.add(scaled, bias if beta == 1 else op.multiply(bias, node.like(beta, bias)))


@imports("aten.addbmm")
def sum_of_products_added(node: TorchNode, bias: Tensor, x: Tensor, y: Tensor, beta: float, alpha: float) -> Operand:
    """The sum of the products of pairs of matrices, and another tensor, both scaled."""
    batch, rows, inner = node.shape(x)
    left = node.reshape(op.permute_dims(x, [1, 0, 2]), [rows, batch * inner])
    right = node.reshape(y, [batch * inner, node.shape(y)[2]])
    return addmm(node, bias, node.tensor(left), node.tensor(right), beta, alpha)


@imports("aten._trilinear")
def sum_of_three(
    node: TorchNode,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    new_in_x: Sequence[int],
    new_in_y: Sequence[int],
    new_in_z: Sequence[int],
    summed: Sequence[int],
    unrolled: int = 1,
) -> Operand:
    """The sums of the products of three tensors, each of which is repeated along some dimensions."""
    a, b, c = (
        op.expand_dims(part, list(axes)) if axes else part
        for part, axes in ((x, new_in_x), (y, new_in_y), (z, new_in_z))
    )
    return op.sum(op.multiply(op.multiply(a, b), c), list(summed))


@imports("aten.einsum")
def sum_of_products(node: TorchNode, equation: str, tensors: Sequence[Tensor], path: object = None) -> Operand:
    """The sum of products in Einstein's notation."""
    return einsum(node, equation, tensors)


@imports("aten.scaled_dot_product_attention")
def attention(
    node: TorchNode,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Operand:
    """The values weighted by the softmax of the products of queries and keys."""
    if dropout:
        refuse("dropout in training")
    if enable_gqa:
        heads, wanted = (node.closed(node.shape(x)[1], "a dynamic number of heads") for x in (key, query))
        key, value = (node.tensor(repeated_heads(node, x, wanted // heads)) for x in (key, value))
    width = node.closed(node.shape(query)[-1], "attention over vectors of a dynamic size: {}")
    factor = 1 / sqrt(width) if scale is None else scale
    last = list(range(node.rank(key)))
    last[-2], last[-1] = last[-1], last[-2]
    scores: Operand = op.matmul(op.multiply(query, float(factor)), op.permute_dims(key, last))
    if is_causal:
        rows, columns = node.shape(scores)[-2:]
        allowed = diagonal_mask(rows, columns, 0, op.less_equal)
        scores = op.where(allowed, scores, -np.inf)
    if mask is not None:
        scores = op.add(scores, _added(node, mask, scores))
    return op.matmul(op.softmax(scores, -1, safe=True), value)


def _added(node: TorchNode, mask: Tensor, scores: Operand) -> Operand:
    """Return the numbers that a mask adds to scores, so that NaN stays NaN where it is hidden."""
    if mask.element_type != i1:
        return mask
    return op.where(mask, node.like(0.0, scores), node.like(-np.inf, scores))


@imports("aten.cosine_similarity")
def cosine_similarity(node: TorchNode, x: Tensor, y: Tensor, axis: int, epsilon: float) -> Operand:
    """The cosine of the angle between vectors."""
    product = op.sum(op.multiply(x, y), axis)
    norms = [op.maximum(op.sqrt(op.sum(op.multiply(z, z), axis)), epsilon) for z in (x, y)]
    return op.divide(product, op.multiply(*norms))
