"""Solutions are graded by relex: they are read, checked, interpreted, compiled and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from statistics import median
from time import perf_counter
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.arrays import Array
from relex.dialects.dtypes import size_in_bytes
from relex.dialects.errors import CompileError, RelexError
from relex.dialects.schedule import SequenceOp
from relex.dialects.tir import AllocBufferOp
from relex.dialects.walks import walk
from relex.passes import ApplySchedulePass, CheckTirPass
from relex.reference import check_pass, interpret
from relex.runtime import build
from relex.runtime.library import LIBRARY, Function
from relex.tools.learn.aims import Aim, Bar
from relex.tools.shell.diagnostics import ToolError

TOLERANCE = 1e-4
"""How far elements may be from the formula, relative to the largest one."""

ROUNDS, SECONDS = 9, 0.02
"""How often both sides are measured in turns, and for how long each time."""


def graded(module: ModuleOp, start: ModuleOp, aim: Aim, *, speed: bool) -> Iterator[str]:
    """Yield a line for each thing that is right. Raises `ToolError` or `CompileError` for the first that is not."""
    counts = Counter[str]()
    with with_library({name: partial(_counted, f, name, counts) for name, f in aim.library.items()}):
        yield from _graded(module, start, aim, counts, speed=speed)


@contextmanager
def with_library(functions: Mapping[str, Function]) -> Generator[None]:
    """Register library functions, and what there was before at the end."""
    before = dict(LIBRARY)
    LIBRARY.update(functions)
    try:
        yield
    finally:
        LIBRARY.clear()
        LIBRARY.update(before)


def _counted(function: Callable[..., object], name: str, counts: Counter[str], *arrays: Array) -> None:
    counts[name] += 1
    function(*arrays)


def _graded(module: ModuleOp, start: ModuleOp, aim: Aim, calls: Counter[str], *, speed: bool) -> Iterator[str]:
    if aim.needs and not any(op.name == aim.needs for op in walk(module)):
        raise ToolError(f"expected '{aim.needs}' in the solution, found none")
    if aim.keeps and str(_without_schedule(module)) != str(_without_schedule(start)):
        raise ToolError("expected the program as it was, but for the steps of its schedule")
    if aim.keeps and str(module) == str(start):
        raise ToolError("expected other steps than the schedule has at the start")
    scheduled = ApplySchedulePass()(module)
    CheckTirPass()(scheduled)
    yield "all accesses are inside of their buffers"
    if aim.local_bytes is not None:
        yield _small_enough(scheduled, aim.local_bytes)
    if aim.keeps:
        report = check_pass(ApplySchedulePass(), module, proof=True)
        counts = Counter(finding.verdict.kind.value for finding in report.findings)
        shown = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        yield f"the steps of the schedule keep what the program computes: {shown}"
    for what, functions in (("interpreted", interpret(module)), ("compiled", build(module))):
        for shapes in aim.shapes:
            calls.clear()
            expect_right(what, functions["main"], aim.formula, arguments(shapes, aim.types))
    yield "results are right, interpreted and compiled"
    if aim.calls and calls != aim.calls:
        raise ToolError(
            f"expected a call of the compiled @main to make these calls of library functions: {_counts(aim.calls)}, "
            f"found: {_counts(calls)}"
        )
    if aim.calls:
        yield f"calls of library functions: {_counts(calls)}"
    if speed and aim.bar is not None:
        yield _fast_enough(module, start, aim, aim.bar)


def _counts(calls: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in sorted(calls.items())) or "none"


def _small_enough(scheduled: ModuleOp, least: int) -> str:
    """Return a line on the bytes of local buffers."""
    buffers = [op.buffer for op in walk(scheduled) if isinstance(op, AllocBufferOp)]
    size = sum(size_in_bytes(buffer.type.element_type) * prod(buffer.type.get_shape()) for buffer in buffers)
    if size > least:
        shown = ", ".join(f"%{buffer.name_hint}: {buffer.type}" for buffer in buffers)
        raise ToolError(f"expected at most {least} bytes in local buffers after the schedule, found {size}: {shown}")
    return f"{size} bytes in local buffers"


def _without_schedule(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module whose schedules have no steps."""
    copied = module.clone()
    for op in copied.ops:
        if isinstance(op, SequenceOp):
            for region in op.regions:
                for block in region.blocks:
                    for step in [*block.ops]:
                        step.detach()
                        step.erase()
    return copied


def arguments(shapes: Sequence[tuple[int, ...]], types: Sequence[str] = ()) -> list[Array]:
    """Return random arrays of these shapes, and of f32 unless `types` has others; integers have all values."""
    random = np.random.default_rng(sum(map(sum, shapes)))
    made: list[Array] = []
    for shape, name in zip(shapes, types or ["float32"] * len(shapes), strict=True):
        dtype = np.dtype(name)
        if dtype.kind == "i":
            limits = np.iinfo(dtype)
            made.append(random.integers(limits.min, limits.max, shape, dtype, endpoint=True))
        else:
            made.append(random.standard_normal(shape).astype(dtype))
    return made


def expect_right(what: str, main: Callable[..., Any], formula: Callable[..., Array], given: Sequence[Array]) -> None:
    """Raise `ToolError` for a call whose result is not the one of the formula."""
    wanted = formula(*given)
    try:
        result = main(*given)
    except CompileError:
        raise
    except RelexError as e:
        raise ToolError(f"a call with {' and '.join(str(array.shape) for array in given)}: {e}") from e
    if result is None or isinstance(result, tuple):
        results = cast("tuple[Any, ...]", result or ())
        raise ToolError(f"expected one result, found {len(results)}")
    found = np.asarray(result)
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        raise ToolError(
            f"expected a result of shape {wanted.shape} of {wanted.dtype}, found {found.shape} of {found.dtype}"
        )
    far = np.abs(found.astype(np.float64) - wanted)
    wrong = ~(far <= TOLERANCE * np.abs(wanted.astype(np.float64)).max())
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ToolError(
            f"{what}: {int(wrong.sum())} of {wrong.size} elements are wrong; at {list(place)}, expected "
            f"{wanted[place]:.6g}, found {found[place]:.6g}"
        )


def _fast_enough(module: ModuleOp, start: ModuleOp, aim: Aim, bar: Bar) -> str:
    given = arguments(aim.shapes[0], aim.types)
    main, other = build(module)["main"], _other(module, start, aim, bar)
    ratio, seconds = _ratio(lambda: other(*given), lambda: main(*given))
    than = "the start" if bar.than == "unscheduled" else bar.than
    measured = f"{seconds * 1e6:.0f} us for a call, {ratio:.2f} times as fast as {than}"
    if ratio < bar.times:
        raise ToolError(f"expected at least {bar.times:.2f} times the speed of {than}: {measured}")
    return measured


def _other(module: ModuleOp, start: ModuleOp, aim: Aim, bar: Bar) -> Callable[..., Any]:
    """Return what a solution is measured beside."""
    if bar.than == "NumPy":
        return aim.formula
    if bar.than == "the start":
        return build(start)["main"]
    plain = _without_schedule(module)
    if bar.than == "the default schedule":
        for op in [op for op in plain.ops if isinstance(op, SequenceOp)]:
            op.detach()
            op.erase()
    return build(plain)["main"]


def _ratio(slow: Callable[[], object], fast: Callable[[], object]) -> tuple[float, float]:
    """Measure two calls in turns. Return how many times faster the second is, and its seconds."""
    rounds = [(_seconds(slow), _seconds(fast)) for _ in range(ROUNDS)]
    return median(a / b for a, b in rounds), median(b for _, b in rounds)


def _seconds(call: Callable[[], object]) -> float:
    call()
    begin, count = perf_counter(), 0
    while (passed := perf_counter() - begin) < SECONDS or count == 0:
        call()
        count += 1
    return passed / count
