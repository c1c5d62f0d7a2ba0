"""Loads whose indices are parts of one number: quotients and remainders by dynamic sizes, as of a reshape."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import tir
from relex.dialects.tir.indices import dimension_of, known_size, product_of, sizes_of
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.passes.rewriting.buffer_edits import collapse

Group = tuple[int, int]
"""The first and the last of some dimensions."""


def join_indices(function: tir.PrimFuncOp) -> None:
    """Replace a quotient and remainders of one index by the index itself, in loads of dynamic sizes. A division takes
    some 20 cycles, and LLVM makes no vectors of loads whose addresses it cannot compare.

    ```mlir
    %1 = arith.divui %p, %w : index
    %2 = arith.remui %p, %w : index
    %3 = memref.load %x[%i, %1, %2] : memref<8x?x?xf32>  // %w is the last size
    // becomes
    %flat = memref.collapse_shape %x [[0], [1, 2]] : memref<8x?x?xf32> into memref<8x?xf32>
    %3 = memref.load %flat[%i, %p] : memref<8x?xf32>
    ```
    """
    views: dict[tuple[SSAValue, Group], SSAValue] = {}
    for load in walk_of(function, memref.LoadOp):
        if (joined := _joined(load)) is None:
            continue
        key = load.memref, (joined.first, joined.last)
        if key not in views:
            views[key] = _collapsed(function, *key)
        indices = [*load.indices[: joined.first], joined.emit(load), *load.indices[joined.last + 1 :]]
        new = memref.LoadOp.get(views[key], indices)
        new.location = load.location
        new.res.name_hint = load.res.name_hint
        Rewriter.replace_op(load, new)


@dataclass(frozen=True)
class _Joined:
    """Neighbouring dimensions in which an element is at a position, and at more elements for each of some others."""

    first: int
    last: int
    position: SSAValue
    others: SSAValue | None = None
    elements: SSAValue | None = None

    def emit(self, load: memref.LoadOp) -> SSAValue:
        """Return the index in the dimensions as one."""
        if self.others is None or self.elements is None:
            return self.position
        builder = Builder(InsertPoint.before(load))
        skipped = arith.MuliOp(self.others, self.elements)
        total = arith.AddiOp(self.position, skipped.result)
        for op in (skipped, total):
            op.location = load.location
            builder.insert(op)
        return total.result


def _joined(load: memref.LoadOp) -> _Joined | None:
    """Return the last of the dimensions that can be one."""
    kind = load.memref.type
    if not isa(kind, MemRefType) or not isinstance(kind.layout, NoneAttr) or DYNAMIC_INDEX not in kind.get_shape():
        return None
    for last in reversed(range(1, kind.get_num_dims())):
        if (found := _joined_up_to(load, last)) is not None:
            return found
    return None


def _joined_up_to(load: memref.LoadOp, last: int) -> _Joined | None:
    """Return the dimensions up to one whose indices are a quotient, and remainders of the same number."""
    end = load.indices[last].owner
    if not isinstance(end, arith.RemUIOp) or not _is_size(end.rhs, load.memref, last, last):
        return None
    position = end.lhs
    for first in reversed(range(last)):
        index = load.indices[first]
        owner = index.owner
        if isinstance(owner, arith.RemUIOp) and _is_size(owner.rhs, load.memref, first, first):
            if not _is_quotient(owner.lhs, position, load.memref, first + 1, last):
                return None
            continue
        if _is_quotient(index, position, load.memref, first + 1, last):
            return _Joined(first, last, position)
        if isinstance(owner, arith.AddiOp):
            for quotient, others in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
                if _is_quotient(quotient, position, load.memref, first + 1, last):
                    assert isinstance(quotient.owner, arith.DivUIOp)
                    return _Joined(first, last, position, others, quotient.owner.rhs)
        return None
    return None


def _is_quotient(value: SSAValue, position: SSAValue, buffer: SSAValue, first: int, last: int) -> bool:
    """Return whether a value is a position divided by the number of elements in some dimensions."""
    owner = value.owner
    return isinstance(owner, arith.DivUIOp) and owner.lhs is position and _is_size(owner.rhs, buffer, first, last)


def _is_size(value: SSAValue, buffer: SSAValue, first: int, last: int) -> bool:
    """Return whether a value is the number of elements in some dimensions of a buffer."""
    sizes = [dimension_of(buffer, d) for d in range(first, last + 1)]
    found = known_size(value)
    if len(sizes) == 1:
        return found == sizes[0]
    return isinstance(found, str) and found == product_of(sizes)


def _collapsed(function: tir.PrimFuncOp, buffer: SSAValue, group: Group) -> SSAValue:
    """Return the view of a buffer in which some dimensions are one."""
    first, last = group
    count = len(sizes_of(buffer))
    dimensions = [[d] for d in range(first)] + [[*range(first, last + 1)]] + [[d] for d in range(last + 1, count)]
    return collapse(function, buffer, dimensions)
