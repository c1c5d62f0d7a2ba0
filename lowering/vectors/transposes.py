"""Copies that read along one loop and write along another: squares of elements, transposed in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, FixedBitwidthType, MemRefType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import IndexExpr, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir.accesses import is_pure
from relex.dialects.upstream.hints import isa
from relex.lowering.support.aliasing import are_apart
from relex.lowering.vectors.lanes import LaneEmitter
from relex.passes.cpu import cost

GROUP_BITS = 128
"""Bits of a part of a vector register in which an instruction interleaves the elements of two registers. Others move
such parts as a whole."""

REGISTER_BITS = (128, 256, 512)
"""Bits of registers; a target with wide ones has the narrower ones, too."""


@dataclass(frozen=True)
class _Square:
    """A loop along which elements are read, and right in it, one along which they are written."""

    read: scf.ForOp
    written: scf.ForOp
    load: memref.LoadOp
    store: memref.StoreOp
    extent: int
    """The number of iterations of the loop along which elements are read."""

    @property
    def ops(self) -> list[Operation]:
        """The ops that compute indices."""
        bodies = (*self.read.body.block.ops, *self.written.body.block.ops)
        return [op for op in bodies if op not in (self.load, self.store, self.written) and op.results]


def transpose(loop: scf.ForOp, length: int, vector_bits: int) -> bool:
    """
    If a loop to vectorize, with as many iterations as a vector register of the target has elements, or its half or
    quarter, copies elements into a buffer that aliases no other, and the loop around it, with as many or a small
    multiple, does nothing else and reads neighbouring elements, replace both by loads and stores of vectors and
    shuffles: `n` vectors of `n` elements take `log2(n)` shuffles each, where elements one by one would take `n` loads.
    Return whether they are such loops.

    ```mlir
    scf.for %k = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %0 = memref.load %x[%j, %k] : memref<4x4xf32>
        memref.store %0, %y[%k, %j] : memref<4x4xf32>
      } {relex.vectorized}
    }
    ```
    """
    square = _square(loop)
    if square is None or not _suits(square, length, vector_bits):
        return False
    out = LaneEmitter(length, InsertPoint.before(square.read), loop.location)
    for start in range(0, square.extent, length):
        _emit(square, start, length, out)
    Rewriter.erase_op(square.read)
    return True


def _emit(square: _Square, start: int, length: int, out: LaneEmitter) -> None:
    """Copy the elements that are read in `length` iterations from `start` on."""
    kind = out.vector_of(square.load.res.type)
    bits = cast(FixedBitwidthType, square.load.res.type).bitwidth

    def shuffle(one: SSAValue, other: SSAValue, chosen: Sequence[int]) -> SSAValue:
        mask = DenseArrayBase.from_list(i64, chosen)
        return out.add(vector.ShuffleOp(one, other, mask, result_type=kind)).result

    rows: list[SSAValue] = []
    for lane in range(length):
        places = _indices(square, square.load.indices, out, start, lane)
        rows.append(out.add(vector.LoadOp(square.load.memref, places, kind)).result)
    for lane, column in enumerate(transposed(rows, GROUP_BITS // bits, shuffle)):
        places = _indices(square, square.store.indices, out, start + lane, 0)
        out.add(vector.StoreOp(column, square.store.memref, places))


def transposed(
    rows: Sequence[SSAValue], group: int, shuffle: Callable[[SSAValue, SSAValue, Sequence[int]], SSAValue]
) -> list[SSAValue]:
    """
    Return the columns of a square of elements, given by its rows. Both numbers are powers of two.

    Each step combines pairs of vectors whose numbers differ in a bit; it moves that bit into the place of an element,
    and a bit of the place into the number of the vector. First, whole groups of `group` elements change places: the
    even groups of both vectors make one, the odd ones the other. Then the elements of each group are interleaved.
    """
    length, columns = len(rows), list(rows)
    halves = _unzipped(length, group), _zipped(length, group)
    bits = [1 << bit for bit in range(length.bit_length() - 1)]
    steps = [(bit, halves[0]) for bit in bits if bit >= group]
    steps += [(bit, halves[1]) for bit in reversed(bits) if bit < group]
    for bit, (low, high) in steps:
        for number in range(length):
            if not number & bit:
                pair = columns[number], columns[number | bit]
                columns[number], columns[number | bit] = shuffle(*pair, low), shuffle(*pair, high)
    return columns


def _unzipped(length: int, group: int) -> tuple[list[int], list[int]]:
    """The elements of the even, and of the odd groups of two vectors."""
    both = range(2 * length)
    even = [i for i in both if i // group % 2 == 0]
    return even, [i for i in both if i // group % 2]


def _zipped(length: int, group: int) -> tuple[list[int], list[int]]:
    """The interleaved elements of the lower halves of all groups of two vectors, and of the upper halves."""
    starts = range(0, length, group)
    low = [start + i + side for start in starts for i in range(group // 2) for side in (0, length)]
    return low, [i + group // 2 for i in low]


def _square(loop: scf.ForOp) -> _Square | None:
    """Return the loops, if they only copy elements."""
    around = loop.parent_op()
    if not isinstance(around, scf.ForOp) or around.iter_args or (extent := _extent(around)) is None:
        return None
    inside = [op for op in loop.body.block.ops if not isinstance(op, scf.YieldOp)]
    between = [op for op in around.body.block.ops if op is not loop and not isinstance(op, scf.YieldOp)]
    loads = [op for op in inside if isinstance(op, memref.LoadOp)]
    stores = [op for op in inside if isinstance(op, memref.StoreOp)]
    if len(loads) != 1 or len(stores) != 1 or stores[0].value is not loads[0].res:
        return None
    if not all(is_pure(op) and not op.regions for op in (*between, *inside) if op not in (loads[0], stores[0])):
        return None
    return _Square(around, loop, loads[0], stores[0], extent)


def _extent(loop: scf.ForOp) -> int | None:
    start, end, step = (constant_value(bound) for bound in (loop.lb, loop.ub, loop.step))
    return end - start if start is not None and end is not None and step == 1 else None


def _suits(square: _Square, length: int, vector_bits: int) -> bool:
    """Return whether the elements fill registers, in few squares, are neighbours along one of the loops each, and go to
    other memory than they come from."""
    load, store, kind = square.load, square.store, square.load.res.type
    if not isinstance(kind, FixedBitwidthType) or kind.bitwidth not in (8, 16, 32, 64):
        return False
    if length * kind.bitwidth not in (bits for bits in REGISTER_BITS if bits <= vector_bits):
        return False
    if square.extent % length or square.extent > max(length, cost.MAX_SIDE):
        return False
    read, written = square.read.body.block.args[0], square.written.body.block.args[0]
    is_transpose = _is_along(load.memref, load.indices, read) and _is_along(store.memref, store.indices, written)
    return is_transpose and are_apart(store.memref, load.memref)


def _is_along(buffer: SSAValue, indices: Sequence[SSAValue], variable: SSAValue) -> bool:
    """Return whether the next value of a variable is for the next element in a row."""
    assert isa(buffer.type, MemRefType)
    strides = buffer.type.get_strides()
    factors = [_factor(index, variable) for index in indices]
    return strides is not None and strides[-1] == 1 and factors == [0] * (len(factors) - 1) + [1]


def _factor(index: SSAValue, variable: SSAValue) -> int | None:
    """Return the factor of a variable in an index; None if the index is no sum of a multiple of it and other terms."""
    terms = terms_of(index_of(index))
    others = [atom for atom in terms if atom is not variable]
    if any(variable in values_in(IndexExpr.of(atom)) for atom in others):
        return None
    return terms.get(variable, 0)


def _indices(square: _Square, indices: Sequence[SSAValue], out: LaneEmitter, read: int, written: int) -> list[SSAValue]:
    """Emit the indices in an iteration of both loops."""
    values: dict[SSAValue, SSAValue] = {}
    for loop, at in ((square.read, read), (square.written, written)):
        start = constant_value(loop.lb)
        assert start is not None
        values[loop.body.block.args[0]] = out.index(start + at)
    for op in square.ops:
        values.update(zip(op.results, out.add(op.clone(dict(values))).results, strict=True))
    return [values.get(index, index) for index in indices]
