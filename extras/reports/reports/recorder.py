"""Records what passes do to a program, for a report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, Diagnostic, describe
from relex.dialects.tir import PrimFuncOp
from relex.lowering.plan_memory import PlanMemoryPass
from relex.passes import CheckTirPass
from relex.passes.driver.base import steps_of
from relex.tools.options.instrumentation import Instrumentation
from relex.tools.reports.drawing import Drawing, draw_graphs, symbol_name
from relex.tools.reports.listings import Listing, Listings
from relex.tools.reports.memory import MemoryPlan, memory_plans


@dataclass(frozen=True)
class ShownRemark:
    """A remark of a pass about an op."""

    function: str
    place: str
    message: str
    notes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    """The schedule primitives that were applied."""


@dataclass(frozen=True)
class CheckResult:
    """The result of a check of a function after a pass."""

    function: str
    kind: str
    """`proved`, `checked`, `unchanged`, `open`, `undecided` or `wrong`."""
    why: str = ""
    step: str = ""
    """The step of a schedule that was checked by itself, if it was not the pass."""


@dataclass
class PassStep:
    """A pass and the program after it. The first step has no pass, but the program as it was read."""

    name: str
    seconds: float = 0.0
    functions: dict[str, Listing] = field(default_factory=dict[str, Listing])
    drawings: dict[str, Drawing] = field(default_factory=dict[str, Drawing])
    remarks: list[ShownRemark] = field(default_factory=list[ShownRemark])
    findings: list[CheckResult] = field(default_factory=list[CheckResult])
    """The findings of `--check-each` or `check-tir`, if one of them runs."""
    error: str = ""
    """Why the pass failed, or what it broke, if it did."""

    @property
    def verdict(self) -> str:
        """The findings in short."""
        counts = Counter(found.kind for found in self.findings)
        return ", ".join(f"{count} {kind}" for kind, count in counts.items())


@dataclass
class Recorder(Instrumentation):
    """Records the program after each pass, how long the pass took, and what it said."""

    steps: list[PassStep] = field(default_factory=list[PassStep])
    plans: list[MemoryPlan] = field(default_factory=list[MemoryPlan])
    _remarks: list[ShownRemark] = field(default_factory=list[ShownRemark])
    _listings: Listings = field(default_factory=Listings)
    _since: float = 0.0

    def start(self, module: ModuleOp) -> None:
        self.steps[:], self.plans[:] = [], []
        self._add(PassStep("input"), module)

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        self._remarks.clear()
        self._since = time.perf_counter()

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if steps_of(p):
            return
        seconds = time.perf_counter() - self._since
        self._add(PassStep(p.name, seconds, remarks=list(self._remarks)), module)
        if isinstance(p, PlanMemoryPass):
            self.plans[:] = memory_plans(module)
        if isinstance(p, CheckTirPass):
            self.found(_decided(module, self._remarks))

    def failed(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            seconds = time.perf_counter() - self._since
            self.steps.append(PassStep(p.name, seconds, remarks=list(self._remarks), error="this pass failed"))

    def stopped(self, error: Exception) -> None:
        """Record why the last pass failed, or what a check has found wrong with it."""
        step = self.steps[-1]
        if not isinstance(error, CompileError):
            step.error = describe(error)
            return
        step.error = "\n".join(str(replace(d, source_line=None)) for d in error.diagnostics)
        wrong = {name: d for d in error.diagnostics if (name := _function_of(d))}
        self.found(CheckResult(name, "wrong", d.reason or d.message) for name, d in wrong.items())

    def remark(self, diagnostic: Diagnostic) -> None:
        """Record a remark or a warning of the running pass."""
        place = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}" if diagnostic.line else ""
        d = diagnostic
        self._remarks.append(ShownRemark(_function_of(d), place, d.reason or d.message, d.notes, d.steps))

    def found(self, findings: Iterable[CheckResult]) -> None:
        """Record what a check has found out about the last pass."""
        self.steps[-1].findings += findings

    @property
    def places(self) -> Iterator[str]:
        """The known places of the program as it was read."""
        return (place for f in self.steps[0].functions.values() for place in f.places if place)

    def _add(self, step: PassStep, module: ModuleOp) -> None:
        step.functions = self._listings.of(module)
        step.drawings = draw_graphs(module)
        self.steps.append(step)


def _decided(module: ModuleOp, remarks: Iterable[ShownRemark]) -> Iterator[CheckResult]:
    """Yield what `check-tir` has found out, which warns of all that it cannot decide."""
    open_ones = {remark.function: remark.message for remark in remarks}
    for function in (f.sym_name.data for f in module.walk() if isinstance(f, PrimFuncOp)):
        why = open_ones.get(function, "")
        yield CheckResult(function, "undecided" if why else "proved", why)


def _function_of(diagnostic: Diagnostic) -> str:
    """Return the name of the function that a diagnostic is about; it may not be part of a module yet, or no more."""
    op = diagnostic.op
    while op is not None and (outer := op.parent_op()) is not None and not isinstance(outer, ModuleOp):
        op = outer
    return "" if op is None else symbol_name(op)
