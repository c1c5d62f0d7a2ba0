"""Which buffers of a function can be moved to another place, and how long each is in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from relex.dialects import tir
from relex.dialects.upstream.memref import PrefetchOp
from relex.lowering.lower_call_tir import ALIGNMENT

_TOUCH = (
    func.CallOp,
    tir.CallOp,
    memref.AtomicRMWOp,
    memref.CopyOp,
    memref.LoadOp,
    memref.StoreOp,
    PrefetchOp,
    scf.ForOp,
    scf.WhileOp,
    vector.LoadOp,
    vector.MaskedLoadOp,
    vector.MaskedStoreOp,
    vector.StoreOp,
    vector.TransferReadOp,
    vector.TransferWriteOp,
)
"""Ops that read or write buffers while they run, and forget them then. Buffers among their results may be the same."""

_LOOK = (
    arith.SelectOp,
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.CollapseShapeOp,
    memref.DimOp,
    memref.ExpandShapeOp,
    memref.ExtractStridedMetaDataOp,
    memref.RankOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
)
"""Ops that read no element. Buffers among their results are the same memory."""

_PASS_ON = (scf.ConditionOp, scf.YieldOp)
"""Ops that hand buffers to the op around them, which has them as results, or as arguments of its regions."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer, what frees it, and the positions in the block of the first and the last op that reads or writes it."""

    alloc: memref.AllocOp
    dealloc: memref.DeallocOp
    first: int
    last: int

    @property
    def buffer(self) -> SSAValue[MemRefType]:
        return self.alloc.memref


def lifetimes(block: Block) -> list[Lifetime]:
    """The buffers that a block allocates and frees, and all whose users are known. The block must run once at most."""
    positions = {op: i for i, op in enumerate(block.ops)}
    allocs = [op for op in block.ops if isinstance(op, memref.AllocOp) and _is_plain(op)]
    return [found for alloc in allocs if (found := _lifetime(alloc, block, positions)) is not None]


def _is_plain(alloc: memref.AllocOp) -> bool:
    """Whether a buffer is nothing but a number of bytes, aligned no more than all others."""
    kind = alloc.memref.type
    element: Attribute = kind.element_type
    alignment = alloc.alignment.value.data if alloc.alignment is not None else 1
    return (
        isinstance(kind.layout, NoneAttr)
        and isinstance(kind.memory_space, NoneAttr)
        and isinstance(element, FixedBitwidthType | IndexType)
        and not alloc.symbol_operands
        and ALIGNMENT % alignment == 0
    )


def _lifetime(alloc: memref.AllocOp, block: Block, positions: dict[Operation, int]) -> Lifetime | None:
    deallocs: list[memref.DeallocOp] = []
    touched = [positions[alloc]]
    uses = uses_of_memory(alloc.memref)
    if uses is None:
        return None
    for use in uses:
        op = use.operation
        if isinstance(op, memref.DeallocOp):
            if op.memref is not alloc.memref or op.parent is not block:
                return None
            deallocs.append(op)
        elif (statement := block.find_ancestor_op_in_block(op)) is None:
            return None
        elif not isinstance(op, _LOOK):
            touched.append(positions[statement])
    if len(deallocs) != 1 or positions[deallocs[0]] < max(touched):
        return None
    return Lifetime(alloc, deallocs[0], min(touched[1:], default=touched[0]), max(touched))


def uses_of_memory(buffer: SSAValue) -> Sequence[Use] | None:
    """The uses of a buffer and of all that may be the same memory; None where one of them may keep it."""
    found: list[Use] = []
    pending, seen = [buffer], {buffer}
    while pending:
        for use in pending.pop().uses:
            if _may_keep(use):
                return None
            found.append(use)
            aliases = [value for value in _results(use.operation) if isinstance(value.type, MemRefType)]
            pending += (new := [value for value in aliases if value not in seen])
            seen.update(new)
    return found


def _may_keep(use: Use) -> bool:
    """Whether memory may be in use after an op, through something else than its results."""
    op = use.operation
    if isinstance(op, memref.StoreOp) and op.value is op.operands[use.index]:
        return True
    return not isinstance(op, (memref.DeallocOp, *_TOUCH, *_LOOK, *_PASS_ON))


def _results(op: Operation) -> Iterator[SSAValue]:
    """The values that may be what an op takes."""
    if isinstance(op, _PASS_ON) and (parent := op.parent_op()) is not None:
        op = parent
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
