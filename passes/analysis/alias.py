"""Alias analysis of the buffers of a loop function."""

from __future__ import annotations

from xdsl.ir import SSAValue

from relex.dialects.tir import PrimFuncOp


def may_alias(a: SSAValue, b: SSAValue, function: PrimFuncOp) -> bool:
    """Return whether two buffers may share memory.

    Local buffers have memory of their own; arguments have, where the function says `tir.noalias`.
    """
    return a is b or (not function.noalias and a in function.args and b in function.args)
