"""Buffers that are allocated at a point of a function: what to free where it is left early."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects import func, memref
from xdsl.ir import Block, BlockArgument, Operation

from relex.dialects.function_arguments import RESULT_ATTR
from relex.lowering.memory.lifetimes import uses_of_memory

Allocs = frozenset[memref.AllocOp]


def live_buffers(function: func.FuncOp, points: Collection[Operation]) -> Mapping[Operation, Sequence[memref.AllocOp]]:
    """Return, for each of these ops, the buffers on the heap that a function of branches has allocated before it,
    whichever way it took, and has not freed. Buffers that may escape, or that are freed as arguments of blocks, are
    left out, and so are ops that are never reached."""
    freed = _freed(function)
    entered = _at_starts(function.body.blocks[0], freed)
    live: dict[Operation, Allocs] = {}
    for block, allocs in entered.items():
        for op in block.ops:
            if op in points:
                live[op] = allocs
            allocs = _after(op, allocs, freed)
    order = {alloc: i for i, alloc in enumerate(freed.values())}
    return {op: sorted(allocs, key=order.__getitem__) for op, allocs in live.items()}


def _freed(function: func.FuncOp) -> dict[Operation, memref.AllocOp]:
    """Map the ops that allocate and free buffers whose uses are known to the former."""
    found: dict[Operation, memref.AllocOp] = {}
    for alloc in [op for block in function.body.blocks for op in block.ops if isinstance(op, memref.AllocOp)]:
        if RESULT_ATTR in alloc.attributes:
            continue  # The caller's.
        uses = uses_of_memory(alloc.memref)
        if uses is None:
            continue
        deallocs = [use.operation for use in uses if isinstance(use.operation, memref.DeallocOp)]
        if not any(isinstance(dealloc.memref, BlockArgument) for dealloc in deallocs):
            found |= dict.fromkeys((alloc, *deallocs), alloc)
    return found


def _at_starts(entry: Block, freed: Mapping[Operation, memref.AllocOp]) -> dict[Block, Allocs]:
    """Return the buffers that are allocated at the start of each block, on each way to it."""
    entered: dict[Block, Allocs] = {entry: frozenset()}
    pending = [entry]
    while pending:
        block = pending.pop()
        allocs = entered[block]
        for op in block.ops:
            allocs = _after(op, allocs, freed)
        for successor in block.last_op.successors if block.last_op is not None else ():
            known = entered.get(successor)
            if known is None or known - allocs:
                entered[successor] = allocs if known is None else known & allocs
                pending.append(successor)
    return entered


def _after(op: Operation, allocs: Allocs, freed: Mapping[Operation, memref.AllocOp]) -> Allocs:
    if isinstance(op, memref.AllocOp) and op in freed:
        return allocs | {op}
    return allocs - {freed[op]} if op in freed else allocs
