"""`--benchmark` of relex-run: how long calls of a function take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from relex.runtime.profile import duration

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

SECONDS, LEAST_CALLS, MOST_CALLS = 1.0, 5, 100_000
"""Calls are measured for `SECONDS`, but at least and at most this often."""


@dataclass(frozen=True)
class Measured:
    """The times of calls of a function, in seconds."""

    function: str
    seconds: Array
    least: float
    """The least time that the arithmetic and the memory of one core allow; 0 if it is not known."""

    @cached_property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.seconds))

    def __str__(self) -> str:
        least, low, high = (duration(float(np.percentile(self.seconds, percent))) for percent in (0, 10, 90))
        text = f"{self.function}(): {duration(self.median)}, the median of {len(self.seconds)} calls"
        spread = f"80 % of them between {low} and {high}, the fastest {least}"
        limit = f"; {100 * self.least / self.median:.0f} % of the limit of one core" if self.least else ""
        return f"{text}; {spread}{limit}"


def measure(function: str, call: Callable[[], object], flops: int | None, size: int, dtype: str) -> Measured:
    """Measure calls. `flops` and `size` are the operations and the bytes of one, for the limit."""
    from relex.tools.run.roofline import least_seconds

    call()
    found: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(found) < LEAST_CALLS or (len(found) < MOST_CALLS and time.perf_counter() < until):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    least = 0.0 if flops is None else least_seconds(flops, size, dtype)
    return Measured(function, np.array(found), least)
