"""Marks on the inputs of loop functions that are constants, for those who schedule the functions."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.function_arguments import remove_argument_attr, set_argument_attr
from relex.dialects.tir import PrimFuncOp
from relex.passes.analysis.constant_inputs import CONSTANT_ATTR, known_calls


def mark_constants(module: ModuleOp) -> None:
    """Mark the inputs of loop functions that are constants in every call, for `is_constant_input`."""
    for known in known_calls(module):
        for i in known.constants:
            set_argument_attr(known.func, i, CONSTANT_ATTR, UnitAttr())


def unmark_constants(module: ModuleOp) -> None:
    """Remove the marks, which need not hold after the pass."""
    for func in (op for op in module.ops if isinstance(op, PrimFuncOp)):
        remove_argument_attr(func, CONSTANT_ATTR)
