"""Matrices in batches, the first of three dimensions: their parts, and what a loop over their columns needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import numbers_below
from relex.frontend.importing.loops import Trip, counted
from relex.frontend.importing.values import size_argument
from relex.frontend.torch import Operand, Tensor, TorchNode


def batched(node: TorchNode, x: Operand) -> Tensor:
    """Return matrices in one batch."""
    *batch, rows, columns = node.shape(x)
    return node.tensor(node.reshape(x, [count(batch), rows, columns]))


def again(node: TorchNode, found: Operand, x: Operand, lost: int = 2) -> Operand:
    """Return a result for each matrix of a batch in the dimensions of another tensor's batch."""
    shape = node.shape(x)
    return node.reshape(found, [*shape[: len(shape) - lost], *node.shape(found)[1:]])


def flipped(x: Operand) -> Operand:
    """Return transposed matrices of a batch."""
    return op.permute_dims(x, [0, 2, 1])


def at(x: Operand, place: Operand, axis: int) -> Operand:
    return op.take(x, place, axis)


def leading(x: Operand, number: Size, axis: int) -> Operand:
    """Return as many rows or columns."""
    return op.strided_slice(x, [axis], [0], [size_argument(number)])


def outer(column: Operand, row: Operand) -> Operand:
    """Return the products of columns and rows of a batch."""
    return op.multiply(op.expand_dims(column, 2), op.expand_dims(row, 1))


def reduced(x: Operand, column: Operand, row: Operand, is_changed: Operand) -> Operand:
    """Return matrices less the products of columns and rows, where a mask says so: elsewhere, zeros in place of the
    factors would make NaN of what is infinite."""
    return op.where(is_changed, op.subtract(x, outer(column, row)), x)


def over_columns(node: TorchNode, number: Size, trip: Trip, first: Sequence[Operand]) -> list[Tensor]:
    """Run a loop over the columns of matrices, of which there may be none to take."""
    if number == 0:
        return [node.tensor(x) for x in first]
    return counted(node.builder, number, trip, first)


def identity(node: TorchNode, x: Tensor, size: Size) -> Operand:
    """Return an identity matrix for each matrix of a batch."""
    numbers = numbers_below(size)
    ones = op.astype(op.equal(op.expand_dims(numbers, 1), op.expand_dims(numbers, 0)), x.element_type)
    return node.broadcast_to(ones, [node.shape(x)[0], size, size])


def triangle(node: TorchNode, x: Operand, keeps: Callable[[Operand, Operand], Operand]) -> Operand:
    """Return matrices of a batch with zeros where a comparison of the row with the column is false."""
    rows, columns = (numbers_below(size) for size in node.shape(x)[1:])
    return op.where(keeps(op.expand_dims(rows, 1), op.expand_dims(columns, 0)), x, node.like(0, x))
