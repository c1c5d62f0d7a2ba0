"""Prediction of the ops that a pipeline cannot lower."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, ShapedType, TensorType
from xdsl.ir import Dialect, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.errors import Diagnostic, PassError, diagnose
from relex.lowering.llvm.convert_to_llvm import REFUSED, removed_by
from relex.lowering.llvm.types import convert_type
from relex.passes.base import RelexPass


def find_unsupported(module: ModuleOp, passes: Sequence[ModulePass]) -> list[Diagnostic]:
    """
    Return an error for every op of a module that the passes, run in this order, cannot lower: ops that a pass refuses
    and, if the passes lead to the LLVM dialect, ops of other dialects that no pass converts.

    Passes answer by `RelexPass.takes` and `RelexPass.refusals`; those of xDSL are in the table used by `removed_by`.
    Ops created by a pass are assumed to be supported.
    """
    left = [op for op in module.walk() if not isinstance(op, ModuleOp) and not _goes_with_parent(op)]
    names = [p.name for p in passes]
    to_machine = any(_makes_llvm(name) for name in names)
    problems: list[Diagnostic] = []
    for p in passes:
        refusals = p.refusals(module, left) if isinstance(p, RelexPass) else []
        taken = {op for op in left if _takes(p, op)}
        if to_machine and not _makes_llvm(p.name):
            refused = {(d.file, d.line, d.column) for d in refusals}
            elements = [problem for op in taken if (problem := _check_elements(op)) is not None]
            refusals += [d for d in elements if (d.file, d.line, d.column) not in refused]
        problems += refusals
        left = [op for op in left if op not in taken]
    if to_machine:
        problems += [_left_over(op, names) for op in left if not op.name.startswith("llvm.")]
    return sorted(dict.fromkeys(problems), key=lambda d: (d.file, d.line, d.column))


def _makes_llvm(pass_name: str) -> bool:
    return pass_name.endswith("-to-llvm")


def _takes(p: ModulePass, op: Operation) -> bool:
    if _is_control_flow_of_tensors(op):
        return False
    return removed_by(op) == p.name or (isinstance(p, RelexPass) and p.takes(op))


def _is_control_flow_of_tensors(op: Operation) -> bool:
    """Return whether an op of `scf` has tensor results: only `scf` on buffers can be lowered."""
    return op.dialect_name() == "scf" and any(isinstance(t, TensorType) for t in op.result_types)


def _goes_with_parent(op: Operation) -> bool:
    """Return whether an op is the terminator of a parent of the same dialect: they are lowered together."""
    parent = op.parent_op()
    return (
        parent is not None
        and op.has_trait(IsTerminator)
        and Dialect.split_name(op.name)[0] == Dialect.split_name(parent.name)[0]
    )


def _check_elements(op: Operation) -> Diagnostic | None:
    """Return an error if the machine level lacks the element type of an op's operands or results; else None."""
    arguments = [arg.type for region in op.regions for block in region.blocks for arg in block.args]
    # A buffer that is only passed on is an address, whatever its elements.
    scalars = [t for t in arguments if not isinstance(t, ShapedType)]
    try:
        for t in (*op.operand_types, *op.result_types, *scalars):
            convert_type(op, get_element_type_or_self(t))
    except PassError as e:
        return e.diagnostics[0]
    return None


def _left_over(op: Operation, names: Sequence[str]) -> Diagnostic:
    if op.name in REFUSED:
        return diagnose(op, f"cannot be lowered: {REFUSED[op.name]}")
    remedy = removed_by(op)
    hint = f"; {remedy} does" if remedy is not None and remedy not in names else ""
    return diagnose(op, f"cannot be lowered: no pass of the pipeline takes it{hint}")
