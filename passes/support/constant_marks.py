"""Marks on the inputs of loop functions that are constants, for those who schedule the functions."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.arrays import np
from relex.dialects.dtypes import array_from_dense, is_float_dtype
from relex.dialects.functions import remove_argument_attr, set_argument_attr
from relex.dialects.relex import ConstantOp
from relex.dialects.tir import PrimFuncOp
from relex.passes.analysis.constant_inputs import CONSTANT_ATTR, FINITE_ATTR, constant_of, known_calls
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.analysis.padding import pads


def mark_constants(module: ModuleOp) -> None:
    """Mark the inputs of loop functions that are constants in every call, for `is_constant_input`, and those that are
    finite, where padding is multiplied by them, for `is_finite_input`."""
    for known in known_calls(module):
        has_padding = any(map(pads, blocks_in(known.func)))
        for i in known.constants:
            set_argument_attr(known.func, i, CONSTANT_ATTR, UnitAttr())
            if has_padding and all(_is_finite(constant_of(call.arguments[i])) for call in known.calls):
                set_argument_attr(known.func, i, FINITE_ATTR, UnitAttr())


def unmark_constants(module: ModuleOp) -> None:
    """Remove the marks, which need not hold after the pass."""
    for func in (op for op in module.ops if isinstance(op, PrimFuncOp)):
        for mark in (CONSTANT_ATTR, FINITE_ATTR):
            remove_argument_attr(func, mark)


def _is_finite(constant: ConstantOp) -> bool:
    values = array_from_dense(constant.value)
    # The sum of finite numbers may be infinite, but not the other way round, and takes a fraction of the time.
    with np.errstate(all="ignore"):
        return not is_float_dtype(values.dtype) or bool(np.isfinite(values.sum()) or np.isfinite(values).all())
