"""Comparisons whose differences are findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, InvalidOutputError
from relex.passes.driver.base import RelexPass, apply_pass
from relex.passes.rewriting.numerics import together
from relex.reference import check_pass
from relex.reference.equivalence.check import CheckReport
from relex.reference.equivalence.differences import NotEquivalentError
from relex.reference.fuzzing.variants import has_unused_sizes
from relex.tools.campaign.subject import Skip

if TYPE_CHECKING:
    from relex.passes.rewriting.numerics import Numerics


def skip_unused_sizes(module: ModuleOp) -> None:
    """Raise `Skip` for a program of which passes may remove an operator that would refuse the sizes of a call."""
    if has_unused_sizes(module):
        raise Skip("an unused operator requires something of sizes")


def read_back(read: Callable[[str], ModuleOp], text: str) -> ModuleOp:
    """Read a program that was printed. Raises `InvalidOutputError` if the reader refuses it."""
    try:
        return read(text)
    except CompileError as e:
        found = [replace(d, message=f"{d.message} when it is read back") for d in e.diagnostics]
        raise InvalidOutputError(found) from e


def difference(compare: Callable[[], CheckReport]) -> str | None:
    """Return what a comparison finds, None for nothing. Raises `Skip` if nothing could be compared."""
    try:
        report = compare()
    except NotEquivalentError as e:
        (found,) = e.diagnostics
        return "\n".join([found.message, *found.notes])
    if not report.compared and report.skipped:
        raise Skip(next(iter(report.skipped.values())))
    return None


def difference_after(stages: Sequence[Sequence[ModulePass]], module: ModuleOp, seed: int) -> str | None:
    """Return where a program computes something else after a stage of passes, None for nowhere. What the program
    computes is compared once a stage, which takes a fraction of the time that it takes after each pass; only if it is
    something else is it compared after each, so that the message names the pass. Raises `Skip` if nothing could be
    compared."""
    stages = [stage for stage in stages if stage]
    found = difference(lambda: check_pass(_Passes([_Stage(stage) for stage in stages]), module, seed=seed, samples=1))
    if found is None:
        return None
    each = _Passes([p for stage in stages for p in stage])
    with suppress(Skip):
        found = difference(lambda: check_pass(each, module, seed=seed, samples=1)) or found
    return found


@dataclass(frozen=True)
class _Passes(RelexPass):
    """Passes of which each is checked."""

    name = "passes"

    passes: Sequence[ModulePass]

    def steps(self) -> Sequence[ModulePass]:
        return self.passes

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for p in self.passes:
            apply_pass(p, ctx, op)


@dataclass(frozen=True)
class _Stage(ModulePass):
    """Passes that are checked as if they were one."""

    name = "stage"

    passes: Sequence[ModulePass]

    @property
    def numerics(self) -> Numerics:
        return together(self.passes)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for p in self.passes:
            apply_pass(p, ctx, op)
