"""Goes through the loop functions of a program, and keeps the schedules that are faster than the default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.errors import CompileError, RelexError
from relex.dialects.function_arguments import SCHEDULED_ATTR
from relex.dialects.relex import CallTirOp
from relex.dialects.schedule import SequenceOp
from relex.dialects.target.processors import processor_of
from relex.dialects.target.target_attribute import get_target
from relex.dialects.tir import PrimFuncOp
from relex.lowering.relex_pipeline import pipeline
from relex.passes import ApplySchedulePass, CheckTirPass, ScheduleCpuPass
from relex.passes.driver.base import run_pass
from relex.passes.loops.apply_tuning import identity
from relex.passes.rewriting.constant_marks import mark_constants
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.reference import check_equivalent
from relex.tools.shell.diagnostics import ToolError
from relex.tools.tuning.candidates import Candidate, candidates
from relex.tools.tuning.harness import Harness
from relex.tools.tuning.record import Record

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

LEAST_GAIN = 1.03
"""The factor by which a schedule has to be faster than the default: measurements are not more exact."""

ROUNDS = 5
"""The number of measurements of each candidate, in turns with the default."""

MORE_ROUNDS = 25
"""The number of measurements of the fastest candidates at the end."""

RTOL = 1e-4
"""The largest difference of results, relative to the largest of them: sums may be reordered."""


@dataclass
class Tuned:
    """A loop function with its default schedule, and with the fastest that was found."""

    func: PrimFuncOp
    calls: int
    """The number of calls of the function in the program."""
    default: float
    """Seconds of a call."""
    best: float
    candidates: int
    why: str = ""

    @property
    def gain(self) -> float:
        """The speedup of the fastest schedule over the default."""
        return self.default / self.best

    def __str__(self) -> str:
        name = f"@{self.func.sym_name.data}"
        times = f"{self.default * 1e6:10.1f} us{self.best * 1e6:10.1f} us{self.gain:7.2f}"
        return f"{name:40.40}{self.calls:6}{times}  {self.why or f'none of {self.candidates} is better'}"


HEADER = f"{'':40}{'calls':>6}{'default':>13}{'tuned':>13}{'gain':>7}"


def loop_functions(module: ModuleOp, *, strict: bool, approximate: bool = False) -> ModuleOp:
    """Return a program with its loop functions as the default schedule gets them, those inputs marked that are
    constants."""
    for _, group in pipeline("loops", strict=strict, approximate=approximate):
        for p in group:
            if isinstance(p, ScheduleCpuPass):
                state_sizes(module, of_private=False)
                mark_constants(module)
                return module
            module = run_pass(p, module)
    raise AssertionError("the default compilation schedules loops")


class Tuner:
    """The loop functions of a program that can be measured, and what is known about them. Raises `ToolError` for a
    processor that loops are not scheduled for."""

    def __init__(self, module: ModuleOp, record: Record):
        target = get_target(module)
        processor = processor_of(target) if target is not None else None
        if processor is None:
            raise ToolError(f"loops are not scheduled for {target}: there is nothing to tune")
        self._record, self._processor = record, processor
        calls = Counter(op.callee.root_reference.data for op in module.walk() if isinstance(op, CallTirOp))
        functions = [op for op in module.ops if isinstance(op, PrimFuncOp) and SCHEDULED_ATTR not in op.attributes]
        self.left_out = [op for op in functions if not Harness.takes(op)]
        self.functions = [(op, max(1, calls[op.sym_name.data])) for op in functions if Harness.takes(op)]

    def pending(self) -> list[tuple[PrimFuncOp, int]]:
        """Return the functions that the record does not have, each with its calls, those that take longest first."""
        seen: set[str] = set()
        found: list[tuple[float, PrimFuncOp, int]] = []
        for func, calls in self.functions:
            if func in self._record or (key := identity(func)) in seen:
                continue
            seen.add(key)
            harness = Harness(func, self._record.target)
            (seconds,) = harness.times([harness.compiled(None)], ROUNDS)
            found.append((seconds * calls, func, calls))
        return [(func, calls) for _, func, calls in sorted(found, key=lambda entry: -entry[0])]

    def tune(self, func: PrimFuncOp, calls: int, is_time_left: Callable[[], bool]) -> Tuned:
        """Measure the candidates of a function, and record the fastest if it is faster than the default, and proved to
        compute the same."""
        harness = Harness(func, self._record.target)
        _, *others = candidates(func, self._processor)
        default = harness.compiled(None)
        expected = harness.results(default)
        (base,) = harness.times([default], MORE_ROUNDS)
        ranked: list[tuple[float, Candidate, Callable[..., Any]]] = []
        tried = 0
        for candidate in others:
            if not is_time_left():
                break
            tried += 1
            try:
                function = harness.compiled(candidate)
            except CompileError:
                continue
            now, seconds = harness.times([default, function], ROUNDS)
            ranked.append((seconds / now, candidate, function))
        found = Tuned(func, calls, base, base, tried)
        for ratio, candidate, function in sorted(ranked, key=lambda entry: entry[0]):
            if ratio * LEAST_GAIN > 1:
                break
            now, seconds = harness.times([default, function], MORE_ROUNDS)
            if (
                seconds * LEAST_GAIN <= now
                and _agrees(expected, harness.results(function))
                and _proved(func, candidate)
            ):
                found = Tuned(func, calls, now, seconds, tried, candidate.why)
                self._record.add(func, candidate.steps)
                return found
        if tried == len(others):
            self._record.add(func, None)
        return found


def _agrees(expected: Sequence[Array], found: Sequence[Array]) -> bool:
    """Return whether results are the same but for the order of sums."""
    return all(
        np.allclose(a, b, rtol=RTOL, atol=RTOL * _largest(a), equal_nan=True)
        if is_float_dtype(a.dtype)
        else np.array_equal(a, b)
        for a, b in zip(expected, found, strict=True)
    )


def _largest(array: Array) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def _proved(func: PrimFuncOp, candidate: Candidate) -> bool:
    """Return whether `check-tir` proves that a schedule uses memory correctly, and generated arguments show no
    difference, as far as the function can be interpreted."""
    before = ModuleOp([func.clone()])
    steps = SequenceOp(func.sym_name.data, [op.clone() for op in candidate.steps])
    try:
        after = ApplySchedulePass()(ModuleOp([func.clone(), steps]))
        CheckTirPass()(after)
        check_equivalent(before, after, samples=1)
    except RelexError:
        return False
    return True


def gains(tuned: Sequence[Tuned]) -> Iterator[str]:
    """Yield lines that say what was gained."""
    yield HEADER
    yield from map(str, tuned)
    before = sum(t.default * t.calls for t in tuned)
    after = sum(t.best * t.calls for t in tuned)
    if not tuned or before < after * 1.01:
        yield "there is nothing to gain: the default schedules are the fastest that were found"
    else:
        yield f"all together: {before * 1e6:.1f} us by default, {after * 1e6:.1f} us tuned, {before / after:.2f}"
