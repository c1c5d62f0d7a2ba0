"""Buffers that are allocated at a point of a function: what to free where it is left early."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from xdsl.dialects import func, memref
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.function_arguments import RESULT_ATTR
from relex.dialects.walks import reachable
from relex.lowering.memory.lifetimes import edges, uses_of_memory

Buffers = frozenset[SSAValue]


def live_buffers(function: func.FuncOp, points: Collection[Operation]) -> Mapping[Operation, Sequence[SSAValue]]:
    """Return, for each of these ops, the buffers on the heap that a function of branches has allocated before it,
    whichever way it took, and has not freed. One that is passed on is the block argument that took it. Buffers that may
    escape are left out, and so are ops that are never reached."""
    owned = _Owned(function)
    entered = _at_starts(function.body.blocks[0], owned)
    live: dict[Operation, Buffers] = {}
    for block, buffers in entered.items():
        for op in block.ops:
            if op in points:
                live[op] = buffers
            buffers = owned.after(op, buffers)
    order = {buffer: i for i, buffer in enumerate(owned.buffers)}
    return {op: sorted(buffers, key=order.__getitem__) for op, buffers in live.items()}


class _Owned:
    """The buffers that a function allocates and frees, and whose uses are known: results of allocations, and block
    arguments that take such."""

    def __init__(self, function: func.FuncOp):
        self._takers = _takers(function)
        self.buffers: dict[SSAValue, None] = {}
        self._freed: dict[Operation, SSAValue] = {}
        for alloc in [op for block in function.body.blocks for op in block.ops if isinstance(op, memref.AllocOp)]:
            uses = None if RESULT_ATTR in alloc.attributes else uses_of_memory(alloc.memref)
            if uses is None:
                continue  # It escapes, or is the caller's.
            self.buffers[alloc.memref] = None
            for dealloc in [use.operation for use in uses if isinstance(use.operation, memref.DeallocOp)]:
                taken = dealloc.memref in self._takers
                self._freed[dealloc] = dealloc.memref if taken else alloc.memref
        self.buffers |= dict.fromkeys(self._takers)

    def after(self, op: Operation, buffers: Buffers) -> Buffers:
        """Return the buffers after an op, given those before it."""
        if isinstance(op, memref.AllocOp) and op.memref in self.buffers:
            return buffers | {op.memref}
        return buffers - {self._freed[op]} if op in self._freed else buffers

    def passed(self, block: Block, buffers: Buffers) -> Iterator[tuple[Block, Buffers]]:
        """Yield the blocks that may follow after a block, with the buffers at their starts."""
        for following, given in edges(block.last_op):
            pairs = [(v, a) for v, a in zip(given, following.args, strict=True) if a in self._takers and v in buffers]
            yield following, (buffers - {value for value, _ in pairs}) | {argument for _, argument in pairs}


def _takers(function: func.FuncOp) -> dict[SSAValue, None]:
    """Return the block arguments that are freed, or passed on to such: memory that they take is theirs."""
    ops = [op for block in function.body.blocks for op in block.ops]
    freed: list[SSAValue] = [op.memref for op in ops if isinstance(op, memref.DeallocOp)]
    passed: dict[SSAValue, list[SSAValue]] = {}
    for block in function.body.blocks:
        for following, given in edges(block.last_op):
            for taker, value in zip(following.args, given, strict=True):
                passed.setdefault(taker, []).append(value)

    def givers(taker: SSAValue) -> Sequence[SSAValue]:
        return passed.get(taker, ())

    takers = [value for value in freed if isinstance(value.owner, Block)]
    found = [value for taker in takers for value in reachable(taker, givers)]
    return dict.fromkeys(value for value in found if isinstance(value.owner, Block))


def _at_starts(entry: Block, owned: _Owned) -> dict[Block, Buffers]:
    """Return the buffers that are allocated at the start of each block, on each way to it."""
    entered: dict[Block, Buffers] = {entry: frozenset()}
    pending = [entry]
    while pending:
        block = pending.pop()
        buffers = entered[block]
        for op in block.ops:
            buffers = owned.after(op, buffers)
        for following, given in owned.passed(block, buffers):
            known = entered.get(following)
            if known is None or known - given:
                entered[following] = given if known is None else known & given
                pending.append(following)
    return entered
