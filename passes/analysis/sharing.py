"""Dependences between the parts of a loop function, and the legality of loop fusion."""

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
    """Return whether an op has no other effects than loads and stores."""
    return all(isinstance(inner, _UNDERSTOOD) or (is_pure(inner) and not inner.regions) for inner in op.walk())


def has_views(function: PrimFuncOp) -> bool:
    """Return whether a buffer of a function is a view of another one, so that different buffers may alias."""
    return any(
        isinstance(t, MemRefType)
        for op in function.walk()
        if not isinstance(op, AllocBufferOp)
        for t in op.result_types
    )


def is_spatial(loop: ForOp) -> bool:
    """Return whether no block reduces along a loop."""
    return not any(
        v.kind is IterKind.REDUCE and loop.variable in variables_in(v.binding, loop.parent_op() or loop)
        for block in loop.walk()
        if isinstance(block, BlockOp)
        for v in block.iter_vars
    )


def depends_on(second: Operation, first: Operation) -> bool:
    """Return whether the second op reads a buffer that the first one writes."""
    written = {access.buffer for access in accesses(first) if access.is_write}
    return any(access.buffer in written for access in accesses(second) if not access.is_write)


def may_share_loop(first: ForOp, second: ForOp, function: PrimFuncOp) -> bool:
    """
    Return whether the bodies of two consecutive loops may be interleaved, iteration by iteration.

    They may if each element that both access, at least one of them writing, is accessed in the same iteration of both
    loops: the variables of the two loops appear as the same index of it.
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
