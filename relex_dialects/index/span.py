"""Intervals of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Span:
    """The values from `low` to `high`, both inclusive; a side with an infinite end is unbounded."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The largest distance between two of the values."""
        return max(self.high - self.low, 0)

    def meets(self, other: Span) -> bool:
        """Return whether there is a number in both intervals."""
        return self.low <= other.high and other.low <= self.high

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Span) -> Span:
        ends = [a * b if a and b else 0 for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def scaled(self, by: int) -> Span:
        """Return the interval multiplied by a number."""
        ends = (self.low * by, self.high * by) if by else (0, 0)
        return Span(min(ends), max(ends))

    def divided(self, divisor: int) -> Span:
        """Return the interval divided by a positive number, rounded down."""
        return Span(*(end // divisor if abs(end) < inf else end for end in (self.low, self.high)))


ANYTHING = Span(-inf, inf)
