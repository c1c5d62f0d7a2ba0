"""Findings of the checks, and their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import name_of
from relex.dialects.index.atoms import VariableOrigin
from relex.dialects.index.constraints import Point, at
from relex.dialects.index.expr import Index
from relex.dialects.tir import ForOp
from relex.passes.analysis.iteration_systems import Instance, scopes_around
from relex.passes.checking.verdicts import Undecided, Verdict, Wrong


@dataclass(frozen=True)
class Finding:
    """An error at an op, or a possible one if it is not `certain`."""

    op: Operation
    message: str
    certain: bool = True


def finding_of(op: Operation, verdict: Verdict, wrong: Callable[[Point], str], right: str) -> Finding | None:
    """Return what a verdict means for an op, if anything: `wrong` says what is expected and what is found at a point,
    and `right` says what holds if nothing is wrong."""
    match verdict:
        case None:
            return None
        case Wrong(point=point):
            return Finding(op, f"expected {wrong(point)}")
        case Undecided(reason=reason):
            return Finding(op, f"cannot decide whether {right}: {reason}", certain=False)


def when(run: Instance, point: Point) -> str:
    """Describe the iteration of a point: the variables of the loops around the op, then the sizes that matter."""
    loops = [scope for scope in scopes_around(run.op) if isinstance(scope, ForOp | scf.ForOp)]
    counted = [scope.body.block.args[0] for scope in reversed(loops)]
    values = [f"{name_of(v)} = {at(run.form(v), point)}" for v in counted]
    sizes = {v.name: value for v, value in point.items() if v.origin is VariableOrigin.SIZE}
    values += [f"{name} = {value}" for name, value in sorted(sizes.items())]
    return f" at {', '.join(values)}" if values else ""


def values_of(names: Sequence[SSAValue], forms: Sequence[Index], point: Point) -> str:
    """Describe the values of variables at a point: `%i = 0, %j = 3`."""
    return ", ".join(f"{name_of(n)} = {at(form, point)}" for n, form in zip(names, forms, strict=True))


def element(buffer: SSAValue, place: Sequence[Index], point: Point) -> str:
    """Describe an element of a buffer: `%Y[0, 3]`."""
    return f"{name_of(buffer)}[{', '.join(str(at(form, point)) for form in place)}]"
