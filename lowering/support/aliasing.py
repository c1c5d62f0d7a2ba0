"""Buffers that share no memory with others."""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.function_arguments import argument_attr
from relex.passes.analysis.sharing import viewed

NOALIAS = "llvm.noalias"
"""The attribute of an argument whose memory is accessed by no other value, if it is written at all."""


def has_own_memory(buffer: SSAValue) -> bool:
    """Return whether no other value accesses elements that are written through this one: a buffer that the function
    allocates, or an argument that says so, or the only view of one."""
    buffer = viewed(buffer)
    if (argument := _argument_of(buffer)) is not None:
        return argument_attr(*argument, NOALIAS) is not None
    return _is_allocated(buffer)


def are_apart(written: SSAValue, other: SSAValue) -> bool:
    """Return whether elements that are written through a buffer are not accessed through another one, which the
    function allocates or gets as an argument."""
    written, other = viewed(written), viewed(other)
    is_known = _is_allocated(other) or _argument_of(other) is not None
    return written is not other and is_known and has_own_memory(written)


def _is_allocated(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, memref.AllocOp | memref.AllocaOp)


def _argument_of(buffer: SSAValue) -> tuple[func.FuncOp, int] | None:
    """Return the function that a buffer is an argument of, and its position; None if it is none."""
    if not isinstance(buffer, BlockArgument) or not isinstance(function := buffer.owner.parent_op(), func.FuncOp):
        return None
    return (function, buffer.index) if buffer.owner is function.body.first_block else None
