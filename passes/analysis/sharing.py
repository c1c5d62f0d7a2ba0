"""Which parts of a loop function need each other, and whether they may be moved together."""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses, is_pure, variables_in
from relex.dialects.tir.indices import loop_of
from relex.passes.analysis.alias import may_alias

_UNDERSTOOD = (AllocBufferOp, BlockOp, ForOp, InitOp, memref.LoadOp, memref.StoreOp, scf.ForOp, scf.IfOp, scf.YieldOp)


def is_understood(op: Operation) -> bool:
    """Whether loads and stores are all that an op does to the world."""
    return all(isinstance(inner, _UNDERSTOOD) or (is_pure(inner) and not inner.regions) for inner in op.walk())


def has_views(function: PrimFuncOp) -> bool:
    """Whether a buffer of a function is part of another, so that its name does not tell it apart."""
    return any(
        isinstance(t, MemRefType)
        for op in function.walk()
        if not isinstance(op, AllocBufferOp)
        for t in op.result_types
    )


def is_spatial(loop: ForOp) -> bool:
    """Whether no block in a loop is a reduction along it."""
    return not any(
        v.kind is IterKind.REDUCE and loop.variable in variables_in(v.binding, loop.parent_op() or loop)
        for block in loop.walk()
        if isinstance(block, BlockOp)
        for v in block.iter_vars
    )


def depends_on(second: Operation, first: Operation) -> bool:
    """Whether the second reads what the first writes."""
    written = {access.buffer for access in accesses(first) if access.is_write}
    return any(access.buffer in written for access in accesses(second) if not access.is_write)


def may_share_loop(first: ForOp, second: ForOp, function: PrimFuncOp) -> bool:
    """
    Whether the bodies of two loops may take turns, iteration by iteration, though the first loop has run as a whole
    before.

    They may if an element that both touch, and at least one of them writes, is touched in the same iteration of both:
    some index of it is the loop's variable on either side.
    """
    return first.extent == 1 or all(
        _meet_in_one_iteration(a, b, first, second)
        for a in accesses(first)
        for b in accesses(second)
        if (a.is_write or b.is_write) and may_alias(a.buffer, b.buffer, function)
    )


def _meet_in_one_iteration(a: Access, b: Access, first: ForOp, second: ForOp) -> bool:
    return a.buffer is b.buffer and any(
        loop_of(i) is first and loop_of(j) is second for i, j in zip(a.indices, b.indices, strict=True)
    )
