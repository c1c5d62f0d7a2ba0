"""Places in one piece of memory for things that are not all in use at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """Something of a size, in use from one moment to another, both included."""

    first: int
    last: int
    size: int

    def meets(self, other: Interval) -> bool:
        """Whether both are in use at some moment."""
        return self.first <= other.last and other.first <= self.last


ROUNDS = 4
"""How often things are placed again in an order made better."""

_ORDERS: list[Callable[[Interval], tuple[int, ...]]] = [
    lambda i: (-i.size, i.first - i.last),
    lambda i: (-i.size * (i.last - i.first + 1), -i.size),
    lambda i: (i.first - i.last, -i.size),
    lambda i: (i.first, -i.size),
    lambda i: (-i.last, -i.size),
]
"""In which orders things are placed, to take the best result: which is best depends on the program."""


def place(intervals: Sequence[Interval]) -> list[int]:
    """The offset of each interval, such that no two that meet overlap: little memory in all, if not always the least.

    One after the other, largest first, comes into the smallest gap that is large enough among those that it meets and
    that have their place, or behind them all. Those that then stick out come earlier in the next round.
    """
    least = most_in_use(intervals)
    best: list[int] = []
    for key in _ORDERS:
        order = sorted(range(len(intervals)), key=lambda i: key(intervals[i]))
        for _ in range(ROUNDS):
            found = _place_in_order(intervals, order)
            if not best or end(intervals, found) < end(intervals, best):
                best = found
            if end(intervals, best) == least:
                return best
            highest = {i for i, offset in enumerate(found) if offset + intervals[i].size == end(intervals, found)}
            order.sort(key=lambda i: i not in highest)
    return best


def end(intervals: Sequence[Interval], offsets: Sequence[int]) -> int:
    """How much memory intervals at these offsets need."""
    return max((offset + interval.size for interval, offset in zip(intervals, offsets, strict=True)), default=0)


def most_in_use(intervals: Sequence[Interval]) -> int:
    """The sizes of all that is in use at the worst moment together: no less will do."""
    moments = {interval.first for interval in intervals}
    return max((sum(i.size for i in intervals if i.first <= m <= i.last) for m in moments), default=0)


def below(intervals: Sequence[Interval], offsets: Sequence[int], index: int) -> list[int]:
    """Those that an interval meets and that lie directly below it, without another one between that meets both."""
    lower = [i for i, it in enumerate(intervals) if offsets[i] < offsets[index] and it.meets(intervals[index])]
    return [i for i in lower if not any(offsets[i] < offsets[j] and intervals[i].meets(intervals[j]) for j in lower)]


def _place_in_order(intervals: Sequence[Interval], order: Sequence[int]) -> list[int]:
    offsets: dict[int, int] = {}
    for index in order:
        interval = intervals[index]
        taken = sorted((offsets[i], offsets[i] + intervals[i].size) for i in offsets if interval.meets(intervals[i]))
        fitting = [(gap, start) for start, gap in _gaps(taken) if gap >= interval.size]
        _, offsets[index] = min(fitting, default=(0, max((last for _, last in taken), default=0)))
    return [offsets[index] for index in range(len(intervals))]


def _gaps(taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where the gaps between ranges begin, and how large they are."""
    free = 0
    for start, last in taken:
        if start > free:
            yield free, start - free
        free = max(free, last)
