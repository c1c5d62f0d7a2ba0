"""Ranges of integers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(unsafe_hash=True)  # Never changed. Not frozen: there are many, and that takes several times as long.
class Range:
    """The values from `low` to `high`, both inclusive; none if `low` is larger. A side with an infinite end is
    unbounded. Sums and products are bounds, whatever is known about their parts."""

    low: float
    high: float
    exact: bool = False
    """Both ends are attained; otherwise they are only bounds."""
    full: bool | None = None
    """All values in between are attained; False if some certainly are not, None if that is unknown."""

    @property
    def empty(self) -> bool:
        """True if there are no values."""
        return self.low > self.high

    @property
    def is_finite(self) -> bool:
        """True if both sides are bounded."""
        return -inf < self.low and self.high < inf

    @property
    def width(self) -> float:
        """The largest distance between two of the values."""
        return max(self.high - self.low, 0)

    def overlaps(self, other: Range) -> bool:
        """Return whether there is a number in both ranges."""
        return self.low <= other.high and other.low <= self.high

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        ends = [a * b if a and b else 0 for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    def scaled(self, by: int) -> Range:
        """Return the range multiplied by a number."""
        ends = (self.low * by, self.high * by) if by else (0, 0)
        return Range(min(ends), max(ends))

    def divided(self, divisor: int) -> Range:
        """Return the range divided by a positive number, rounded down."""
        low, high = (end // divisor if abs(end) < inf else end for end in (self.low, self.high))
        return Range(low, high)

    def __str__(self) -> str:
        if self.empty:
            return "no value"
        return f"{self.low}..{self.high}" if self.low != self.high else str(self.low)


ANYTHING = Range(-inf, inf)


def exactly(low: float, high: float) -> Range:
    """Return the range of which every value is attained."""
    return Range(low, high, True, True)
