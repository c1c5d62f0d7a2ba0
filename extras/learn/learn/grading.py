"""Solutions are graded by relex: they are read, checked, interpreted, compiled and measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from time import perf_counter
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.arrays import Array
from relex.dialects.errors import CompileError, RelexError
from relex.dialects.schedule import SequenceOp
from relex.dialects.walks import walk
from relex.passes import ApplySchedulePass, CheckTirPass
from relex.reference import check_pass, interpret
from relex.runtime import build
from relex.tools.learn.lessons import Aim, Bar
from relex.tools.shell.diagnostics import ToolError

TOLERANCE = 1e-4
"""How far elements may be from the formula, relative to the largest one."""

ROUNDS, SECONDS = 9, 0.02
"""How often both sides are measured in turns, and for how long each time."""


def graded(module: ModuleOp, start: ModuleOp, aim: Aim, *, speed: bool) -> Iterator[str]:
    """Yield a line for each thing that is right. Raises `ToolError` or `CompileError` for the first that is not."""
    if aim.needs and not any(op.name == aim.needs for op in walk(module)):
        raise ToolError(f"expected '{aim.needs}' in the solution, found none")
    if aim.keeps and str(_without_schedule(module)) != str(_without_schedule(start)):
        raise ToolError("expected the program as it was, but for the steps of its schedule")
    if aim.keeps and str(module) == str(start):
        raise ToolError("expected other steps than the schedule has at the start")
    scheduled = ApplySchedulePass()(module)
    CheckTirPass()(scheduled)
    yield "all accesses are inside of their buffers"
    if aim.keeps:
        report = check_pass(ApplySchedulePass(), module, proof=True)
        counts = Counter(finding.verdict.kind.value for finding in report.findings)
        shown = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        yield f"the steps of the schedule keep what the program computes: {shown}"
    for what, functions in (("interpreted", interpret(module)), ("compiled", build(module))):
        for shapes in aim.shapes:
            _expect_right(what, functions["main"], aim, shapes)
    yield "results are right, interpreted and compiled"
    if speed and aim.bar is not None:
        yield _fast_enough(module, aim, aim.bar)


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


def _arguments(shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    random = np.random.default_rng(sum(map(sum, shapes)))
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def _expect_right(what: str, main: Callable[..., Any], aim: Aim, shapes: Sequence[tuple[int, ...]]) -> None:
    given = _arguments(shapes)
    wanted = aim.formula(*given)
    try:
        result = main(*given)
    except CompileError:
        raise
    except RelexError as e:
        raise ToolError(f"a call with {' and '.join(map(str, shapes))}: {e}") from e
    if result is None or isinstance(result, tuple):
        results = cast("tuple[Any, ...]", result or ())
        raise ToolError(f"expected one result, found {len(results)}")
    found = np.asarray(result)
    if found.shape != wanted.shape:
        raise ToolError(f"expected a result of shape {wanted.shape}, found {found.shape}")
    wrong = ~(np.abs(found - wanted) <= TOLERANCE * np.abs(wanted).max())
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ToolError(
            f"{what}: {int(wrong.sum())} of {wrong.size} elements are wrong; at {list(place)}, expected "
            f"{wanted[place]:.6g}, found {found[place]:.6g}"
        )


def _fast_enough(module: ModuleOp, aim: Aim, bar: Bar) -> str:
    given = _arguments(aim.shapes[0])
    main = build(module)["main"]
    other = aim.formula if bar.than == "NumPy" else build(_without_schedule(module))["main"]
    ratio, seconds = _ratio(lambda: other(*given), lambda: main(*given))
    than = "NumPy" if bar.than == "NumPy" else "the start"
    measured = f"{seconds * 1e6:.3g} us for a call, {ratio:.2f} times as fast as {than}"
    if ratio < bar.times:
        raise ToolError(f"expected at least {bar.times:.2f} times the speed of {than}: {measured}")
    return measured


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
