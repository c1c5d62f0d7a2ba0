"""Buffers that share no memory with others."""

from __future__ import annotations

from xdsl.dialects import func, memref
from xdsl.ir import Block, BlockArgument, SSAValue

from relex.dialects.functions import argument_attr

NOALIAS = "llvm.noalias"
"""The attribute of an argument whose memory is accessed by no other value, if it is written at all."""


def has_own_memory(buffer: SSAValue) -> bool:
    """Return whether no other value accesses elements that are written through this one: a buffer that the function
    allocates, or an argument that says so."""
    if isinstance(buffer.owner, memref.AllocOp | memref.AllocaOp):
        return True
    return isinstance(buffer, BlockArgument) and _says_so(buffer.owner, buffer.index)


def _says_so(block: Block, index: int) -> bool:
    function = block.parent_op()
    return (
        isinstance(function, func.FuncOp)
        and block is function.body.first_block
        and argument_attr(function, index, NOALIAS) is not None
    )
