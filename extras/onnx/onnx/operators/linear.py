"""Matrix products and sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.dtypes import is_emulated
from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.compositions.conversions import by_floats
from relex.frontend.compositions.einsum import einsum
from relex.frontend.compositions.indexing import LAST, numbers_below, part_at
from relex.frontend.importing.loops import Row, counted
from relex.frontend.importing.values import size_argument
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.import_table import row
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

row("MatMul", op.matmul)


@imports("Gemm")
def gemm(node: OnnxNode, a: Tensor, b: Tensor, c: Tensor | None = None) -> Operand:
    """`alpha * a @ b + beta * c`, of transposed matrices if the attributes say so. As in BLAS, `c` is not looked at if
    `beta` is 0: what is infinite in it does not matter."""
    left: Operand = op.permute_dims(a, [1, 0]) if node.flag("transA") else a
    product: Operand = op.dense(left, b) if node.flag("transB") else op.matmul(left, b)
    terms = [product] if c is None or node.number("beta", 1.0) == 0 else [product, c]
    factors = [node.number(name, 1.0) for name, _ in zip(("alpha", "beta"), terms, strict=False)]

    def total(*terms: Operand) -> Operand:
        return reduce(op.add, (_scaled(node, *term) for term in zip(terms, factors, strict=True)))

    return total(*terms) if all(factor % 1 == 0 for factor in factors) else by_floats(node, total, *terms)


def _scaled(node: OnnxNode, x: Operand, factor: float) -> Operand:
    return x if factor == 1 else op.multiply(x, node.like(factor, x))


MAX_UNROLLED = 32
"""The rows at most of a matrix whose determinant is computed."""


@imports("Det")
def determinant(node: OnnxNode, x: Tensor) -> Operand:
    """The determinants of matrices, by elimination with the largest element of each column as its pivot."""
    *batch, rows, columns = node.shape(x)
    if not isinstance(rows, int) or rows != columns:
        refuse(f"expected square matrices of a size that is known, found {rows} x {columns}")
    if rows > MAX_UNROLLED:
        refuse(f"matrices of more than {MAX_UNROLLED} rows")
    rest = node.reshape(x, [count(batch), rows, rows])
    result = node.full([count(batch)], 1, x.element_type)
    for left in range(rows, 1, -1):
        place = op.argmax(op.abs(part_at(rest, 2, 0)), 1)
        order = Known(np.arange(left))
        chosen = op.expand_dims(place, 1)
        # The pivot's row comes first, and the first row takes its place.
        order = op.where(op.equal(order, 0), chosen, op.where(op.equal(order, chosen), 0, order))
        rest = op.gather_nd(rest, op.expand_dims(order, 2), 1)
        pivot = part_at(part_at(rest, 2, 0), 1, 0)
        moved = op.where(op.equal(place, 0), pivot, op.negative(pivot))
        result = op.multiply(result, moved)
        rest = _eliminated(rest, op.where(op.equal(pivot, node.like(0, x)), node.like(1, x), pivot))
    return node.reshape(op.multiply(result, op.squeeze(rest, [1, 2])) if rows else result, batch)


def _eliminated(matrices: Operand, pivot: Operand) -> Operand:
    """Return the matrices without the first row and column, from each row as much of the first one taken away as makes
    its first element 0."""
    first, others = (op.strided_slice(matrices, [1], [start], [end]) for start, end in ((0, 1), (1, LAST)))
    factors = op.divide(op.strided_slice(others, [2], [0], [1]), op.expand_dims(pivot, [1, 2]))
    return op.strided_slice(op.subtract(others, op.multiply(factors, first)), [2], [1], [LAST])


@imports("Inverse", domain=MICROSOFT)
def inverse(node: OnnxNode, x: Tensor) -> Operand:
    """The inverses of matrices, by elimination with the largest element of each column as its pivot, in a loop."""
    if node.rank(x) < 2:
        refuse(f"expected matrices, found a tensor of rank {node.rank(x)}")
    *batch, rows, columns = node.shape(x)
    node.expect_equal(rows, columns, f"expected square matrices, found {rows} x {columns}")
    rows = rows if isinstance(rows, int) else columns
    if rows == 0:
        return x
    places = numbers_below(rows)
    wide = node.reshape(op.astype(x, f32) if is_emulated(x.element_type) else x, [count(batch), rows, rows])
    one = op.equal(op.expand_dims(places, 1), op.expand_dims(places, 0))
    unit = op.astype(node.broadcast_to(one, [count(batch), rows, rows]), node.element_type(wide))

    def trip(place: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        column = op.take(state[0], place, 2)
        sought = op.argmax(op.where(op.less(places, place), node.like(-1, column), op.abs(column)), 1, True)
        # The pivot's row changes its place with the first one that is left.
        order = op.where(op.equal(places, place), sought, op.where(op.equal(places, sought), place, places))
        swapped = op.gather_nd(state[0], op.expand_dims(order, 2), 1)
        pivots = op.expand_dims(op.take(swapped, place, 1), 1)
        row = op.divide(pivots, op.take(pivots, op.reshape(place, [1]), 2))
        factors = op.take(swapped, op.reshape(place, [1]), 2)
        rest = op.subtract(swapped, op.multiply(factors, row))
        return [op.where(op.expand_dims(op.equal(places, place), 1), row, rest)], []

    found = counted(node.builder, rows, trip, [op.concat(wide, unit, axis=2)])[0]
    size = size_argument(rows)
    return node.reshape(op.astype(op.strided_slice(found, [2], [size], [LAST]), x.element_type), [*batch, rows, rows])


@imports("Einsum")
def sum_of_products(node: OnnxNode, *tensors: Tensor) -> Operand:
    """The sum of products in Einstein's notation."""
    return einsum(node, node.text("equation"), tensors)
