"""A limit on the time of proofs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from time import process_time

from relex.reference.equivalence.interface import NotComparable
from relex.reference.equivalence.proving import DifferentTerms
from relex.reference.interpreter.budget import OutOfTime, within

SECONDS = 60.0
"""The processor time that the proofs of a function may take together, unless another is given."""


class TimeLimit:
    """The processor time that the proofs of each function may take, and have taken."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self._spent: defaultdict[str, float] = defaultdict(float)

    def left(self, function: str) -> float:
        """Return how many seconds a function has left."""
        return self.seconds - self._spent[function]

    @contextmanager
    def limited(self, function: str) -> Generator[None]:
        """Prove something of a function in the body. Raises `NotComparable` when the time is up; a difference that was
        found by then is raised as it is."""
        late = NotComparable(f"its proofs take more than {self.seconds:g} seconds")
        if (left := self.left(function)) <= 0:
            raise late
        begin = process_time()
        try:
            with within(left):
                yield
        except DifferentTerms:
            raise
        except (OutOfTime, NotComparable) as e:
            if process_time() - begin < left:
                raise
            raise late from e
        finally:
            self._spent[function] += process_time() - begin
