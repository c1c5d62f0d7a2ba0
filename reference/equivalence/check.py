"""Run functions before and after a pass, and say where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.traits import SymbolTable

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, diagnose, expect_module
from relex.dialects.symbols import symbols_used
from relex.passes.base import SameCall, same_call_of, steps_of, verify_after
from relex.reference.equivalence import execution, sizes
from relex.reference.equivalence.comparison import Mismatch, find_mismatch, is_same
from relex.reference.equivalence.execution import Outcome, Runner, TooLong
from relex.reference.equivalence.interface import Interface, NotComparable, find_function, function_names, interface_of
from relex.reference.equivalence.reduction import nonzero, simplify_arguments
from relex.reference.equivalence.samples import Sample, samples

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


@dataclass(frozen=True)
class Difference:
    """What a pass has changed in a function."""

    passes: tuple[ModulePass, ...]
    """The pass; before it those that could not be checked, one of which may be to blame as well."""
    function: str
    mismatch: Mismatch
    sample: Sample | None = None
    arguments: tuple[tuple[str, Any], ...] = ()
    """By name; none if the function cannot be called any more."""
    retry: Callable[[Sequence[Any]], Mismatch | None] = field(default=lambda arguments: None, compare=False, repr=False)
    """Whether other arguments show a difference too."""

    @property
    def message(self) -> str:
        p = self.passes[-1]
        who = "the rewriting" if isinstance(p, _Rewriting) else f"pass '{p.name}'"
        return f"{who} changes what @{self.function} {'computes' if self.sample else 'is'}: {self.mismatch}"


class NotEquivalentError(CompileError):
    """A pass that does not keep what a function computes. `difference` says more."""

    def __init__(self, difference: Difference, function: Operation, notes: Sequence[str] = ()):
        self.difference = difference
        details = (*explain(difference), *notes)
        super().__init__(replace(diagnose(function, difference.message), notes=details))


def explain(difference: Difference) -> Iterator[str]:
    """What there is to say about a difference beside its message: where it was seen, and simple arguments that show
    it."""
    if len(difference.passes) > 1:
        names = ", ".join(f"'{p.name}'" for p in difference.passes[:-1])
        yield f"it may as well be one of the passes before, which could not be checked: {names}"
    if difference.sample is None:
        return
    yield f"seen in {difference.sample}"
    values = [value for _, value in difference.arguments]
    simple = simplify_arguments(values, lambda arguments: difference.retry(arguments) is not None)
    mismatch = difference.retry(simple)
    if mismatch is not None:
        named = [describe_argument(name, v) for (name, _), v in zip(difference.arguments, simple, strict=True)]
        yield f"with {'; '.join(filter(None, named)) or 'zeros for all arguments'}: {mismatch}"


SHOWN = 8
"""How many elements of an argument a message shows."""


def describe_argument(name: str, value: Any) -> str:
    """The elements of an argument that are not zero; nothing if all are."""
    array = np.asarray(value)
    places = np.argwhere(nonzero(array))
    if not array.ndim:
        return f"%{name} = {array[()]!s}" if np.any(nonzero(array)) else ""
    shown = ", ".join(f"%{name}[{', '.join(map(str, place))}] = {array[tuple(place)]!s}" for place in places[:SHOWN])
    return shown + (f" and {len(places) - SHOWN} more" if len(places) > SHOWN else "")


@dataclass
class Report:
    """What was compared. `skipped` says of functions why they were not: by function and pass."""

    compared: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Pass and function, for each function that a pass has changed and that still computes the same."""
    skipped: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


@dataclass
class _Reference:
    """A function as it was when it was last run, and what it gave."""

    name: str
    is_public: bool
    interface: Interface
    runner: Runner
    seed: int
    count: int
    calls: dict[Sample, tuple[list[Any], Outcome]] = field(default_factory=dict[Sample, "tuple[list[Any], Outcome]"])
    unchecked: tuple[ModulePass, ...] = ()
    """The passes since."""
    is_slow: bool = False
    """Whether a level below took too long to be interpreted: machine code is compared next."""
    earlier: _Reference | None = None
    """The same function before the last pass that changed it; its arguments are the same."""

    @property
    def module(self) -> ModuleOp:
        return self.runner.module

    def samples(self) -> Iterator[tuple[Sample, list[Any], Outcome]]:
        """Arguments and what the function gives for them."""
        for sample in samples(self.seed, self.count):
            if sample not in self.calls:
                self.calls[sample] = self._call(sample)
            yield sample, *self.calls[sample]

    def _call(self, sample: Sample) -> tuple[list[Any], Outcome]:
        *others, last = sample.arguments(self.interface)
        for arguments in others:
            try:
                outcome = self.runner.run(self.name, self.interface, arguments, None)
            except NotComparable:
                continue
            if outcome.error is None:
                return arguments, outcome
        return last, self.runner.run(self.name, self.interface, last, None)

    def spreads(self, arguments: Sequence[Any], outcome: Outcome) -> list[Array]:
        """How far apart right results may lie, as the program says, or said at the level where it still did. Raises
        `NotComparable` if that is not known."""
        shapes = self.shapes(outcome)
        try:
            spreads = self.runner.spreads(self.name, self.interface, arguments, shapes)
        except NotComparable:
            if self.earlier is None:
                raise
            return self.earlier.spreads(arguments, outcome)
        if self.earlier is None or all(np.all(np.isfinite(spread)) for spread in spreads):
            return spreads
        # Where functions are arithmetic on bits, only the program before says how much is open.
        return [
            np.where(np.isfinite(spread), spread, known)
            for spread, known in zip(spreads, self.earlier.spreads(arguments, outcome), strict=True)
        ]

    def shapes(self, outcome: Outcome) -> list[tuple[int, ...]]:
        """The shapes of the results, without those of the buffers that are written."""
        return [result.shape for result in outcome.results[: len(self.interface.outputs)]]

    def mismatch(self, arguments: Sequence[Any], expected: Outcome, found: Outcome) -> Mismatch | None:
        """Where `found` is not what the function may give. Raises `NotComparable` where that is not known."""
        mismatch = find_mismatch(expected, found, None, self.interface)
        if mismatch is None or found.error is not None:
            return mismatch
        return find_mismatch(expected, found, self.spreads(arguments, expected), self.interface)


class Checker:
    """Follows a program from pass to pass."""

    def __init__(self, seed: int = 0, samples: int = 3):
        self.report = Report()
        self._seed = seed
        self._samples = samples
        self._references: dict[str, _Reference] = {}

    def start(self, module: ModuleOp) -> None:
        """The program before all passes."""
        self._references = {}
        self._refer(module.clone(), {}, "")

    def after(self, p: ModulePass, module: ModuleOp) -> Difference | None:
        """What a pass, the next one, has changed that it should not have."""
        runner = Runner(module.clone())
        kept: dict[str, _Reference] = {}
        for name, reference in self._references.items():
            if _is_unchanged(name, reference.module, runner.module):
                kept[name] = reference
                continue
            result = self._compare(reference, runner, p)
            if isinstance(result, Difference):
                return result
            if result is not None:
                kept[name] = result
        self._refer(runner.module, kept, p.name, runner)
        return None

    def error(self, difference: Difference, notes: Sequence[str] = ()) -> NotEquivalentError:
        """What to raise for a difference, at the place of the function."""
        function = find_function(self.module_before(difference.function), difference.function)
        assert function is not None
        return NotEquivalentError(difference, function, notes)

    def module_before(self, name: str) -> ModuleOp:
        """The program as it was when the function was last run."""
        return self._references[name].module

    def _refer(self, module: ModuleOp, kept: dict[str, _Reference], after: str, runner: Runner | None = None) -> None:
        """Take in the functions that are new, besides those that are `kept`."""
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
        # Once is enough, if it is for the same reason.
        if all((name, why) != (other, reason) for (_, other), reason in self.report.skipped.items()):
            self.report.skipped[after, name] = why

    def _compare(self, before: _Reference, after: Runner, p: ModulePass) -> _Reference | Difference | None:
        """The function after a pass; the one before if it cannot be run any more; None if there is nothing to compare
        it with."""
        name = before.name
        try:
            call = _Call.of(before, after.module, same_call_of(p))
            if call is None:
                return None
            if isinstance(call, Mismatch):
                return Difference((*before.unchecked, p), name, call)
            if before.is_public and (wrong := call.find_other_sizes(before, after.module)) is not None:
                return Difference((*before.unchecked, p), name, wrong)
            found = self._run(before, after, call, p)
        except NotComparable as e:
            if before.is_public:
                self._skip(p.name, name, str(e))
            is_slow = before.is_slow or isinstance(e, TooLong)
            return replace(before, unchecked=(*before.unchecked, p), is_slow=is_slow)
        if isinstance(found, Difference):
            return found
        if call.rewrite is not None:
            return None
        return replace(before, runner=after, calls=found, unchecked=(), earlier=before)

    def _run(
        self, before: _Reference, after: Runner, call: _Call, p: ModulePass
    ) -> dict[Sample, tuple[list[Any], Outcome]] | Difference:
        """What the function gives after a pass, sample by sample, or the first difference."""
        if before.is_slow and not call.is_native:
            raise TooLong(f"it takes more than {execution.SECONDS:g} seconds to be interpreted")
        calls: dict[Sample, tuple[list[Any], Outcome]] = {}
        problems: list[NotComparable] = []
        for sample, arguments, expected in before.samples():
            changed = arguments
            if call.rewrite is not None:
                arguments, changed = call.rewrite(arguments)
                expected = before.runner.run(before.name, before.interface, arguments, None)
            if expected.error is not None:
                problems.append(NotComparable(f"it stops, even before: {expected.error}"))
                calls[sample] = changed, expected
                continue
            found = after.run(before.name, call.interface, changed, before.shapes(expected))
            calls[sample] = changed, found
            try:
                mismatch = None if is_same(expected, found) else before.mismatch(arguments, expected, found)
            except NotComparable as e:
                problems.append(e)
                continue
            if mismatch is not None:
                named = zip((spec.name for spec in before.interface.inputs), arguments, strict=True)
                retry = partial(_retry, before, after, call)
                return Difference((*before.unchecked, p), before.name, mismatch, sample, tuple(named), retry)
        if len(problems) == len(calls):
            raise problems[0]
        self.report.compared.append((p.name, before.name))
        return calls


@dataclass(frozen=True)
class _Call:
    """How a function is called after a pass."""

    interface: Interface
    rewrite: Callable[[Sequence[Any]], tuple[list[Any], list[Any]]] | None
    """From arguments to those for the function before the pass and after it; None if all are the same."""
    is_native: bool = False

    @classmethod
    def of(cls, before: _Reference, module: ModuleOp, same_call: SameCall | None) -> _Call | Mismatch | None:
        """How to call the function of a module; what is wrong with it; None if it is not to be compared."""
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        if same_call is not None and same_call(old, _placeholders(before.interface)) is None:
            return None
        if new is None and SymbolTable.lookup_symbol(module, before.name) is not None:
            return Mismatch("", "a function to keep its body", "a declaration")
        if new is None:
            return Mismatch("", "a public function to stay", "none of this name") if before.is_public else None
        if isinstance(new, llvm.FuncOp):
            return cls(before.interface, None, is_native=True) if before.is_public else None
        interface = interface_of(new)
        if same_call is not None:

            def rewrite(arguments: Sequence[Any]) -> tuple[list[Any], list[Any]]:
                pair = same_call(old, arguments)
                assert pair is not None
                return list(pair[0]), list(pair[1])

            return cls(interface, rewrite)
        if interface.equals(before.interface) or interface.lowered_from(before.interface):
            return cls(before.interface, None)
        return Mismatch("", f"{before.interface}", f"{interface}") if before.is_public else None

    def find_other_sizes(self, before: _Reference, module: ModuleOp) -> Mismatch | None:
        """A call that a pass makes wrong or right, or whose results get other shapes, if their sizes alone tell."""
        if self.is_native or self.rewrite is not None:
            return None
        old, new = find_function(before.module, before.name), find_function(module, before.name)
        assert old is not None
        assert new is not None
        return sizes.find_mismatch(old, new, before.interface)


def _retry(before: _Reference, after: Runner, call: _Call, arguments: Sequence[Any]) -> Mismatch | None:
    """The difference for other arguments, if there is one and it is known."""
    changed = arguments
    if call.rewrite is not None:
        arguments, changed = call.rewrite(arguments)
    try:
        expected = before.runner.run(before.name, before.interface, arguments, None)
        if expected.error is not None:
            return None
        found = after.run(before.name, call.interface, changed, before.shapes(expected))
        return None if is_same(expected, found) else before.mismatch(arguments, expected, found)
    except NotComparable:
        return None


def _is_unchanged(name: str, before: ModuleOp, after: ModuleOp) -> bool:
    """Whether a function, and everything that it uses, is as it was."""
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
        if not old.is_structurally_equivalent(new, {old.parent: new.parent}):
            return False
        pending.extend(symbols_used(old))
    return True


def _placeholders(interface: Interface) -> list[Any]:
    """Arguments of the right kind, to ask a pass whether a function can be compared."""
    return [np.zeros([max(n, 1) for n in spec.shape or ()], spec.dtype)[()] for spec in interface.inputs]


def check_pass(p: ModulePass, module: ModuleOp, *, seed: int = 0, samples: int = 3) -> Report:
    """
    Run a pass on a copy of a module, and every function on generated arguments before and after it. Raises
    `NotEquivalentError` where a result differs by more than the numerics of relex allow (see `bounds`); a pass that is
    made of others is checked step by step.

    Looked at are public functions, and private ones that keep their name and type. Arguments are normal numbers, small
    whole numbers, and NaN, infinities, zeros of both signs, the largest and smallest numbers; sizes that are not known
    are 0, 1 and others. `samples` is how often each is drawn, from a generator that starts with `seed`. A function that
    stops before the pass may do anything after it. The report tells what was compared, and what could not be and why.

    A pass that changes the arguments of functions says by its method `same_call` how they are called then.

    ```python
    check_pass(FuseOpsPass(), parse_module(text))
    ```
    """
    expect_module(module)
    checker = Checker(seed, samples)
    module = module.clone()
    checker.start(module)
    _check_steps(p, module, checker)
    return checker.report


def _check_steps(p: ModulePass, module: ModuleOp, checker: Checker) -> None:
    for step in steps_of(p):
        _check_steps(step, module, checker)
    if steps_of(p):
        return
    p.apply(make_context(), module)
    verify_after(p, module)
    difference = checker.after(p, module)
    if difference is not None:
        raise checker.error(difference)


def check_equivalent(before: ModuleOp, after: ModuleOp, *, seed: int = 0, samples: int = 3) -> Report:
    """
    Compare the functions of two modules as `check_pass` does: `after` is what became of `before`. Raises
    `NotEquivalentError`.
    """
    for module in (before, after):
        expect_module(module)
    checker = Checker(seed, samples)
    checker.start(before)
    difference = checker.after(_Rewriting(), after)
    if difference is not None:
        raise checker.error(difference)
    return checker.report


@dataclass(frozen=True)
class _Rewriting(ModulePass):
    """Stands for how a module came to be what it is."""

    name = "rewriting"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
