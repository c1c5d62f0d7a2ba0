"""Verdicts about systems of constraints: something cannot happen, can happen, or is undecided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relex.dialects.index.atoms import VariableOrigin
from relex.dialects.index.constraints import Point, System, same
from relex.dialects.index.elimination import TooHardError
from relex.dialects.index.expr import IndexExpr
from relex.dialects.index.solve import find_point
from relex.dialects.tir.accesses import Access

SAMPLES = (1, 2, 3, 5, 16)
"""Sample values for all sizes that are only known at run time. What goes wrong for each of them is an error."""


@dataclass(frozen=True)
class Wrong:
    """It can happen, for example at this point."""

    point: Point


@dataclass(frozen=True)
class Undecided:
    """It cannot be decided, for this reason."""

    reason: str


Verdict = Wrong | Undecided | None
"""None means that it cannot happen."""


def unless_partial(verdict: Verdict, *touched: Access) -> Verdict:
    """Return the verdict, but undecided instead of wrong if an element may not have been accessed."""
    if isinstance(verdict, Wrong) and not all(touch.is_sure for touch in touched):
        return Undecided("that depends on what the called function reads")
    return verdict


TOO_HARD = Undecided("that would take too long")


def judge(domain: System, wrong: System, find: Callable[[System], Point | Undecided | None] | None = None) -> Verdict:
    """Decide whether `wrong`, a part of `domain`, can happen. `find` searches for a point."""
    look = find or find_point
    try:
        found = look(wrong)
        if found is None or isinstance(found, Undecided):
            return found
        return _weigh(found, domain, wrong, look)
    except TooHardError:
        return TOO_HARD


def _weigh(point: Point, domain: System, wrong: System, find: Callable[[System], Point | Undecided | None]) -> Verdict:
    """Decide whether a point is a counterexample, or depends on something that is unknown before the run."""
    unknown = [v for v in wrong.variables() if v.origin is not VariableOrigin.COUNTER]
    if not unknown:
        return Wrong(point)
    names = ", ".join(sorted({v.name for v in unknown}))
    if any(v.origin is VariableOrigin.DATA for v in unknown):
        data = ", ".join(sorted({v.name for v in unknown if v.origin is VariableOrigin.DATA}))
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
