"""The ops that a pipeline cannot lower, found by a dry run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ModuleOp,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from relex.dialects.errors import CompileError, Diagnostic, diagnose
from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.dialects.relex import AllocTensorOp
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.symbols import symbols_used
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion.driver import ConversionPass
from relex.lowering.llvm.convert_to_llvm import REFUSED, goes_with_parent, removed_by


def find_unsupported(context: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> list[Diagnostic]:
    """
    Run passes on a copy of a module and return an error for every op that they cannot lower: ops that a pass refuses
    and, if the passes lead to the LLVM dialect, ops of other dialects that are left over.

    Ops that a pass refuses are removed before it runs again; users of their results get other values of the same
    types. The search ends early at what cannot be removed.
    """
    module, names = module.clone(), [p.name for p in passes]
    problems: dict[Diagnostic, None] = {}
    with warnings.catch_warnings(action="ignore"):
        for p in passes:
            while not isinstance(result := _run(p, context, module), ModuleOp):
                for op, diagnostic in result:
                    has_no_rule = isinstance(p, ConversionPass) and p.table.find(op) is None
                    if _STAND_IN not in op.attributes:
                        problems[_left_over(op, names) if has_no_rule else diagnostic] = None
                if not all([_remove(op) for op in dict(result)]):
                    return _in_order(problems)
            module = result
    if any(name.endswith("-to-llvm") for name in names):
        left = [op for op in module.walk() if not op.name.startswith(("llvm.", "builtin."))]
        problems.update((_left_over(op, names), None) for op in left if not goes_with_parent(op))
    return _in_order(problems)


_STAND_IN = "relex.stand_in"
"""Marks an op whose result replaces the result of an op that was removed."""


def _in_order(problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(problems, key=lambda d: (d.file, d.line, d.column))


def _run(p: ModulePass, context: Context, module: ModuleOp) -> ModuleOp | list[tuple[Operation, Diagnostic]]:
    """Return what a pass makes of a module, or its errors, each with the op of the module that is refused."""
    trial = module.clone()
    old = dict(zip(trial.walk(), module.walk(), strict=True))
    try:
        p.apply(context, trial)
    except CompileError as e:
        return [(_nearest(d.op, old) or module, d) for d in e.diagnostics]
    return trial


def _nearest(op: Operation | None, old: Mapping[Operation, Operation]) -> Operation | None:
    """Return the old op for an op or, if a pass made it, for the nearest one around it."""
    while op is not None and op not in old:
        op = op.parent_op()
    return None if op is None else old[op]


def _remove(op: Operation) -> bool:
    """Remove an op, with the one around it if it is a terminator, or else the body of a function; return whether that
    could be done."""
    parent = op.parent_op()
    if parent is not None and op.has_trait(IsTerminator):
        return _remove(parent)
    if isinstance(op, FuncOp) and op.body.blocks:
        op.attributes.pop(SIGNATURE_ATTR, None)  # Only functions with a body have one.
        op.detach_region(op.body).drop_all_references()
        op.add_region(Region())
        return True
    if parent is None or (isinstance(op, FuncOp) and op.sym_name.data in symbols_used(parent)):
        return not isinstance(op, ModuleOp | FuncOp)
    for result in [result for result in op.results if result.first_use is not None]:
        other = next((operand for operand in op.operands if operand.type == result.type), None)
        if other is None:
            t = result.type
            if _STAND_IN in op.attributes or (isa(t, TensorType) and has_unknown(t)):
                return False
            new = AllocTensorOp(t) if isa(t, TensorType) else UnrealizedConversionCastOp.get([], [t])
            new.attributes[_STAND_IN] = UnitAttr()
            Rewriter.insert_op(new, InsertPoint.before(op))
            other = new.results[0]
        result.replace_all_uses_with(other)
    Rewriter.erase_op(op)
    return True


def _left_over(op: Operation, names: Sequence[str]) -> Diagnostic:
    if op.name in REFUSED:
        return diagnose(op, f"cannot be lowered: {REFUSED[op.name]}")
    remedy = removed_by(op)
    hint = f"; {remedy} does" if remedy is not None and remedy not in names else ""
    return diagnose(op, f"cannot be lowered: no pass of the pipeline takes it{hint}")
