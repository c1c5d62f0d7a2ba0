"""Loop functions that people have written."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.dialects.tir import PrimFuncOp


def hand_written(module: ModuleOp) -> list[PrimFuncOp]:
    """Return the loop functions of a program before operators become loops.

    There are none in a module whose functions state signatures: a compilation has brought it to the level of loops, and
    fused and scheduled what was written by hand.
    """
    if any(SIGNATURE_ATTR in op.attributes for op in module.ops):
        return []
    return [op for op in module.ops if isinstance(op, PrimFuncOp)]
