"""Matrix products of groups of rows, each with a matrix of its group, such as products of the experts of a mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.truth import all_of
from relex.frontend.importing.loops import Row, counted
from relex.frontend.importing.regions import zeros
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports


@imports("aten._grouped_mm", "transformers.grouped_mm_fallback")
def grouped_products(
    node: TorchNode, x: Tensor, y: Tensor, ends: Tensor | None = None, bias: object = None, dtype: object = None
) -> Operand:
    """The products of groups of matrices. Where one of both operands is a single matrix, its rows or columns belong to
    one group after another, and `ends` has the end of each; where both are, so do the numbers that are summed.

    Rows after the last group are zeros; torch leaves them undefined. It takes neither a bias nor another type of the
    result.
    """
    if ends is None:
        return op.matmul(x, y)
    if node.rank(x) == 3:
        columns, matrices = node.tensor(op.permute_dims(y, [1, 0])), node.tensor(op.permute_dims(x, [0, 2, 1]))
        return op.permute_dims(_rows_by_group(node, columns, matrices, ends), [1, 0])
    return _rows_by_group(node, x, y, ends) if node.rank(y) == 3 else _parts_of_sums(node, x, y, ends)


def _rows_by_group(node: TorchNode, x: Tensor, matrices: Tensor, ends: Tensor) -> Operand:
    """Return the products of groups of rows with a matrix for each group."""
    rows = node.shape(x)[0]
    first, last = _bounds(node, ends, rows)

    def trip(group: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        places = _places(node, first, last, group)
        product = op.matmul(op.take(x, places, 0), op.take(matrices, group, 0))
        return [op.scatter_nd(state[0], op.expand_dims(places, 1), product)], []

    whole = zeros((rows, node.shape(matrices)[2]), node.result_type)
    return counted(node.builder, node.shape(matrices)[0], trip, [whole])[0]


def _parts_of_sums(node: TorchNode, x: Tensor, y: Tensor, ends: Tensor) -> Operand:
    """Return the products of groups of columns with the groups of rows of the same numbers."""
    first, last = _bounds(node, ends, node.shape(y)[0])

    def trip(group: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        places = _places(node, first, last, group)
        return [], [Row(op.matmul(op.take(x, places, 1), op.take(y, places, 0)), group)]

    return counted(node.builder, node.shape(ends)[0], trip, [])[0]


def _bounds(node: TorchNode, ends: Tensor, length: Size) -> tuple[Tensor, Tensor]:
    """Return the first place of each group and the place after its last one. The program checks that they are in order
    and in range."""
    last = node.typed(ends, i64)
    first = node.tensor(op.strided_slice(op.concat(Known(np.zeros(1, np.int64)), last, axis=0), [0], [0], [-1]))
    in_order = op.logical_and(op.less_equal(first, last), op.less_equal(last, Known([length])))
    node.expect(all_of(node, in_order), "expected ascending ends of groups, of at most the size of the dimension")
    return first, last


def _places(node: TorchNode, first: Tensor, last: Tensor, group: Tensor) -> Tensor:
    """Return the places of a group."""
    begin, end = (op.take(bounds, group, 0) for bounds in (first, last))
    return node.tensor(op.arange(begin, end, Known(1)))
