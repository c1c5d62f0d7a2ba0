"""Run functions before and after a pass, and report where they differ."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from relex.dialects.context import make_context
from relex.dialects.dtypes import is_float_dtype
from relex.dialects.errors import CompileError, diagnose, expect_module
from relex.dialects.index.text import parse_index
from relex.dialects.relex import CallDpsPackedOp
from relex.dialects.sizes import evaluate
from relex.dialects.symbols import symbols_used
from relex.dialects.tir import PrimFuncOp
from relex.passes.base import SameCall, apply_pass, same_call_of, steps_of, verify_after
from relex.passes.loops.check_tir import check as check_function
from relex.passes.numerics import Numerics, exact, reassociates, together
from relex.passes.schedule.watching import Step, recorded_steps
from relex.reference.equivalence import sizes
from relex.reference.equivalence.bounds import BoundedNumbers
from relex.reference.equivalence.comparison import Mismatch, find_mismatch, find_other_calls, find_unequal, is_same
from relex.reference.equivalence.execution import Outcome, Runner, TooLong
from relex.reference.equivalence.interface import Interface, NotComparable, find_function, function_names, interface_of
from relex.reference.equivalence.reassociation import ReassociatedNumbers
from relex.reference.equivalence.reduction import nonzero, simplify_arguments
from relex.reference.equivalence.samples import KINDS, Sample, samples
from relex.reference.proof.proof import DifferentTerms, Side, TermDifference, prove
from relex.reference.proof.verdicts import Finding, Kind, Verdict

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


@dataclass(frozen=True)
class Difference:
    """A change of a function by a pass."""

    passes: tuple[ModulePass, ...]
    """The pass, preceded by those that could not be checked, one of which may be to blame instead."""
    function: str
    mismatch: Mismatch
    sample: Sample | None = None
    arguments: tuple[tuple[str, Any], ...] = ()
    """Arguments by name; none if the function can no longer be called."""
    retry: Callable[[Sequence[Any]], Mismatch | None] = field(default=lambda arguments: None, compare=False, repr=False)
    """Returns the mismatch for other arguments, if there is one."""
    is_reordered: bool = False
    """Whether the results could be the same if sums and products may be computed in any order."""
    terms: TermDifference | None = None
    """The terms that differ, if a proof found any."""
    is_directed: bool = False
    """Whether the arguments are those of the sample but for some elements, chosen by the terms."""

    @property
    def message(self) -> str:
        """The first line of an error message: the pass, the function, and the mismatch."""
        p = self.passes[-1]
        who = "the rewriting" if isinstance(p, _Rewriting) else f"pass '{title_of(p)}'"
        return f"{who} changes what @{self.function} {'computes' if self.sample else 'is'}: {self.mismatch}"


@dataclass(frozen=True)
class ScheduleStep(ModulePass):
    """Stands for a step of a schedule that a pass applies."""

    name = "schedule-step"

    within: str
    """The pass."""
    primitive: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def title_of(p: ModulePass) -> str:
    """Return the name of a pass for messages; with the step, if it is one of a schedule."""
    return f"{p.within}: {p.primitive}" if isinstance(p, ScheduleStep) else p.name


class NotEquivalentError(CompileError):
    """Raised when a pass changes what a function computes. `difference` has the details."""

    def __init__(self, difference: Difference, function: Operation, notes: Sequence[str] = ()):
        self.difference = difference
        details = (*explain(difference), *notes)
        super().__init__(replace(diagnose(function, difference.message), notes=details))


def explain(difference: Difference) -> Iterator[str]:
    """Yield notes on a difference: where it was seen, and simple arguments that show it."""
    if len(difference.passes) > 1:
        names = ", ".join(f"'{p.name}'" for p in difference.passes[:-1])
        yield f"it may as well be one of the passes before, which could not be checked: {names}"
    if (numerics := together(difference.passes)) != exact:
        yield f"the pass declares what it does to numbers: {numerics}"
    if difference.is_reordered:
        yield "another order of sums or products may give this: if that is meant, declare 'numerics = reassociates'"
    if difference.terms is not None:
        yield f"for any arguments, {difference.terms}"
    if difference.sample is None:
        return
    yield f"seen in {difference.sample}" + (", with numbers chosen by these terms" if difference.is_directed else "")
    values = [value for _, value in difference.arguments]
    simple = simplify_arguments(values, lambda arguments: difference.retry(arguments) is not None)
    mismatch = difference.retry(simple)
    if mismatch is not None:
        named = [describe_argument(name, v) for (name, _), v in zip(difference.arguments, simple, strict=True)]
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


@dataclass
class Report:
    """The functions that were compared. `skipped` has the reasons for those that were not, by pass and function."""

    compared: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Pass and function, for each function that a pass changed and that still computes the same."""
    skipped: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    findings: list[Finding] = field(default_factory=list[Finding])
    """With `proof`, what is known about each public function after each pass."""


@dataclass
class _Reference:
    """A function as it was last run, and its results."""

    name: str
    is_public: bool
    interface: Interface
    runner: Runner
    seed: int
    count: int
    calls: dict[Sample, tuple[list[Any], Outcome]] = field(default_factory=dict[Sample, "tuple[list[Any], Outcome]"])
    unchecked: tuple[ModulePass, ...] = ()
    """The passes since then."""
    is_slow: bool = False
    """True if a lower level took too long to be interpreted: the next comparison is that of machine code."""
    is_proved: bool = False
    """True if it is proved to compute the same as `earlier`, whose outcomes then stand for its own."""
    earlier: _Reference | None = None
    """The same function before the last pass that changed it; its arguments are the same."""

    @property
    def module(self) -> ModuleOp:
        return self.runner.module

    @cached_property
    def effectful(self) -> frozenset[str]:
        """The library functions that are called for their side effects, according to the graph level."""
        known = self.earlier.effectful if self.earlier is not None else frozenset[str]()
        calls = (op for op in self.module.walk() if isinstance(op, CallDpsPackedOp) and op.side_effects is not None)
        return known | frozenset(op.callee.data for op in calls)

    def narrowed(self, function: Operation | None) -> _Reference:
        """Return a private function with the equal sizes that a pass has found in all of its calls: it may rely on
        them."""
        if self.is_public or function is None or isinstance(function, llvm.FuncOp):
            return self
        stated = interface_of(function)
        if stated.dims == self.interface.dims or not stated.equals(self.interface):
            return self
        # The first form of the function gives the sizes of its results, too.
        *_, first = self, *self.history()
        interface = first.interface.with_dims(stated.dims)
        return replace(first, interface=interface, calls={}, unchecked=self.unchecked, is_slow=self.is_slow)

    def samples(self) -> Iterator[tuple[Sample, list[Any], Outcome]]:
        """Yield samples with their arguments and the outcome of the function."""
        for sample in samples(self.seed, self.count):
            yield sample, *self.call(sample)

    def call(self, sample: Sample) -> tuple[list[Any], Outcome]:
        """Return the arguments of a sample, and the outcome of the function."""
        if self.earlier is not None and self.is_proved:
            return self.earlier.call(sample)
        if sample not in self.calls:
            self.calls[sample] = self._call(sample)
        return self.calls[sample]

    def sizes(self) -> Iterator[tuple[str, list[Any], Sequence[tuple[int, ...]] | None]]:
        """Yield arguments to prove something about, preceded by their sizes, and the shapes of the results: once if all
        sizes are static, else for each size of the samples."""
        specs = self.interface.inputs
        if not any(spec.is_index or min(spec.shape or (), default=0) < 0 for spec in specs):
            yield "", _placeholders(self.interface, empty=True), None
            return
        for sample in samples(self.seed, self.count):
            if sample.kind == next(iter(KINDS)):
                arguments, outcome = self.call(sample)
                if outcome.error is None:
                    yield _sizes_of(self.interface, arguments), arguments, self.shapes(outcome)

    def tried(self) -> Iterator[list[Any]]:
        """Yield zeros, and arguments of each kind: a pass may know how to call the function with some of them only."""
        yield _placeholders(self.interface)
        for sample in samples(self.seed, 1):
            yield next(sample.arguments(self.interface))

    def _call(self, sample: Sample) -> tuple[list[Any], Outcome]:
        *others, last = sample.arguments(self.interface)
        for arguments in others:
            try:
                outcome = self.runner.run(self.name, self.interface, arguments, self._filled(arguments))
            except NotComparable:
                continue
            if outcome.error is None:
                return arguments, outcome
        outcome = self.runner.run(self.name, self.interface, last, self._filled(last))
        if outcome.error is not None and self.accepted:
            arguments = sample.of_shapes(self.interface, self.accepted[sample.number % len(self.accepted)])
            return arguments, self.runner.run(self.name, self.interface, arguments, self._filled(arguments))
        return last, outcome

    @cached_property
    def accepted(self) -> list[sizes.Shapes]:
        """Shapes of arguments that the function accepts, by what is known about its sizes: those of samples may not
        fit."""
        function = find_function(self.module, self.name)
        return sizes.accepted_shapes(function, self.interface) if function is not None else []

    def _filled(self, arguments: Sequence[Any]) -> list[tuple[int, ...]] | None:
        """Return shapes for buffers that the function fills, if some are dynamic: what is stated about them, else as
        large as the largest size of the arguments."""
        specs = self.interface.outputs
        if not self.interface.fills or all(min(spec.shape or (), default=0) >= 0 for spec in specs):
            return None
        known = {
            spec.dims[i] or f"{spec.name}.{i}": n
            for spec, x in zip(self.interface.inputs, arguments, strict=True)
            for i, (size, n) in enumerate(zip(spec.shape or (), np.shape(x), strict=True))
            if size < 0
        }
        largest = max(known.values(), default=0)
        return [
            tuple(n if n >= 0 else _stated(spec.dims[i], known, largest) for i, n in enumerate(spec.shape or ()))
            for spec in specs
        ]

    def spreads(
        self, arguments: Sequence[Any], outcome: Outcome, numerics: Numerics, unequal: Sequence[Array]
    ) -> list[Array]:
        """Return how far apart correct results may lie at the elements that are `unequal`: according to the program at
        this level, and where functions are lowered to bit arithmetic, which has no bounds, according to the last one
        that has. Raises `NotComparable` if that is unknown.

        Where the first program has no bounds either, as where sums may overflow, those in between are not asked.
        """

        def bounds(program: _Reference) -> list[Array]:
            kind = ReassociatedNumbers if numerics.reassociates else BoundedNumbers
            return program.runner.spreads(self.name, program.interface, arguments, self.shapes(outcome), kind)

        def bounds_if_any(program: _Reference) -> list[Array]:
            try:
                return bounds(program)
            except NotComparable:
                return [np.asarray(np.inf) for _ in unequal]

        if not (earlier := list(self.history())):
            return bounds(self)
        spreads = bounds_if_any(self)
        unknown = [mask & ~np.isfinite(spread) for mask, spread in zip(unequal, spreads, strict=True)]
        if not any(map(np.any, unknown)):
            return spreads
        *between, first = earlier
        last_resort = bounds(first)
        unknown = [mask & np.isfinite(spread) for mask, spread in zip(unknown, last_resort, strict=True)]
        for program in between:
            if not any(map(np.any, unknown)):
                return spreads
            found = bounds_if_any(program)
            spreads = list(map(np.where, unknown, found, spreads))
            unknown = [mask & ~np.isfinite(spread) for mask, spread in zip(unknown, found, strict=True)]
        return list(map(np.where, unknown, last_resort, spreads))

    def history(self) -> Iterator[_Reference]:
        """Yield the function as it was before, last form first."""
        if self.earlier is not None:
            yield self.earlier
            yield from self.earlier.history()

    def shapes(self, outcome: Outcome) -> list[tuple[int, ...]]:
        """Return the shapes of the results, without those of the buffers that are written."""
        return [result.shape for result in outcome.results[: len(self.interface.outputs)]]

    def mismatch(
        self, arguments: Sequence[Any], expected: Outcome, found: Outcome, numerics: Numerics
    ) -> Mismatch | None:
        """Return where `found` deviates from what the function may return after a pass of these numerics. Raises
        `NotComparable` if that is unknown."""
        if (other := find_other_calls(expected, found, self.effectful)) is not None:
            return other
        if is_same(expected, found):
            return None
        mismatch = find_mismatch(expected, found, None, self.interface, numerics)
        if mismatch is None or found.error is not None:
            return mismatch
        unequal = [find_unequal(a, b) for a, b in zip(expected.results, found.results, strict=True)]
        spreads = self.spreads(arguments, expected, numerics, unequal)
        return find_mismatch(expected, found, spreads, self.interface, numerics)


def _stated(size: str, known: Mapping[str, int], otherwise: int) -> int:
    """Return the value of the text of a size, if it is one of known names."""
    try:
        return evaluate(parse_index(size), known) if size else otherwise
    except (KeyError, ValueError):
        return otherwise


class Checker:
    """Follows a program from pass to pass."""

    def __init__(self, seed: int = 0, samples: int = 3, *, proof: bool = False):
        self.report = Report()
        self._proof = proof
        self._seed = seed
        self._samples = samples
        self._references: dict[str, _Reference] = {}

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

    def after(self, p: ModulePass, module: ModuleOp) -> Difference | None:
        """Check the next pass; return the first change that it should not have made."""
        runner = Runner(module.clone())
        kept: dict[str, _Reference] = {}
        for name, reference in self._references.items():
            if _is_unchanged(name, reference.module, runner.module):
                kept[name] = reference
                self._note(reference, p, Verdict(Kind.UNCHANGED))
                continue
            if self._proof and _is_unchanged(name, reference.module, runner.module, but_for_attributes=True):
                kept[name] = replace(reference, runner=runner, is_proved=True, earlier=reference)
                self._note(reference, p, Verdict(Kind.PROVED))
                continue
            result = self._compare(reference, runner, p)
            if isinstance(result, Difference):
                return result
            if result is not None:
                kept[name] = result
        self._refer(runner.module, kept, p.name, runner)
        return None

    def check_steps(self, p: ModulePass, steps: Sequence[Step]) -> None:
        """Check each step of a schedule by itself. Raises `NotEquivalentError`."""
        checker, last = Checker(self._seed, self._samples, proof=self._proof), None
        for step in steps:
            if last is None or not last.is_structurally_equivalent(step.before):
                checker.start(step.before)
            last = step.after
            checker.report.findings.clear()
            found = checker.after(ScheduleStep(p.name, str(step.primitive)), step.after)
            if found is not None:
                raise checker.error(found)
            findings = [f for f in checker.report.findings if f.verdict.kind is not Kind.UNCHANGED]
            are_right = any(f.verdict.sizes for f in findings) and _has_right_indices(step.after)
            self.report.findings += [f.with_indices(are_right) for f in findings]

    def error(self, difference: Difference, notes: Sequence[str] = ()) -> NotEquivalentError:
        """Return the error for a difference, located at the function."""
        function = find_function(self.module_before(difference.function), difference.function)
        assert function is not None
        return NotEquivalentError(difference, function, notes)

    def module_before(self, name: str) -> ModuleOp:
        """Return the program as it was when the function was last run."""
        return self._references[name].module

    def _refer(self, module: ModuleOp, kept: dict[str, _Reference], after: str, runner: Runner | None = None) -> None:
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
            kept[name] = _Reference(name, is_public, interface, runner, self._seed, self._samples)
        self._references = kept

    def _skip(self, after: str, name: str, why: str) -> None:
        # Each reason is reported once per function.
        if all((name, why) != (other, reason) for (_, other), reason in self.report.skipped.items()):
            self.report.skipped[after, name] = why

    def _compare(self, before: _Reference, after: Runner, p: ModulePass) -> _Reference | Difference | None:
        """Return the function after a pass; the one before if it can no longer be run; None if there is nothing to
        compare it with."""
        name = before.name
        unproved: NotComparable | None = None
        try:
            before = before.narrowed(find_function(after.module, name))
            call = _Call.of(before, after.module, same_call_of(p), together((*before.unchecked, p)))
            if call is None:
                return None
            if isinstance(call, Mismatch):
                return Difference((*before.unchecked, p), name, call)
            if before.is_public and (wrong := call.find_other_sizes(before, after.module)) is not None:
                return Difference((*before.unchecked, p), name, wrong)
            if self._proof:
                try:
                    return self._prove(before, after, call, p)
                except NotComparable as e:
                    unproved = e
            found = self._run(before, after, call, p)
        except NotComparable as e:
            if before.is_public:
                self._skip(p.name, name, str(e))
            self._note(before, p, Verdict(Kind.OPEN, str(unproved or e)))
            is_slow = before.is_slow or isinstance(e, TooLong)
            return replace(before, unchecked=(*before.unchecked, p), is_slow=is_slow)
        terms = unproved.difference if isinstance(unproved, DifferentTerms) else None
        if terms is not None and not isinstance(found, Difference):
            found = find_directed(before, after, call, p, terms) or found
        if isinstance(found, Difference):
            return replace(found, terms=terms)
        self._note(before, p, Verdict(Kind.CHECKED, str(unproved)))
        if call.rewrite is not None:
            return None
        return replace(before, runner=after, calls=found, unchecked=(), is_proved=False, earlier=before)

    def _prove(self, before: _Reference, after: Runner, call: _Call, p: ModulePass) -> _Reference | None:
        """Return the function after a pass if it is proved to compute the same. Raises `NotComparable`."""
        if call.is_native:
            raise NotComparable("machine code is not run on symbols")
        old = Side(before.runner, before.name, before.interface)
        new = Side(after, before.name, call.interface)
        sizes: list[str] = []
        doubt = 0.0
        for size, arguments, shapes in before.sizes():
            doubt += prove(old, new, arguments, shapes, call.rewrite)
            sizes.append(size)
        if not sizes:
            raise NotComparable("it stops for all samples, even before")
        self._note(before, p, Verdict(Kind.PROVED, sizes=tuple(filter(None, sizes)), doubt=doubt))
        if call.rewrite is not None:
            return None
        return replace(before, runner=after, calls={}, unchecked=(), is_proved=True, earlier=before)

    def _note(self, function: _Reference, p: ModulePass, verdict: Verdict) -> None:
        if self._proof and function.is_public:
            self.report.findings.append(Finding(title_of(p), function.name, str(function.interface), verdict))

    def _run(
        self, before: _Reference, after: Runner, call: _Call, p: ModulePass
    ) -> dict[Sample, tuple[list[Any], Outcome]] | Difference:
        """Return the outcomes of the function after a pass, by sample, or the first difference."""
        if before.is_slow and not call.is_native:
            raise TooLong
        calls: dict[Sample, tuple[list[Any], Outcome]] = {}
        problems: list[NotComparable] = []
        for sample, arguments, expected in before.samples():
            changed = arguments
            if call.rewrite is not None:
                try:
                    arguments, changed = call.rewrite(arguments)
                except NotComparable as e:
                    problems.append(e)
                    calls[sample] = arguments, expected
                    continue
                expected = before.runner.run(before.name, before.interface, arguments, None)
            if expected.error is not None:
                problems.append(NotComparable(f"it stops, even before: {expected.error}"))
                calls[sample] = changed, expected
                continue
            found = after.run(before.name, call.interface, changed, before.shapes(expected))
            calls[sample] = changed, found
            try:
                mismatch = before.mismatch(arguments, expected, found, call.numerics)
            except NotComparable as e:
                problems.append(e)
                continue
            if mismatch is not None:
                named = zip((spec.name for spec in before.interface.inputs), arguments, strict=True)
                retry = partial(_retry, before, after, call)
                passes = (*before.unchecked, p)
                reordered = _is_reordered(before, arguments, expected, found, call.numerics)
                return Difference(passes, before.name, mismatch, sample, tuple(named), retry, reordered)
        if len(problems) == len(calls):
            raise problems[0]
        self.report.compared.append((p.name, before.name))
        return calls


@dataclass(frozen=True)
class _Call:
    """The way to call a function after a pass."""

    interface: Interface
    rewrite: Callable[[Sequence[Any]], tuple[list[Any], list[Any]]] | None
    """Maps arguments to those for the function before the pass and after it, or raises `NotComparable` if there are
    none; None if they stay the same."""
    numerics: Numerics
    is_native: bool = False

    @classmethod
    def of(
        cls, before: _Reference, module: ModuleOp, same_call: SameCall | None, numerics: Numerics
    ) -> _Call | Mismatch | None:
        """Return the way to call the function of a module; the mismatch if it is wrong; None if it is not to be
        compared."""
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        tried = [] if same_call is None else [(given, same_call(old, given)) for given in before.tried()]
        if tried and all(pair is None for _, pair in tried):
            return None
        if new is None and SymbolTable.lookup_symbol(module, before.name) is not None:
            return Mismatch("", "a function to keep its body", "a declaration")
        if new is None:
            return Mismatch("", "a public function to stay", "none of this name") if before.is_public else None
        if isinstance(new, llvm.FuncOp):
            return cls(before.interface, None, numerics, is_native=True) if before.is_public else None
        interface = interface_of(new)
        if same_call is not None and not all(pair and pair[0] is given and pair[1] is given for given, pair in tried):

            def rewrite(arguments: Sequence[Any]) -> tuple[list[Any], list[Any]]:
                pair = same_call(old, arguments)
                if pair is None:
                    raise NotComparable("the pass has no same_call for the arguments that were tried")
                return list(pair[0]), list(pair[1])

            return cls(interface, rewrite, numerics)
        if interface.equals(before.interface) or interface.lowered_from(before.interface):
            return cls(before.interface, None, numerics)
        return Mismatch("", f"{before.interface}", f"{interface}") if before.is_public else None

    def find_other_sizes(self, before: _Reference, module: ModuleOp) -> Mismatch | None:
        """Return a call that a pass makes invalid or valid, or whose result shapes it changes, as far as sizes alone
        show that."""
        if self.is_native or self.rewrite is not None:
            return None
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        assert new is not None
        return sizes.find_mismatch(old, new, before.interface)


def _is_reordered(
    before: _Reference, arguments: Sequence[Any], expected: Outcome, found: Outcome, numerics: Numerics
) -> bool:
    """Return whether a pass that reassociates could have given an outcome. Only finite numbers say something."""
    if not all(np.all(np.isfinite(x)) for x in expected.results if x.dtype.kind == "f"):
        return False
    try:
        return numerics == exact and before.mismatch(arguments, expected, found, reassociates) is None
    except NotComparable:
        return False


def _retry(before: _Reference, after: Runner, call: _Call, arguments: Sequence[Any]) -> Mismatch | None:
    """Return the mismatch for other arguments, if there is one and it is known."""
    changed = arguments
    try:
        if call.rewrite is not None:
            arguments, changed = call.rewrite(arguments)
        expected = before.runner.run(before.name, before.interface, arguments, None)
        if expected.error is not None:
            return None
        found = after.run(before.name, call.interface, changed, before.shapes(expected))
        return before.mismatch(arguments, expected, found, call.numerics)
    except NotComparable:
        return None


MOST_ELEMENTS, MOST_CALLS = 3, 200
"""How many elements of arguments a search changes, and how many calls it tries."""


def find_directed(
    before: _Reference, after: Runner, call: _Call, p: ModulePass, terms: TermDifference
) -> Difference | None:
    """Return a difference for arguments that are those of a sample, but for the elements in terms that differ: these
    become the numbers in the terms, their neighbors, and special numbers."""
    names = [spec.name for spec in before.interface.inputs]
    places = [(names.index(name), index) for name, index in terms.elements[:MOST_ELEMENTS]]
    for sample, arguments, outcome in before.samples() if places else ():
        shapes = [(index, np.shape(arguments[i])) for i, index in places]
        if outcome.error is not None or any(
            i >= n for index, shape in shapes for i, n in zip(index, shape, strict=True)
        ):
            continue
        choices = [_numbers_like(np.asarray(arguments[i]).dtype, terms.numbers) for i, _ in places]
        for values in islice(product(*choices), MOST_CALLS):
            changed = [np.array(x) for x in arguments]
            for (i, index), value in zip(places, values, strict=True):
                changed[i][index] = value
            changed = [x if x.ndim else x[()] for x in changed]
            if (mismatch := _retry(before, after, call, changed)) is not None:
                named = tuple(zip(names, changed, strict=True))
                retry = partial(_retry, before, after, call)
                return Difference((*before.unchecked, p), before.name, mismatch, sample, named, retry, is_directed=True)
        return None
    return None


def _numbers_like(dtype: np.dtype[Any], numbers: Sequence[Any]) -> list[Any]:
    """Return some numbers with their neighbors, as far as a type has them, and special numbers of that type."""
    if not is_float_dtype(dtype):
        step = 0 if dtype.kind == "b" else 1
        wide = [int(n) + d for n in numbers if n.dtype.kind in "iub" for d in (0, step, -step)] + [0, 1, -1]
        return list(dict.fromkeys(np.array(wide).astype(dtype).tolist()))
    with np.errstate(all="ignore"):
        same = [n for n in numbers if n.dtype == dtype and n == n]
        near = [np.nextafter(n, dtype.type(end)) for n in same for end in (np.inf, -np.inf)]
        return [dtype.type(n) for n in (*same, *near, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf)]


def _has_right_indices(module: ModuleOp) -> bool:
    """Return whether the theory of indices proves for all sizes that loop functions access elements that exist, that
    iterations do not conflict, and that outputs are written everywhere."""
    return not any(True for op in module.ops if isinstance(op, PrimFuncOp) for _ in check_function(op))


def _is_unchanged(name: str, before: ModuleOp, after: ModuleOp, *, but_for_attributes: bool = False) -> bool:
    """Return whether a function and everything that it uses is unchanged, but for attributes of functions, if those may
    change: they say something about a function, and nothing that it does."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        symbol = pending.pop()
        if symbol in seen:
            continue
        seen.add(symbol)
        old, new = SymbolTable.lookup_symbol(before, symbol), SymbolTable.lookup_symbol(after, symbol)
        if old is None or new is None or old.parent is None or new.parent is None:
            return False
        context: dict[Any, Any] = {old.parent: new.parent}
        if but_for_attributes and isinstance(old, _FUNCTIONS) and type(old) is type(new):
            same = [a.is_structurally_equivalent(b, context) for a, b in zip(old.regions, new.regions, strict=True)]
            if not all(same) or old.properties != new.properties:
                return False
        elif not old.is_structurally_equivalent(new, context):
            return False
        pending.extend(symbols_used(old))
    return True


_FUNCTIONS = (func.FuncOp, PrimFuncOp)


def _placeholders(interface: Interface, *, empty: bool = False) -> list[Any]:
    """Return arguments of the right types, to ask a pass whether a function can be compared; with `empty`, sizes may be
    0."""
    least = 0 if empty else 1
    return [np.zeros([max(n, least) for n in spec.shape or ()], spec.dtype)[()] for spec in interface.inputs]


def _sizes_of(interface: Interface, arguments: Sequence[Any]) -> str:
    """Return the dynamic sizes of arguments, by name where they have one."""
    found: dict[str, int] = {}
    for spec, value in zip(interface.inputs, arguments, strict=True):
        if spec.is_index and spec.shape is None:
            found[spec.name] = int(value)
        for i, (size, n) in enumerate(zip(spec.shape or (), np.shape(value), strict=True)):
            if size < 0:
                found[spec.dims[i] or f"{spec.name}.{i}"] = n
    return ", ".join(f"{name} = {n}" for name, n in found.items())


def check_pass(p: ModulePass, module: ModuleOp, *, seed: int = 0, samples: int = 3, proof: bool = False) -> Report:
    """
    Run a pass on a copy of a module, and every function on generated arguments before and after it. Raises
    `NotEquivalentError` if a result differs by more than the ops of the program allow (see `bounds`) and the `numerics`
    that the pass declares; a pass composed of others is checked step by step.

    This covers public functions, and private ones that keep their name and type. Arguments are normal numbers, small
    integers, and NaN, infinities, zeros of both signs, the largest and smallest numbers; dynamic sizes are 0, 1 and
    others. `samples` is how often each kind is drawn, from a generator seeded with `seed`. A function that stops before
    the pass may do anything after it. The report lists what was compared, and what could not be and why.

    With `proof`, both sides are first run on symbols in place of numbers: equal terms prove that they compute the same
    for all values. What cannot be proved is checked as above; `findings` of the report say which is which, and why.

    A pass that changes the arguments of functions has a method `same_call`, which says how to call them afterwards.

    ```python
    check_pass(FuseOpsPass(), parse_module(text))
    ```
    """
    expect_module(module)
    checker = Checker(seed, samples, proof=proof)
    module = module.clone()
    checker.start(module)
    _check_steps(p, module, checker)
    return checker.report


def _check_steps(p: ModulePass, module: ModuleOp, checker: Checker) -> None:
    for step in steps_of(p):
        _check_steps(step, module, checker)
    if steps_of(p):
        return
    with checker.watching(p):
        apply_pass(p, make_context(), module)
    verify_after(p, module)
    difference = checker.after(p, module)
    if difference is not None:
        raise checker.error(difference)


def check_equivalent(
    before: ModuleOp,
    after: ModuleOp,
    *,
    seed: int = 0,
    samples: int = 3,
    numerics: Numerics = exact,
    proof: bool = False,
) -> Report:
    """
    Compare the functions of two modules as `check_pass` does: `after` is `before` after some rewriting of these
    numerics. Raises `NotEquivalentError`.
    """
    for module in (before, after):
        expect_module(module)
    checker = Checker(seed, samples, proof=proof)
    checker.start(before)
    difference = checker.after(_Rewriting(numerics), after)
    if difference is not None:
        raise checker.error(difference)
    return checker.report


@dataclass(frozen=True)
class _Rewriting(ModulePass):
    """Stands for the unknown rewriting of one module to another."""

    name = "rewriting"

    numerics: Numerics

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
