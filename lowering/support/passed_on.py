"""Memory that branches and loops pass on: whoever takes it frees it, unless it passes it on in turn."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.op_edits import insert_before, terminator_of
from relex.dialects.walks import reachable, walk_of
from relex.lowering.memory.lifetimes import ENDS, aliases_by
from relex.lowering.support.destinations import MOVED_ATTR


def free_passed_on(function: func.FuncOp) -> None:
    """Free memory that is passed on at the end of the block that takes it last.

    ```mlir
    %r = scf.for %i = %lb to %ub step %s iter_args(%a = %0) -> (memref<?xf32>) {
      %b = memref.alloc(%n) {relex.moved} : memref<?xf32>
      tir.call @f(%a, %b) : memref<?xf32>, memref<?xf32>
      scf.yield %b : memref<?xf32>
    }
    func.return
    // becomes
    %r = scf.for %i = %lb to %ub step %s iter_args(%a = %0) -> (memref<?xf32>) {
      %b = memref.alloc(%n) : memref<?xf32>
      tir.call @f(%a, %b) : memref<?xf32>, memref<?xf32>
      memref.dealloc %a : memref<?xf32>
      scf.yield %b : memref<?xf32>
    }
    memref.dealloc %r : memref<?xf32>
    func.return
    ```
    """
    taken: dict[SSAValue, None] = {}
    for alloc in walk_of(function, memref.AllocOp):
        if alloc.attributes.pop(MOVED_ATTR, None) is not None:
            taken |= dict.fromkeys(reachable(alloc.memref, _takers))
            del taken[alloc.memref]
    for value in taken:
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        assert block is not None
        if value not in (end := terminator_of(block)).operands:
            insert_before(end, memref.DeallocOp.get(value))


def _takers(value: SSAValue) -> Iterator[SSAValue]:
    """Yield what memory is passed on to: an allocation by any op with regions, and what has been taken by the end of a
    region."""
    is_new = isinstance(value.owner, memref.AllocOp)
    for use in value.uses:
        op: Operation = use.operation
        if isinstance(op, ENDS) or (is_new and isinstance(op, scf.ForOp | scf.WhileOp)):
            yield from aliases_by(use)
