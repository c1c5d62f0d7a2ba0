"""Records what passes do to a program, for a report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import Diagnostic
from relex.lowering.plan_memory import PlanMemoryPass
from relex.passes.base import steps_of
from relex.tools.instrumentation import Instrumentation
from relex.tools.reports.drawing import Drawing, draw_graphs
from relex.tools.reports.listings import Listing, Listings
from relex.tools.reports.memory import MemoryPlan, memory_plans


@dataclass(frozen=True)
class Remark:
    """What a pass said about an op."""

    function: str
    place: str
    message: str
    notes: tuple[str, ...]


@dataclass
class Step:
    """A pass and the program after it. The first step has no pass, but the program as it was read."""

    name: str
    seconds: float = 0.0
    functions: dict[str, Listing] = field(default_factory=dict[str, Listing])
    drawings: dict[str, Drawing] = field(default_factory=dict[str, Drawing])
    remarks: list[Remark] = field(default_factory=list[Remark])
    verdict: str = ""
    """What `--check-each` found out, if it runs."""
    error: str = ""
    """Why the pass failed, if it did."""


@dataclass
class Recorder(Instrumentation):
    """Takes down the program after each pass, how long the pass took, and what it said."""

    steps: list[Step] = field(default_factory=list[Step])
    plans: list[MemoryPlan] = field(default_factory=list[MemoryPlan])
    _remarks: list[Remark] = field(default_factory=list[Remark])
    _listings: Listings = field(default_factory=Listings)
    _since: float = 0.0

    def start(self, module: ModuleOp) -> None:
        self.steps[:], self.plans[:] = [], []
        self._add(Step("input"), module)

    def before(self, p: ModulePass, module: ModuleOp) -> None:
        self._remarks.clear()
        self._since = time.perf_counter()

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if steps_of(p):
            return
        seconds = time.perf_counter() - self._since
        self._add(Step(p.name, seconds, remarks=list(self._remarks)), module)
        if isinstance(p, PlanMemoryPass):
            self.plans[:] = memory_plans(module)

    def failed(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self.steps.append(
                Step(p.name, time.perf_counter() - self._since, remarks=list(self._remarks), error="this pass failed")
            )

    def remark(self, diagnostic: Diagnostic) -> None:
        """Take down a remark or a warning of the running pass."""
        place = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}" if diagnostic.line else ""
        self._remarks.append(Remark(_function_of(diagnostic), place, diagnostic.message, diagnostic.notes))

    def verdict(self, text: str) -> None:
        """Take down what a check has found out about the last pass."""
        self.steps[-1].verdict = text

    @property
    def places(self) -> Iterator[str]:
        """The known places of the program as it was read."""
        return (place for f in self.steps[0].functions.values() for place in f.places if place)

    def _add(self, step: Step, module: ModuleOp) -> None:
        step.functions = self._listings.of(module)
        step.drawings = draw_graphs(module)
        self.steps.append(step)


def _function_of(diagnostic: Diagnostic) -> str:
    """Return the name of the function that a diagnostic is about."""
    op = diagnostic.op
    while op is not None and not isinstance(op.parent_op(), ModuleOp):
        op = op.parent_op()
    name = op.properties.get("sym_name") if op is not None else None
    return getattr(name, "data", "")
