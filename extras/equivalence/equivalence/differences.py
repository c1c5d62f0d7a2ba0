"""Changes that a pass makes to a function, and how an error explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, diagnose
from relex.passes.rewriting.numerics import Numerics, exact, together
from relex.reference.equivalence.comparison import Mismatch
from relex.reference.equivalence.interface import Spec
from relex.reference.equivalence.proving import TermDifference
from relex.reference.equivalence.reduction import nonzero, simplify_arguments
from relex.reference.equivalence.samples import Sample


@dataclass(frozen=True)
class FunctionChange:
    """A change of a function by a pass."""

    passes: tuple[ModulePass, ...]
    """The pass, preceded by those that could not be checked, one of which may be to blame instead."""
    function: str
    mismatch: Mismatch
    sample: Sample | None = None
    arguments: tuple[tuple[str, Any], ...] = ()
    """Arguments by name; none if the function can no longer be called."""
    specs: tuple[Spec, ...] = ()
    """The specifications of the arguments."""
    retry: Callable[[Sequence[Any]], Mismatch | None] = field(default=lambda arguments: None, compare=False, repr=False)
    """Returns the mismatch for other arguments, if there is one."""
    is_reordered: bool = False
    """Whether the results could be the same if sums and products may be computed in any order."""
    terms: TermDifference | None = None
    """The terms that differ, if a proof found any."""
    is_directed: bool = False
    """Whether the arguments equal the sample's except for some elements, chosen by the terms."""

    @property
    def message(self) -> str:
        """The first line of an error message: the pass, the function, and the mismatch."""
        p = self.passes[-1]
        who = "the rewriting" if isinstance(p, Rewriting) else f"pass '{title_of(p)}'"
        return f"{who} {self.change}"

    @property
    def change(self) -> str:
        """The effect of the pass on the function, as a part of the message."""
        return f"changes what @{self.function} {'computes' if self.sample else 'is'}: {self.mismatch}"


@dataclass(frozen=True)
class ScheduleStep(ModulePass):
    """Stands for a step of a schedule that a pass applies."""

    name = "schedule-step"

    within: str
    """The pass."""
    primitive: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Rewriting(ModulePass):
    """Stands for the unknown rewriting of one module to another."""

    name = "rewriting"

    numerics: Numerics

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def title_of(p: ModulePass) -> str:
    """Return the name of a pass for messages; with the step, if it is one of a schedule."""
    return f"{p.within}: {p.primitive}" if isinstance(p, ScheduleStep) else p.name


class NotEquivalentError(CompileError):
    """Raised when a pass changes what a function computes. `difference` has the details."""

    def __init__(
        self, difference: FunctionChange, function: Operation, notes: Sequence[str] = (), *, terms_in_full: bool = False
    ):
        self.difference = difference
        details = (*explain(difference, terms_in_full=terms_in_full), *notes)
        super().__init__(replace(diagnose(function, difference.message), notes=details))


def explain(difference: FunctionChange, *, terms_in_full: bool = False) -> Iterator[str]:
    """Yield notes on a difference: where it was seen, simple arguments that show it, and, if a proof found it, the
    first difference of the terms, or both terms in full."""
    if len(difference.passes) > 1:
        names = ", ".join(f"'{p.name}'" for p in difference.passes[:-1])
        yield f"it may as well be one of the passes before, which could not be checked: {names}"
    if (numerics := together(difference.passes)) != exact:
        yield f"the pass declares what it does to numbers: {numerics}"
    if difference.is_reordered:
        yield "another order of sums or products may give this: if that is meant, declare 'numerics = reassociates'"
    if difference.terms is not None:
        yield f"for any arguments, {difference.terms}"
        if terms_in_full:
            yield from difference.terms.in_full
        elif not difference.terms.first.is_whole:
            yield "for both terms in full: --check-each=proof,terms; in Python, 'difference.terms.in_full' of the error"
    if difference.sample is None:
        return
    yield f"seen in {difference.sample}" + (", with numbers chosen by these terms" if difference.is_directed else "")
    values = [value for _, value in difference.arguments]
    simple = simplify_arguments(values, lambda arguments: difference.retry(arguments) is not None)
    mismatch = difference.retry(simple)
    if mismatch is not None:
        shown = [spec.shown(v) for spec, v in zip(difference.specs, simple, strict=True)] or simple
        named = [describe_argument(name, v) for (name, _), v in zip(difference.arguments, shown, strict=True)]
        yield f"with {'; '.join(filter(None, named)) or 'zeros for all arguments'}: {mismatch}"


SHOWN = 8
"""The maximum number of elements of an argument that a message shows."""


def describe_argument(name: str, value: Any) -> str:
    """Format the nonzero elements of an argument; empty if there are none."""
    array = np.asarray(value)
    places = np.argwhere(nonzero(array))
    if not array.ndim:
        return f"%{name} = {array[()]!s}" if np.any(nonzero(array)) else ""
    shown = ", ".join(f"%{name}[{', '.join(map(str, place))}] = {array[tuple(place)]!s}" for place in places[:SHOWN])
    return shown + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")
