"""Try a pass on many programs, and reduce the first one on which it goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, DTypeError, RangeError, diagnose, expect_kind, expect_module
from relex.dialects.upstream.printer import printed
from relex.reference.equivalence.reduction import Patience, reduce_module
from relex.reference.fuzzing.sources import Programs, SourceProgram, rule_names
from relex.reference.fuzzing.trials import TrialFailure, TrialSettings, blame, location_of, try_pass
from relex.reference.fuzzing.variants import apply_variation, has_unused_sizes, main_of, resize, sizes_of


@dataclass
class FuzzReport:
    """The outcome of trying a pass on generated programs."""

    programs: int = 0
    changed: int = 0
    """The number of programs that the pass changed, and that compute the same after it."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """The errors by which the pass refused programs, and how often."""
    skipped: Counter[str] = field(default_factory=Counter[str])
    """The reasons why changed programs could not be compared, and how often."""
    applied: Counter[str] = field(default_factory=Counter[str])
    """The number of applications of each rule or pattern."""
    tried: Counter[str] = field(default_factory=Counter[str])
    """The number of programs of each kind, such as `graph` and `loops`."""
    changed_kinds: Counter[str] = field(default_factory=Counter[str])
    """The number of programs of each kind that the pass changed."""

    @property
    def is_tested(self) -> bool:
        """Whether any program says something about the pass: one that it changed, and that was compared."""
        return self.changed > 0

    @property
    def unchanged_kinds(self) -> list[str]:
        """The kinds of programs of which the pass changed none: nothing is known about them."""
        return [kind for kind in self.tried if not self.changed_kinds[kind]]

    @property
    def unused(self) -> list[str]:
        """The rules that were never applied: nothing is known about them."""
        return [rule for rule, count in self.applied.items() if not count]

    def __str__(self) -> str:
        untested = "none of them changed and compared"
        found = f"{self.changed} of them changed: no mistake found" if self.is_tested else untested
        lines = [f"{self.programs} programs, {found}"]
        lines += [f"  {count:5} times {rule}" for rule, count in self.applied.items() if count]
        for what, reasons in (("refused", self.refused), ("not compared", self.skipped)):
            if reasons:
                lines.append(f"  {reasons.total():5} programs {what}, as: {reasons.most_common(1)[0][0]}")
        if self.is_tested and self.unchanged_kinds:
            lines.append(f"  changed none of the kinds: {', '.join(self.unchanged_kinds)}")
        return "\n".join([*lines, *(f"  never applied: {rule}" for rule in self.unused)])


@dataclass(frozen=True)
class FuzzFinding:
    """A mistake of a pass, and the smallest program that shows it."""

    p: ModulePass
    module: ModuleOp
    failure: TrialFailure
    number: int
    """The number of the program that showed it, before it was reduced."""

    @property
    def rule(self) -> str | None:
        """The rule or pattern that made the mistake; None for a pass without them."""
        return self.failure.step.rule or None if self.failure.step is not None else None

    @property
    def op(self) -> str | None:
        """The name of the op that the pass or the rule was applied to."""
        return self.failure.step.op if self.failure.step is not None else None

    @property
    def message(self) -> str:
        """One line that names the pass, the rule and the mistake."""
        rule = f", rule '{self.rule}'" if self.rule else ""
        return f"pass '{self.p.name}'{rule}, applied to '{self.op}', {self.failure.message}"

    @property
    def text(self) -> str:
        """The program as text."""
        return f"{printed(self.module)}\n"


class FuzzError(CompileError):
    """Raised when a pass goes wrong on a program. `finding` has the pass, the rule, the op and the program."""

    def __init__(self, finding: FuzzFinding, notes: tuple[str, ...] | None = None):
        self.finding = finding
        shown = (f"the smallest program that shows it:\n{finding.text}",) if notes is None else notes
        found = diagnose(location_of(finding.module, finding.failure), finding.message)
        super().__init__(replace(found, notes=(*finding.failure.notes, *shown)))


def fuzz_pass(
    p: ModulePass | type[ModulePass],
    program: ModuleOp | None = None,
    *,
    programs: int = 100,
    seed: int = 0,
    samples: int = 1,
    seconds: float = 10.0,
) -> FuzzReport:
    """
    Try a pass on generated programs, and check each as `check_pass` does. Raises `FuzzError` for the first that the
    pass computes differently, makes invalid, stumbles over with an exception, or does not come to an end on; the error
    names the pass, the rule and the op, and has the program, reduced to what is needed to show the mistake.

    Programs are those that the rules of a pass describe, and variants of them: other sizes, ranks, element types and
    properties, broadcasting, dynamic and empty sizes, values with further users, constants, operators around a match. A
    pass without rules gets random graphs, mostly of the operators that its code names, and loops in which an order
    counts, at the level at which it works; with `program`, any pass gets that one first, and then variants of it.
    Errors that the pass raises by `fail` refuse a program and are no mistakes.

    Equal arguments give equal programs. `samples` is how often each kind of numbers is drawn, as for `check_pass`; a
    run of the pass that takes more than `seconds` of processor time counts as endless.

    A pass that changes no program is not tested: `is_tested` of the report says so.

    ```python
    def test_my_pass():
        assert fuzz_pass(MyPass).changed > 20
    ```
    """
    found = find_mistake(p, program, programs=programs, settings=TrialSettings(seed, samples, seconds))
    if isinstance(found, FuzzFinding):
        raise FuzzError(found)
    return found


def find_mistake(
    p: ModulePass | type[ModulePass], program: ModuleOp | None, *, programs: int, settings: TrialSettings
) -> FuzzFinding | FuzzReport:
    """Return the first mistake that a pass makes on generated programs, or a report if there is none."""
    p = _instance(p)
    if program is not None:
        expect_module(program)
    for name, value, least in (("programs", programs, 1), ("samples", settings.samples, 1), ("seed", settings.seed, 0)):
        if value < least:
            raise RangeError(f"expected {name} to be {least} or more, found {value}")
    report = FuzzReport(applied=Counter(dict.fromkeys(rule_names(p), 0)))
    source = Programs(p, program, settings.seed, report.changed_kinds)
    for number in range(programs):
        made = source.make(number)
        if made is None:
            continue
        drawn = replace(settings, seed=settings.seed + number)
        trial = try_pass(p, made.module, drawn)
        if trial.failure is not None:
            reduced = reduce_program(p, made, trial.failure, drawn)
            failure = blame(p, reduced, drawn, try_pass(p, reduced, drawn))
            return FuzzFinding(p, reduced, failure, number)
        report.programs += 1
        report.tried[made.level] += 1
        report.applied.update(step.rule for step in trial.applied)
        if trial.refused is not None:
            report.refused[trial.refused] += 1
        elif trial.changed and trial.skipped is not None:
            report.skipped[trial.skipped] += 1
        elif trial.changed:
            report.changed += 1
            report.changed_kinds[made.level] += 1
    return report


def _instance(p: ModulePass | type[ModulePass]) -> ModulePass:
    if isinstance(p, type):
        expect_kind(p, type(ModulePass), "a pass")
        try:
            return p()
        except TypeError as e:
            raise DTypeError(f"expected a pass with its options instead of the class: {e}") from e
    expect_kind(p, ModulePass, "a pass")
    return p


def reduce_program(p: ModulePass, program: SourceProgram, failure: TrialFailure, settings: TrialSettings) -> ModuleOp:
    """Return a smaller program on which a pass makes the same mistake: fewer ops, results and arguments, smaller sizes.
    Of a program that was lowered, the graph is reduced."""

    def shows(graph: ModuleOp) -> bool:
        smaller = None if has_unused_sizes(graph) else SourceProgram.at(program.level, graph)
        return smaller is not None and failure.is_like(try_pass(p, smaller.module, settings).failure)

    function = main_of(program.graph)
    name = function.sym_name.data if function is not None else failure.function
    patience = Patience()
    graph, reduced = program.graph, program.graph
    while reduced is not None and patience.is_left():
        graph = reduce_module(reduced, name, shows, patience)
        reduced = next(filter(shows, _smaller_sizes(graph)), None)
    smallest = SourceProgram.at(program.level, graph)
    return smallest.module if smallest is not None else program.module


def _smaller_sizes(module: ModuleOp) -> Iterator[ModuleOp]:
    """Yield programs with one size replaced by a smaller or a static one."""
    function = main_of(module)
    for old in sizes_of(function) if function is not None else ():
        for new in (2,) if old == DYNAMIC_INDEX else (n for n in (1, 2, 3) if n < old):
            smaller = apply_variation(module, lambda f, old=old, new=new: resize(f, old, new))
            if smaller is not None:
                yield smaller
