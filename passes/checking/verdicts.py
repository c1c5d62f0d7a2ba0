"""What follows from a system: that something never happens, that it does, or neither for certain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relex.dialects.index.constraints import Point, System, same
from relex.dialects.index.elimination import TooHardError
from relex.dialects.index.expr import IndexExpr, Origin
from relex.dialects.index.solve import find_point
from relex.passes.checking.touches import Touch

SAMPLES = (1, 2, 3, 5, 16)
"""Values for all sizes that are known at run time only. What goes wrong with each of them is wrong."""


@dataclass(frozen=True)
class Wrong:
    """It happens, at this point for example."""

    point: Point


@dataclass(frozen=True)
class Undecided:
    """It cannot be told: why."""

    reason: str


Verdict = Wrong | Undecided | None
"""None: it never happens."""


def unless_partial(verdict: Verdict, *touched: Touch) -> Verdict:
    """The same, but that what goes wrong at an element that may not be touched is not certain."""
    if isinstance(verdict, Wrong) and not all(touch.is_sure for touch in touched):
        return Undecided("that depends on what the called function reads")
    return verdict


TOO_HARD = Undecided("that would take too long")


def judge(domain: System, wrong: System, find: Callable[[System], Point | Undecided | None] | None = None) -> Verdict:
    """Whether `wrong`, a part of `domain`, can happen. `find` looks for a point."""
    look = find or find_point
    try:
        found = look(wrong)
        if found is None or isinstance(found, Undecided):
            return found
        return _weigh(found, domain, wrong, look)
    except TooHardError:
        return TOO_HARD


def _weigh(point: Point, domain: System, wrong: System, find: Callable[[System], Point | Undecided | None]) -> Verdict:
    """Whether a point is an example, or depends on what is not known before the run."""
    unknown = [v for v in wrong.variables() if v.origin is not Origin.COUNTER]
    if not unknown:
        return Wrong(point)
    names = ", ".join(sorted({v.name for v in unknown}))
    if any(v.origin is Origin.DATA for v in unknown):
        data = ", ".join(sorted({v.name for v in unknown if v.origin is Origin.DATA}))
        return Undecided(f"that depends on {data}")
    example: Point | None = None
    for sample in SAMPLES:
        fixed = System(tuple(same(IndexExpr.of(v), sample) for v in unknown))
        if find_point(domain & fixed) is None:
            continue
        found = find(wrong & fixed)
        if found is None or isinstance(found, Undecided):
            return Undecided(f"that depends on {names}")
        example = example or found
    return Wrong(example) if example is not None else Undecided(f"that depends on {names}")
