"""Placement of a block's init: in a separate loop nest, or guarded in the first step of the reduction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind, loops_around
from relex.dialects.tir.indices import driving_variables, reduction_loop
from relex.dialects.tir.verification import is_guarded


@dataclass(frozen=True)
class InitNest:
    """The loop nest in which the init of a block can run before its reduction."""

    block: BlockOp
    init: InitOp
    reduction: ForOp
    """The outermost loop that the reduction runs over."""
    loops: Sequence[ForOp]
    """The loops inside it that the spatial variables need, outermost first."""


def init_nest(block: BlockOp) -> InitNest | None:
    """Return the loop nest for a block's init; None without an init, or if a loop drives both spatial and reduce
    variables or the init cannot be moved before the reduction."""
    init = block.init
    around = list(loops_around(block))
    outermost = around[-1] if around else None
    if init is None or outermost is None or is_guarded(block):
        return None
    used = {kind: driving_variables(block, kind, outermost) for kind in IterKind}
    if used[IterKind.SPATIAL] & used[IterKind.REDUCE]:
        return None
    reducing = [loop for loop in around if loop.variable in used[IterKind.REDUCE]]
    if not reducing:
        return None
    inside = around[: around.index(reducing[-1])]
    spatial = [loop for loop in reversed(inside) if loop.variable in used[IterKind.SPATIAL]]
    if any(isinstance(loop.extent, SSAValue) and reducing[-1].is_ancestor(loop.extent.owner) for loop in spatial):
        return None
    if not _may_run_before(init, block, reducing[-1]):
        return None
    return InitNest(block, init, reducing[-1], spatial)


def empty_loop(block: BlockOp) -> ForOp | None:
    """Return the outermost loop that drives the reduction of a block with an init, if the reduction may be empty, and
    there are buffers then that the init writes."""
    extents = [v.extent for v in block.iter_vars if v.kind is IterKind.REDUCE]
    if block.init is None or all(isinstance(extent, int) and extent > 0 for extent in extents):
        return None
    loop = reduction_loop(block)
    if loop is None or all(loop.is_ancestor(buffer.owner) for buffer in _buffers_used(block.init, but=memref.LoadOp)):
        return None
    return loop


def _may_run_before(init: InitOp, block: BlockOp, reduction: ForOp) -> bool:
    """Return whether the init has the same effect before the whole reduction: none of its buffers is allocated inside,
    nothing else there touches what it writes, and nothing there writes what it reads."""
    written, read = _buffers_used(init, but=memref.LoadOp), _buffers_used(init, but=memref.StoreOp)
    if any(reduction.is_ancestor(buffer.owner) for buffer in written | read):
        return False
    if any(v.extent == 0 for v in block.iter_vars if v.kind is IterKind.REDUCE):
        return True  # There is no first step.
    elsewhere = {v for op in reduction.walk() if not block.is_ancestor(op) for v in op.operands}
    return not written & elsewhere and not read & _buffers_used(reduction, but=memref.LoadOp)


def _buffers_used(op: Operation, but: type[Operation]) -> set[SSAValue]:
    """The buffers from outside that `op` and the ops in it use, except by ops of the class `but`."""
    return {
        operand
        for inner in op.walk()
        if not isinstance(inner, but)
        for operand in inner.operands
        if isinstance(operand.type, MemRefType) and not op.is_ancestor(operand.owner)
    }


def outer_operands(op: Operation) -> list[SSAValue]:
    """The values from outside that `op` and the ops in it use."""
    return [v for inner in op.walk() for v in inner.operands if not op.is_ancestor(v.owner)]
