"""Count of the steps of runs, and limits on them: on their number, which ends a run at the same place on every machine,
and on their time."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from time import process_time


class OutOfSteps(Exception):
    """A run that takes more steps than it may."""


class OutOfTime(OutOfSteps):
    """A run that takes more time than it may."""


@dataclass
class Budget:
    """The steps that were taken, and how many there may be."""

    limit: float = inf
    taken: int = 0
    end: float = inf
    """When the time is up, in processor seconds of this process."""
    check: float = inf
    """The number of steps at which the time is looked at next."""

    def check_time(self) -> None:
        """Raise `OutOfTime` if the time is up."""
        self.check = self.taken + STEPS_BETWEEN_CHECKS
        if process_time() > self.end:
            raise OutOfTime


STEPS_BETWEEN_CHECKS = 1000
"""How many steps are taken until the time is looked at again."""

_UNLIMITED = Budget()
_BUDGET = ContextVar("budget", default=_UNLIMITED)

NUMBERS = 512
"""How many numbers a step on arrays computes in about the time of a step on one number."""

ELEMENTS = 64
"""The same for elements that are not numbers, such as symbols or bounds."""


def take(steps: int) -> None:
    """Count steps that are about to run. Raises `OutOfSteps` if there are too many."""
    budget = _BUDGET.get()
    budget.taken += steps
    if budget.taken > budget.limit:
        raise OutOfSteps
    if budget.taken >= budget.check:
        budget.check_time()


def steps_taken() -> int:
    """Return the number of steps that were taken so far."""
    return _BUDGET.get().taken


@contextmanager
def at_most(steps: int) -> Generator[None]:
    """Limit the steps of the runs in the body."""
    with _limited(Budget(steps, end=_BUDGET.get().end)):
        yield


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Limit the processor time of the runs in the body."""
    around = _BUDGET.get()
    with _limited(Budget(around.limit - around.taken, end=min(around.end, process_time() + seconds))):
        yield


@contextmanager
def _limited(budget: Budget) -> Generator[None]:
    around = _BUDGET.get()
    if budget.end < inf:
        budget.check = 0
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)
        around.taken += budget.taken
