"""Subjects of a campaign: programs, and what must be true of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Case:
    """A program, and how it is tried: everything that a check depends on, so that a file can hold it."""

    module: ModuleOp
    options: Mapping[str, str] = field(default_factory=dict[str, str])


class Skip(Exception):
    """Raised for a program of which nothing can be said, with the reason."""


COUNTS: ContextVar[Counter[str] | None] = ContextVar("COUNTS", default=None)
"""The counters of the check of a program."""


@contextmanager
def counting() -> Generator[Counter[str]]:
    """Collect what checks count."""
    counts = Counter[str]()
    token = COUNTS.set(counts)
    try:
        yield counts
    finally:
        COUNTS.reset(token)


def count(operator: str, decided: int, elements: int) -> None:
    """Count elements of an operator's results, and how many of them a check can say something about."""
    counts = COUNTS.get()
    if counts is not None:
        counts.update({f"{operator} decided": decided, f"{operator} elements": elements})


class Subject(ABC):
    """A kind of programs, and a property that all of them have."""

    name: ClassVar[str]
    weight: ClassVar[int] = 1
    """The relative frequency with which the subject is drawn."""

    @abstractmethod
    def make(self, random: Random) -> Case:
        """Return a program. Raises `Skip` if none was found."""

    @abstractmethod
    def check(self, case: Case) -> str | None:
        """Return what is wrong with a program; None if nothing is. `CompileError` refuses the program, unless it is
        an `InvalidOutputError`; any other exception is a mistake as well. Raises `Skip` if there is nothing to
        compare."""
