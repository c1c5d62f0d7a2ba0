"""A function as it was before a pass, with what it computes: a reference for what it computes afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.arrays import Array
from relex.dialects.index.text import parse_index
from relex.dialects.relex import CallDpsPackedOp
from relex.dialects.sizes import evaluate
from relex.dialects.tir import PrimFuncOp
from relex.passes.loops.annotate_fast_math import AnnotateFastMathPass
from relex.passes.rewriting.numerics import Numerics, reassociates
from relex.reference.equivalence import comparison, sizes
from relex.reference.equivalence.execution import CallOutcome, Fails, Rounding, Runner, UnknownSizes
from relex.reference.equivalence.interface import Interface, NotComparable, find_function, interface_of
from relex.reference.equivalence.samples import KINDS, Sample, samples


@dataclass
class LastRun:
    """A function as it was last run, and its results."""

    name: str
    is_public: bool
    interface: Interface
    runner: Runner
    seed: int
    count: int
    calls: dict[Sample, tuple[list[Any], CallOutcome]] = field(
        default_factory=dict[Sample, "tuple[list[Any], CallOutcome]"]
    )
    unchecked: tuple[ModulePass, ...] = ()
    """The passes since then."""
    is_slow: bool = False
    """True if a lower level took too long to be interpreted: the next comparison is with machine code."""
    is_proved: bool = False
    """True if it is proved to compute the same as `earlier`, whose outcomes then stand for its own."""
    earlier: LastRun | None = None
    """The same function before the last pass that changed it; its arguments are the same."""
    _bounds: dict[tuple[int, Numerics], tuple[Sequence[Any], list[Array]]] = field(
        default_factory=dict[tuple[int, Numerics], "tuple[Sequence[Any], list[Array]]"], init=False, repr=False
    )
    """What was said last about arguments, which are kept so that their identity stays theirs."""

    @property
    def module(self) -> ModuleOp:
        return self.runner.module

    @cached_property
    def effectful(self) -> frozenset[str]:
        """The library functions that are called for their side effects, according to the graph level."""
        known = self.earlier.effectful if self.earlier is not None else frozenset[str]()
        calls = (op for op in self.module.walk() if isinstance(op, CallDpsPackedOp) and op.side_effects is not None)
        return known | frozenset(op.callee.data for op in calls)

    def narrowed(self, function: Operation | None) -> LastRun:
        """Return a private function with the equal sizes and the finite arguments that a pass has found in all of its
        calls: it may rely on them."""
        if self.is_public or function is None or isinstance(function, llvm.FuncOp):
            return self
        stated = interface_of(function)
        if not stated.equals(self.interface):
            return self
        finite = self.interface.finite | stated.finite
        if stated.dims == self.interface.dims and finite == self.interface.finite:
            return self
        # The first form of the function gives the sizes of its results, too.
        *_, first = self, *self.history()
        interface = first.interface.with_dims(stated.dims).with_finite(finite)
        return replace(first, interface=interface, calls={}, unchecked=self.unchecked, is_slow=self.is_slow)

    def relaxed(self, runners: dict[Runner, Runner]) -> LastRun:
        """Return the function, in all of its forms, with the fast-math flags that hand-written loops allow: they leave
        more than one result possible, and this one as it is. `runners` maps runners of modules to runners of annotated
        modules."""
        if self.runner not in runners:
            is_by_hand = any(isinstance(op, PrimFuncOp) for op in self.module.ops)
            runners[self.runner] = Runner(AnnotateFastMathPass()(self.module)) if is_by_hand else self.runner
        earlier = self.earlier.relaxed(runners) if self.earlier is not None else None
        return replace(self, runner=runners[self.runner], earlier=earlier)

    def samples(self) -> Iterator[tuple[Sample, list[Any], CallOutcome]]:
        """Yield samples with their arguments and the outcome of the function."""
        for sample in samples(self.seed, self.count):
            yield sample, *self.call(sample)

    def call(self, sample: Sample) -> tuple[list[Any], CallOutcome]:
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

    def _call(self, sample: Sample) -> tuple[list[Any], CallOutcome]:
        *others, last = sample.arguments(self.interface)
        for arguments in others:
            try:
                outcome = self._run(arguments)
            except NotComparable:
                continue
            if outcome.error is None:
                return arguments, outcome
        try:
            outcome = self._run(last)
        except UnknownSizes:
            if not self.accepted:
                raise
        else:
            if outcome.error is None or not self.accepted:
                return last, outcome
        arguments = sample.of_shapes(self.interface, self.accepted[sample.number % len(self.accepted)])
        return arguments, self._run(arguments)

    def _run(self, arguments: Sequence[Any]) -> CallOutcome:
        return self.runner.run(self.name, self.interface, arguments, self._filled(arguments))

    @cached_property
    def accepted(self) -> list[sizes.Shapes]:
        """Shapes of arguments that the function accepts, by what is known about its sizes: shapes of samples may not
        fit."""
        function = find_function(self.module, self.name)
        return sizes.accepted_shapes(function, self.interface) if function is not None else []

    def _filled(self, arguments: Sequence[Any]) -> Sequence[tuple[int, ...]] | None:
        """Return shapes for buffers that the function fills, if some are dynamic: what is stated about them, else as
        large as the largest size of the arguments, or as the function requires."""
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
        shapes = tuple(
            tuple(n if n >= 0 else _stated(spec.dims[i], known, largest) for i, n in enumerate(spec.shape or ()))
            for spec in specs
        )
        function = find_function(self.module, self.name)
        if function is None:
            return shapes
        given = tuple(
            (int(x),) if s.is_index and s.shape is None else np.shape(x)
            for s, x in zip(self.interface.inputs, arguments, strict=True)
        )
        return sizes.enlarged(function, self.interface, given, shapes)

    def spreads(
        self, arguments: Sequence[Any], outcome: CallOutcome, numerics: Numerics, unequal: Sequence[Array]
    ) -> list[Array]:
        """Return how far apart correct results may lie at the elements that are `unequal`: according to the program at
        this level, and where functions are lowered to bit arithmetic, which has no bounds, according to the last one
        that has. Raises `NotComparable` if that is unknown.

        Where the first program has no bounds either, as where sums may overflow, those in between are not asked.
        """

        def bounds(program: LastRun) -> list[Array]:
            return program.runner.spreads(self.name, program.interface, arguments, self.shapes(outcome), numerics)

        def bounds_if_any(program: LastRun) -> list[Array]:
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
        # Each pass asks the first program about the same samples.
        key = id(arguments), numerics
        if key not in first._bounds:
            first._bounds[key] = arguments, bounds(first)
        _, last_resort = first._bounds[key]
        unknown = [mask & np.isfinite(spread) for mask, spread in zip(unknown, last_resort, strict=True)]
        for program in between:
            if not any(map(np.any, unknown)):
                return spreads
            found = bounds_if_any(program)
            spreads = list(map(np.where, unknown, found, spreads))
            unknown = [mask & ~np.isfinite(spread) for mask, spread in zip(unknown, found, strict=True)]
        return list(map(np.where, unknown, last_resort, spreads))

    def history(self) -> Iterator[LastRun]:
        """Yield the function as it was before, last form first."""
        if self.earlier is not None:
            yield self.earlier
            yield from self.earlier.history()

    def shapes(self, outcome: CallOutcome) -> list[tuple[int, ...]]:
        """Return the shapes of the results, without the shapes of the buffers that are written."""
        return [result.shape for result in outcome.results[: len(self.interface.outputs)]]

    def mismatch(
        self, arguments: Sequence[Any], expected: CallOutcome, found: CallOutcome, numerics: Numerics
    ) -> comparison.Mismatch | None:
        """Return where `found` deviates from what the function may return after a pass of these numerics. Raises
        `NotComparable` if that is unknown."""
        if (other := comparison.find_other_calls(expected, found, self.effectful)) is not None:
            return other
        if comparison.is_same(expected, found):
            return None
        if expected.failed != found.failed:
            self._expect_decided(arguments, expected)
        if expected.failed is not None:
            return comparison.find_other_failure(expected, found)
        mismatch = comparison.find_mismatch(expected, found, None, self.interface, numerics)
        if mismatch is None or found.error is not None:
            return mismatch
        unequal = [comparison.find_unequal(a, b) for a, b in zip(expected.results, found.results, strict=True)]
        spreads = self.spreads(arguments, expected, numerics, unequal)
        return comparison.find_mismatch(expected, found, spreads, self.interface, numerics)

    def _expect_decided(self, arguments: Sequence[Any], outcome: CallOutcome) -> None:
        """Raise `NotComparable` if rounding may change whether an assertion fails, according to the last program that
        can tell."""
        unknown: NotComparable | None = None
        for program in (self, *self.history()):
            try:
                program.runner.spreads(self.name, program.interface, arguments, self.shapes(outcome))
            except Fails:
                return
            except Rounding:
                raise
            except NotComparable as e:
                unknown = unknown or e
            else:
                return
        if unknown is not None:
            raise unknown

    def may_be_reordered(self, arguments: Sequence[Any], expected: CallOutcome, found: CallOutcome) -> bool:
        """Return whether a pass that reassociates could have given an outcome. Only finite numbers say something."""
        if not all(np.all(np.isfinite(x)) for x in expected.results if x.dtype.kind == "f"):
            return False
        try:
            return self.mismatch(arguments, expected, found, reassociates) is None
        except NotComparable:
            return False


def _stated(size: str, known: Mapping[str, int], otherwise: int) -> int:
    """Return the value of the text of a size, if it is one of known names."""
    try:
        return evaluate(parse_index(size), known) if size else otherwise
    except (KeyError, ValueError):
        return otherwise


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
