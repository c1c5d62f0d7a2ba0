"""Count of the steps of runs, and a limit on them: unlike a time limit, it ends a run at the same place on every
machine."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf


class OutOfSteps(Exception):
    """A run that takes more steps than it may."""


@dataclass
class Budget:
    """The steps that were taken, and how many there may be."""

    limit: float = inf
    taken: int = 0


_UNLIMITED = Budget()
_BUDGET = ContextVar("budget", default=_UNLIMITED)

ELEMENTS = 64
"""The number of elements that a step on arrays computes in about the time of a step on numbers."""


def take(steps: int) -> None:
    """Count steps that are about to run. Raises `OutOfSteps` if there are too many."""
    budget = _BUDGET.get()
    budget.taken += steps
    if budget.taken > budget.limit:
        raise OutOfSteps


def steps_taken() -> int:
    """Return the number of steps that were taken so far."""
    return _BUDGET.get().taken


@contextmanager
def at_most(steps: int) -> Generator[None]:
    """Limit the steps of the runs in the body."""
    around, budget = _BUDGET.get(), Budget(steps)
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)
        around.taken += budget.taken
