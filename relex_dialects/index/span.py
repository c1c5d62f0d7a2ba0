"""Intervals of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Span:
    """The values from `low` to `high`, both included, without an end on a side that is infinite."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far two of the values may be apart."""
        return max(self.high - self.low, 0)

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Span) -> Span:
        ends = [a * b if a and b else 0 for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(min(ends), max(ends))

    def scaled(self, by: int) -> Span:
        return self * Span(by, by)

    def divided(self, divisor: int) -> Span:
        """By a positive number, rounded down."""
        return Span(*(end // divisor if abs(end) < inf else end for end in (self.low, self.high)))


ANYTHING = Span(-inf, inf)
