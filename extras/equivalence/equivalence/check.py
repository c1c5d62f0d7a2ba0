"""Run functions before and after a pass, and report where they differ."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.context import make_context
from relex.dialects.errors import expect_module
from relex.dialects.tir import PrimFuncOp
from relex.passes.driver.activity import doing
from relex.passes.driver.base import apply_pass, same_call_of, steps_of, verify_after
from relex.passes.loops.check_tir import check as check_function
from relex.passes.rewriting.numerics import Numerics, exact, numerics_of, together
from relex.passes.schedule.watching import AppliedPrimitive, recorded_steps
from relex.reference.equivalence.call_after import CallAfter
from relex.reference.equivalence.comparison import Mismatch
from relex.reference.equivalence.differences import (
    FunctionChange,
    NotEquivalentError,
    Rewriting,
    ScheduleStep,
    title_of,
)
from relex.reference.equivalence.directed import find_directed
from relex.reference.equivalence.execution import CallOutcome, Runner, TooLong
from relex.reference.equivalence.interface import NotComparable, find_function, function_names, interface_of
from relex.reference.equivalence.proving import DifferentTerms, Proof, Side, prove
from relex.reference.equivalence.references import LastRun
from relex.reference.equivalence.samples import Sample
from relex.reference.equivalence.time_limit import SECONDS, TimeLimit
from relex.reference.equivalence.unchanged import is_unchanged
from relex.reference.equivalence.verdicts import Certainty, FunctionVerdict, Verdict


@dataclass
class CheckReport:
    """The functions that were compared. `skipped` has the reasons for those that were not, by pass and function."""

    compared: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Pass and function, for each function that a pass changed and that still computes the same."""
    skipped: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    findings: list[FunctionVerdict] = field(default_factory=list[FunctionVerdict])
    """With `proof`, what is known about each public function after each pass."""


class Checker:
    """Follows a program from pass to pass."""

    def __init__(self, seed: int = 0, samples: int = 3, *, proof: bool = False, seconds: float = SECONDS):
        self.report = CheckReport()
        self._time = TimeLimit(seconds)
        self._proof = proof
        self._seed = seed
        self._samples = samples
        self._references: dict[str, LastRun] = {}

    def start(self, module: ModuleOp) -> None:
        """Start with the program before all passes."""
        self._references = {}
        self._refer(module.clone(), {}, "")

    @contextmanager
    def watching(self, p: ModulePass) -> Generator[None]:
        """Prove each step of the schedules that a pass applies in the body. Raises `NotEquivalentError`."""
        if not self._proof:
            yield
            return
        with recorded_steps() as steps:
            yield
        self.check_steps(p, steps)

    def after(self, p: ModulePass, module: ModuleOp) -> FunctionChange | None:
        """Check the next pass; return the first change that it should not have made."""
        if numerics_of(p).relaxes:
            runners: dict[Runner, Runner] = {}
            self._references = {name: reference.relaxed(runners) for name, reference in self._references.items()}
        runner = Runner(module.clone())
        kept: dict[str, LastRun] = {}
        for name, reference in self._references.items():
            if is_unchanged(name, reference.module, runner.module):
                kept[name] = reference
                self._note(reference, p, Verdict(Certainty.UNCHANGED))
                continue
            if self._proof and is_unchanged(name, reference.module, runner.module, but_for_attributes=True):
                kept[name] = replace(reference, runner=runner, is_proved=True, earlier=reference)
                self._note(reference, p, Verdict(Certainty.PROVED))
                continue
            result = self._compare(reference, runner, p)
            if isinstance(result, FunctionChange):
                return result
            if result is not None:
                kept[name] = result
        self._refer(runner.module, kept, p.name, runner)
        return None

    def expect_same(self, p: ModulePass, module: ModuleOp) -> None:
        """Check the next pass. Raises `NotEquivalentError` for the first change that it should not have made."""
        difference = self.after(p, module)
        if difference is not None:
            raise self.error(difference)

    def check_steps(self, p: ModulePass, steps: Sequence[AppliedPrimitive]) -> None:
        """Check each step of a schedule by itself. Raises `NotEquivalentError`."""
        checker, last = _StepChecker(self), None
        for step in steps:
            if last is None or not last.is_structurally_equivalent(step.before):
                checker.start(step.before)
            last = step.after
            checker.report.findings.clear()
            checker.expect_same(ScheduleStep(p.name, str(step.primitive)), step.after)
            findings = [f for f in checker.report.findings if f.verdict.kind is not Certainty.UNCHANGED]
            are_right = any(f.verdict.sizes for f in findings) and _has_right_indices(step.after)
            self.report.findings += [f.with_indices(are_right) for f in findings]

    def error(
        self, difference: FunctionChange, notes: Sequence[str] = (), *, terms_in_full: bool = False
    ) -> NotEquivalentError:
        """Return the error for a difference, located at the function; with `terms_in_full`, the terms of a proof."""
        function = find_function(self.module_before(difference.function), difference.function)
        assert function is not None
        return NotEquivalentError(difference, function, notes, terms_in_full=terms_in_full)

    def module_before(self, name: str) -> ModuleOp:
        """Return the program as it was when the function was last run."""
        return self._references[name].module

    def _refer(self, module: ModuleOp, kept: dict[str, LastRun], after: str, runner: Runner | None = None) -> None:
        """Add references for new functions to those that are `kept`."""
        runner = runner or Runner(module)
        for name, is_public in function_names(module).items():
            function = find_function(module, name)
            if name in kept or function is None or (after and isinstance(function, llvm.FuncOp)):
                continue
            try:
                interface = interface_of(function)
            except NotComparable as e:
                if is_public and name not in self._references:
                    self._skip(after, name, str(e))
                continue
            kept[name] = LastRun(name, is_public, interface, runner, self._seed, self._samples)
        self._references = kept

    def _skip(self, after: str, name: str, why: str) -> None:
        # Each reason is reported once per function.
        if all((name, why) != (other, reason) for (_, other), reason in self.report.skipped.items()):
            self.report.skipped[after, name] = why

    def _compare(self, before: LastRun, after: Runner, p: ModulePass) -> LastRun | FunctionChange | None:
        """Return the function after a pass; the one before if it can no longer be run; None if there is nothing to
        compare it with."""
        name = before.name
        unproved: NotComparable | None = None
        try:
            before = before.narrowed(find_function(after.module, name))
            call = CallAfter.of(before, after.module, same_call_of(p), together((*before.unchecked, p)))
            if call is None:
                return None
            if isinstance(call, Mismatch):
                return FunctionChange((*before.unchecked, p), name, call)
            if before.is_public and (wrong := call.find_other_sizes(before, after.module)) is not None:
                return FunctionChange((*before.unchecked, p), name, wrong)
            if self._proof:
                try:
                    return self._prove(before, after, call, p)
                except NotComparable as e:
                    unproved = e
            found = self._run(before, after, call, p)
        except NotComparable as e:
            if before.is_public:
                self._skip(p.name, name, str(e))
            self._note(before, p, Verdict(Certainty.OPEN, str(unproved or e)))
            is_slow = before.is_slow or isinstance(e, TooLong)
            return replace(before, unchecked=(*before.unchecked, p), is_slow=is_slow)
        terms = unproved.difference if isinstance(unproved, DifferentTerms) else None
        if terms is not None and not isinstance(found, FunctionChange):
            found = find_directed(before, after, call, p, terms) or found
        if isinstance(found, FunctionChange):
            return replace(found, terms=terms)
        self._note(before, p, Verdict(Certainty.CHECKED, str(unproved)))
        if call.rewrite is not None:
            return None
        return replace(before, runner=after, calls=found, unchecked=(), is_proved=False, earlier=before)

    def _prove(self, before: LastRun, after: Runner, call: CallAfter, p: ModulePass) -> LastRun | None:
        """Return the function after a pass if it is proved to compute the same. Raises `NotComparable`."""
        if call.is_native:
            raise NotComparable("machine code is not run on symbols")
        old = Side(before.runner, before.name, before.interface)
        new = Side(after, before.name, call.interface)
        sizes: list[str] = []
        proof, doubt = Proof(), 0.0
        with self._time.limited(before.name), doing(f"proof of @{before.name} after '{title_of(p)}'"):
            for size, arguments, shapes in before.sizes():
                proof = prove(old, new, arguments, shapes, call.rewrite)
                doubt += proof.doubt
                sizes.append(size)
        if not sizes:
            raise NotComparable("it stops for all samples, even before")
        self._note(before, p, Verdict(Certainty.PROVED, "", tuple(filter(None, sizes)), proof.rows, doubt=doubt))
        if call.rewrite is not None:
            return None
        return replace(before, runner=after, calls={}, unchecked=(), is_proved=True, earlier=before)

    def _note(self, function: LastRun, p: ModulePass, verdict: Verdict) -> None:
        if self._proof and function.is_public:
            self.report.findings.append(FunctionVerdict(title_of(p), function.name, verdict))

    def _run(
        self, before: LastRun, after: Runner, call: CallAfter, p: ModulePass
    ) -> dict[Sample, tuple[list[Any], CallOutcome]] | FunctionChange:
        """Return the outcomes of the function after a pass, by sample, or the first difference."""
        if before.is_slow and not call.is_native:
            raise TooLong
        calls: dict[Sample, tuple[list[Any], CallOutcome]] = {}
        problems: list[NotComparable] = []
        for sample, arguments, expected in before.samples():
            try:
                given, changed, expected = call.given(before, arguments, expected)
            except NotComparable as e:
                problems.append(e)
                calls[sample] = arguments, expected
                continue
            found = after.run(before.name, call.interface, changed, before.shapes(expected))
            # Where the pass changes arguments, nobody asks for the calls.
            calls[sample] = arguments, found
            try:
                mismatch = before.mismatch(given, expected, found, call.numerics)
            except NotComparable as e:
                problems.append(e)
                continue
            if mismatch is not None:
                named = zip((spec.name for spec in before.interface.inputs), given, strict=True)
                retry = partial(call.mismatch, before, after)
                passes = (*before.unchecked, p)
                reordered = call.numerics == exact and before.may_be_reordered(given, expected, found)
                specs = before.interface.inputs
                return FunctionChange(passes, before.name, mismatch, sample, tuple(named), specs, retry, reordered)
        if len(problems) == len(calls):
            raise problems[0]
        self.report.compared.append((p.name, before.name))
        return calls


class _StepChecker(Checker):
    """Follows a program from step to step of a schedule, while there is time: its pass is checked as a whole, too."""

    def __init__(self, passes: Checker):
        super().__init__(passes._seed, passes._samples, proof=passes._proof)
        self._time = passes._time

    def _compare(self, before: LastRun, after: Runner, p: ModulePass) -> LastRun | FunctionChange | None:
        return super()._compare(before, after, p) if self._time.left(before.name) > 0 else None

    def _run(
        self, before: LastRun, after: Runner, call: CallAfter, p: ModulePass
    ) -> dict[Sample, tuple[list[Any], CallOutcome]] | FunctionChange:
        with self._time.limited(before.name):
            return super()._run(before, after, call, p)


def _has_right_indices(module: ModuleOp) -> bool:
    """Return whether the theory of indices proves for all sizes that loop functions access elements that exist, that
    iterations do not conflict, and that outputs are written everywhere."""
    return not any(True for op in module.ops if isinstance(op, PrimFuncOp) for _ in check_function(op))


def check_pass(
    p: ModulePass,
    module: ModuleOp,
    *,
    seed: int = 0,
    samples: int = 3,
    proof: bool = False,
    seconds: float = SECONDS,
) -> CheckReport:
    """
    Run a pass on a copy of a module, and every function on generated arguments before and after it. Raises
    `NotEquivalentError` if a result differs by more than the ops of the program allow (see `bounds`) and the `numerics`
    that the pass declares; a pass composed of others is checked step by step.

    This covers public functions, and private ones that keep their name and type. Arguments are normal numbers, small
    integers, and NaN, infinities, zeros of both signs, the largest and smallest numbers; dynamic sizes are 0, 1 and
    others. `samples` is how often each kind is drawn, from a generator seeded with `seed`. A function that stops before
    the pass may do anything after it. The report lists what was compared, and what could not be and why.

    With `proof`, both sides are first run on symbols in place of numbers: equal terms prove that they compute the same
    for all values. What cannot be proved is checked as above, and so is what is left of a function whose proofs have
    taken as many `seconds` of a processor; `findings` of the report say which is which, and why.

    A pass that changes the arguments of functions has a method `same_call`, which says how to call them afterwards.

    ```python
    check_pass(FuseOpsPass(), parse_module(text))
    ```
    """
    expect_module(module)
    checker = Checker(seed, samples, proof=proof, seconds=seconds)
    module = module.clone()
    checker.start(module)
    for step in flat_steps(p):
        with checker.watching(step):
            apply_pass(step, make_context(), module)
        verify_after(step, module)
        checker.expect_same(step, module)
    return checker.report


def flat_steps(p: ModulePass) -> Iterator[ModulePass]:
    """Yield the passes that a pass is composed of, or the pass itself."""
    steps = steps_of(p)
    for step in steps:
        yield from flat_steps(step)
    if not steps:
        yield p


def check_equivalent(
    before: ModuleOp,
    after: ModuleOp,
    *,
    seed: int = 0,
    samples: int = 3,
    numerics: Numerics = exact,
    proof: bool = False,
) -> CheckReport:
    """
    Compare the functions of two modules as `check_pass` does: `after` is `before` after some rewriting of these
    numerics. Raises `NotEquivalentError`.
    """
    for module in (before, after):
        expect_module(module)
    checker = Checker(seed, samples, proof=proof)
    checker.start(before)
    checker.expect_same(Rewriting(numerics), after)
    return checker.report
