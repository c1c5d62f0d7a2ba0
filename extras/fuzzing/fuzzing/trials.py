"""One run of a pass on one program, and what goes wrong."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Literal
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.arrays import Array
from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, InternalError, UnknownNameError, describe
from relex.dialects.relex import CallDpsPackedOp
from relex.passes.driver.base import verify_after
from relex.passes.tracing import observe
from relex.passes.tracing.records import RuleApplication
from relex.passes.tracing.trace import RulesStopped, Trace
from relex.reference.equivalence.check import Checker, flat_steps
from relex.reference.equivalence.differences import FunctionChange, explain
from relex.reference.equivalence.interface import find_function
from relex.runtime.library import LIBRARY

Problem = Literal["results", "interface", "crash", "invalid", "endless"]

TICK = 1.0
"""Seconds between attempts to stop a pass: an exception raised in a callback of the garbage collector is lost."""

REWRITES_PER_OP = 20
"""The number of times that patterns may be applied, for each op of a program and once for the program itself."""


class Endless(BaseException):
    """Patterns are applied more often than any that come to an end. No pass may catch this."""


@dataclass(frozen=True)
class TrialStep:
    """A pattern, or what a pass does without one, at work on an op."""

    rule: str
    op: str


@dataclass(frozen=True)
class TrialFailure:
    """The failure of a run."""

    problem: Problem
    message: str
    function: str = "main"
    step: TrialStep | None = None
    """The pattern that did it, and the op it was applied to. Without a pattern, its name is empty."""
    difference: FunctionChange | None = field(default=None, compare=False, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """The place where a different result was seen, and simple arguments that show it."""
        return tuple(explain(self.difference)) if self.difference is not None else ()

    def is_like(self, other: TrialFailure | None) -> bool:
        """Return whether a failure is the same mistake, as far as that can be told."""
        return other is not None and self.problem == other.problem


@dataclass(frozen=True)
class Trial:
    """The outcome of a run: what the patterns did, and what went wrong, if anything."""

    applied: tuple[TrialStep, ...] = ()
    changed: bool = False
    refused: str | None = None
    """The error by which the pass refused the program."""
    skipped: str | None = None
    """The reason why the function could not be compared."""
    failure: TrialFailure | None = None


@dataclass(frozen=True)
class TrialSettings:
    """Settings for running a pass: arguments of functions are drawn from `seed`, `samples` of each kind; the pass may
    take `seconds`."""

    seed: int = 0
    samples: int = 1
    seconds: float = 10.0


class _TimeIsUpError(BaseException):
    """Raised in a pass that runs too long; not an `Exception`, which the pass may catch."""


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Stop the body after some seconds of processor time, as nothing can be counted in any loop; on a busy machine any
    body takes long. Only possible in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise _TimeIsUpError

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def try_pass(p: ModulePass, module: ModuleOp, settings: TrialSettings, stop: int | None = None) -> Trial:
    """Run a pass on a copy of a module, until its patterns have been applied `stop` times."""
    checker = Checker(settings.seed, settings.samples)
    after = module.clone()
    trace = _make_trace(REWRITES_PER_OP * (1 + sum(1 for _ in module.walk())), stop)
    with _stand_ins(module):
        checker.start(module)
        for step in flat_steps(p):
            trial = _try_step(step, after, checker, trace, settings)
            if trial is not None:
                return trial
    changed = not module.is_structurally_equivalent(after)
    skipped = next(iter(checker.report.skipped.values()), None)
    return Trial(_applied(trace), changed, skipped=skipped)


def _make_trace(limit: int, stop: int | None) -> Trace:
    """Return a trace that ends a pass with `Endless` after more than `limit` applications of patterns."""

    def expect_end(_: RuleApplication) -> None:
        if len(trace.applications) > limit:
            raise Endless

    trace = Trace(stop_after=stop, on_application=expect_end)
    return trace


def _applied(trace: Trace) -> tuple[TrialStep, ...]:
    return tuple(TrialStep(a.rule, a.op) for a in trace.applications)


def _try_step(p: ModulePass, module: ModuleOp, checker: Checker, trace: Trace, settings: TrialSettings) -> Trial | None:
    """Run one pass and compare the results; None if all is well."""
    before = module.clone()

    def fail(problem: Problem, message: str, step: TrialStep | None = None, **more: Any) -> Trial:
        applied = _applied(trace)
        if step is None:
            step = applied[-1] if applied else TrialStep("", _changed_op(before, module))
        return Trial(applied, True, failure=TrialFailure(problem, message, step=step, **more))

    try:
        with observe(trace), _at_most(settings.seconds), suppress(RulesStopped), trace.running(p, module):
            p.apply(make_context(), module)
    except Endless:
        last = ", ".join(f"'{rule}'" for rule in dict.fromkeys(a.rule for a in trace.applications[-10:]))
        message = f"it was stopped after {len(trace.applications)} rewrites, the last of them by {last}"
        return fail("endless", f"does not come to an end: {message}")
    except _TimeIsUpError:
        return fail("endless", f"does not come to an end: it was stopped after {settings.seconds:g} seconds")
    except Exception as e:
        cause = _cause(e)
        if isinstance(cause, CompileError) and not isinstance(cause, InternalError):
            return Trial(_applied(trace), refused=cause.diagnostics[0].message)
        if isinstance(cause, UnknownNameError):
            # Options name what not every program has.
            return Trial(_applied(trace), refused=str(cause))
        step, place = _place(cause, p)
        if trace.failed is not None:
            step = TrialStep(trace.failed.rule, trace.failed.op)
        return fail("crash", f"raises {describe(cause)}{place}", step)
    try:
        verify_after(p, module)
    except CompileError as e:
        message = e.diagnostics[0].message.removesuffix(f" after pass '{p.name}'")
        return fail("invalid", f"leaves an invalid program: {message}")
    difference = checker.after(p, module)
    if difference is None:
        return None
    problem = "results" if difference.sample is not None else "interface"
    return fail(problem, difference.change, function=difference.function, difference=difference)


def _cause(error: BaseException) -> BaseException:
    """Return the exception that xDSL's walkers wrap in others."""
    while error.__cause__ is not None and not isinstance(error, CompileError):
        error = error.__cause__
    return error


def _place(error: BaseException, p: ModulePass) -> tuple[TrialStep | None, str]:
    """Return the op that a pass was at when it raised an exception, and file and line in the pass."""
    home, found, op = type(p).__module__, "", None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == home:
            found = f" at {frame.f_code.co_filename}:{line}"
            local = [v for v in frame.f_locals.values() if isinstance(v, Operation) and not isinstance(v, ModuleOp)]
            op = local[-1] if local else op
    return None if op is None else TrialStep("", op.name), found


def _changed_op(before: ModuleOp, after: ModuleOp) -> str:
    """Return the first op that a pass has changed."""
    for old, new in zip_longest(_inner(before), _inner(after)):
        if old is None or new is None or old.name != new.name or old.properties != new.properties:
            changed = old or new
            assert changed is not None
            return changed.name
    kept = dict(zip(_inner(before), _inner(after), strict=True))
    for old, new in kept.items():
        for a, b in zip(old.operands, new.operands, strict=False):
            if _origin(a) != _origin(b):
                owner = a.owner if isinstance(a.owner, Operation) else a.owner.parent_op()
                if owner is None or owner not in kept or (a.owner is owner and _is_used(kept[owner])):
                    return old.name
                return owner.name
    return before.name


def _is_used(op: Operation) -> bool:
    return any(result.uses for result in op.results)


def _inner(module: ModuleOp) -> Iterator[Operation]:
    """Yield all ops but functions, whose types change with what is in them."""
    return (op for op in module.walk() if op.parent_op() not in (None, module))


def _origin(value: Any) -> object:
    owner = value.owner
    if not isinstance(owner, Operation):
        return value.index, _depth(owner.parent_op())
    block = owner.parent
    return owner.name, list(block.ops).index(owner) if block is not None else None, value.index


def _depth(op: Operation | None) -> int:
    """Return the number of ops around an op."""
    return 0 if op is None else 1 + _depth(op.parent_op())


def blame(p: ModulePass, module: ModuleOp, settings: TrialSettings, trial: Trial) -> TrialFailure:
    """Return the failure of a trial with the first pattern after which it is seen."""
    failure = trial.failure
    assert failure is not None
    if failure.problem in ("crash", "endless"):
        return failure
    for count, step in enumerate(trial.applied[:-1], 1):
        if failure.is_like(found := try_pass(p, module, settings, stop=count).failure):
            assert found is not None
            return replace(found, step=step)
    return failure


def location_of(module: ModuleOp, failure: TrialFailure) -> Operation:
    """Return the op of a program that a failure is about, or else the function."""
    wanted = failure.step.op if failure.step is not None else ""
    found = next((op for op in module.walk() if op.name == wanted), None)
    return found or find_function(module, failure.function) or module


@contextmanager
def _stand_ins(module: ModuleOp) -> Generator[None]:
    """Let library functions that are not registered fill their results with numbers that depend on their arguments."""
    names = {op.callee.data: len(op.arguments) for op in module.walk() if isinstance(op, CallDpsPackedOp)}
    missing = {name: count for name, count in names.items() if name not in LIBRARY}
    for name, count in missing.items():
        LIBRARY[name] = _stand_in(name, count)
    try:
        yield
    finally:
        for name in missing:
            del LIBRARY[name]


def _stand_in(name: str, count: int) -> Any:
    def function(*arrays: Array) -> None:
        key = [crc32(name.encode()), *(crc32(np.ascontiguousarray(a).tobytes()) for a in arrays[:count])]
        for result in arrays[count:]:
            result[...] = np.random.default_rng(key).integers(0, 2, result.shape)

    return function
