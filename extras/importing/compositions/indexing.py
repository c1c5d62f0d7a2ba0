"""Positions along dimensions, and parts of tensors there: taken out, ordered and put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.arrays import Array
from relex.dialects.dtypes import DTYPES
from relex.dialects.sizes import IndexExpr, Size, count, larger, never_negative
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.size_arithmetic import Element, UndecidedError, ceil, difference, quotient
from relex.frontend.importing.values import Known, Tensor, refuse, size_argument

LAST = 2**63 - 1
"""The end of every dimension."""


def along(numbers: Array, axis: int, rank: int) -> Array:
    """Return numbers along one dimension of a tensor, in a shape that broadcasts."""
    return numbers.reshape([-1 if d == axis else 1 for d in range(rank)])


def numbers_below(size: Size) -> Operand:
    """Return the numbers from 0 on that are below a size."""
    return op.iota(shape=[size_argument(size)], dtype=i64)


def range_length(first: Element, end: Element, step: Element) -> Size:
    """Return how many numbers there are from the first one up to the end, by a step."""
    try:
        return larger(ceil(quotient(difference(end, first), step)), 0)
    except UndecidedError:
        refuse(f"expected a step that is a number, found {step} from {first} to {end}; fix its sizes with 'shapes'")


def diagonal_mask(rows: Size, columns: Size, k: Operand, compare: Callable[..., Operand]) -> Operand:
    """Compare the number of each column of a matrix with the number of the row plus `k`."""
    return compare(op.expand_dims(numbers_below(columns), 0), op.add(op.expand_dims(numbers_below(rows), 1), k))


def windows_along(site: ImportedNode, x: Tensor, axis: int, size: int, step: int) -> Operand:
    """Return windows along a dimension, whose elements are the last dimension. Refuses windows, or stops at a call with
    windows, that are larger than the dimension."""
    length = site.shape(x)[axis]
    site.expect_at_least(length, size, f"expected windows of at most {length} elements, found {size}")
    begins = op.multiply(numbers_below((length - size) // step + 1), Known(step))
    taken = op.take(x, op.add(op.expand_dims(begins, 1), Known(np.arange(size))), axis)
    order = [d for d in range(site.rank(x) + 1) if d != axis + 1]
    return op.permute_dims(taken, [*order, axis + 1])


def part_at(x: Operand, axis: int, place: int) -> Operand:
    """Return the part of a tensor at a position along a dimension, without it."""
    return op.squeeze(op.strided_slice(x, [axis], [place], [LAST if place == -1 else place + 1]), axis)


def pieces(x: Operand, lengths: Sequence[Size], axis: int) -> list[Operand]:
    """Return the parts of a tensor that have given lengths along a dimension, one after another."""
    places = [size_argument(size) for size in accumulate(lengths, initial=0)]
    return [op.strided_slice(x, [axis], [begin], [end]) for begin, end in pairwise(places)]


def sorted_along(x: Operand, axis: int, descending: bool, count: Size | None = None) -> list[Operand]:
    """Return the elements along a dimension in order, or `count` of the first ones, and their positions."""
    places = op.argsort(x, axis, descending)
    if count is not None:
        places = op.strided_slice(places, [axis], [0], [size_argument(count)])
    return [op.gather_elements(x, places, axis), places]


def stacked(parts: Sequence[Operand], axis: int) -> Operand:
    """Return tensors one after another along a new dimension."""
    return op.concat(*(op.expand_dims(x, axis) for x in parts), axis=axis)


def position(place: Any, size: Size) -> int | str:
    """Return a position that is a number, counted from the end if it is negative, or an expression of sizes."""
    if not isinstance(place, IndexExpr):
        return int(place)
    rest = place - size
    if isinstance(rest, int):
        return LAST if rest >= 0 else rest
    if not never_negative(place):
        refuse(f"a position that may count from the end: {place}; fix its sizes with `shapes=`")
    return str(place)


def from_front(site: ImportedNode, indices: Tensor, size: Size) -> Operand:
    """Return indices that count from the front, where negative ones count from the end."""
    if isinstance(indices, Known) and (indices.is_symbolic or not (indices.array < 0).any()):
        return indices
    is_dynamic = isinstance(size, IndexExpr)
    length = op.astype(Known(size), indices.element_type) if is_dynamic else site.like(size, indices)
    return op.where(op.less(indices, 0), op.add(indices, length), indices)


def expect_in_range(site: ImportedNode, indices: Tensor, size: Size, *, from_end: bool) -> None:
    """Let the program stop with an `IndexRangeError` unless indices are from 0 to the last below a size, or, if they
    may count from the end, from its negative on."""
    builder, before, total = site.builder, size if from_end else 0, count(indices.sizes)
    are_sizes = isinstance(indices, Known) and indices.is_symbolic
    if are_sizes or total == 0 or not builder.is_first_check(indices, size, from_end):
        return
    if isinstance(indices, Known):
        indices, total = Known(np.unique([indices.array.min(), indices.array.max()])), 1
    distances: Operand = indices if indices.element_type == i64 else op.astype(indices, i64)
    if from_end:
        distances = op.add(distances, Known(before))
    may_be_none = not never_negative(total - 1)
    if may_be_none:
        distances = op.concat(op.reshape(distances, [-1]), Known([0]), axis=0)  # There is no largest one of none.
    # As unsigned numbers, distances from the first valid index are larger for those before it than for valid ones.
    largest = site.tensor(op.max(op.bitcast(distances, _UI64)))
    is_valid = op.less(largest, op.bitcast(Known(size + before), _UI64))
    if may_be_none:
        is_valid = op.logical_or(is_valid, op.equal(Known(total), Known(0)))
    found = op.bitcast(largest, i64)
    found = op.subtract(found, Known(before)) if from_end else found
    site.expect(is_valid, f"expected indices from {-before} to {size - 1}", found)


_UI64 = DTYPES["uint64"]
