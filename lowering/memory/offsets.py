"""Offset assignment: intervals that are live at the same time must not overlap in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A size and a range of positions at which it is live, both ends included."""

    first: int
    last: int
    size: int

    def meets(self, other: Interval) -> bool:
        """Return whether both are live at some position."""
        return self.first <= other.last and other.first <= self.last


ROUNDS = 4
"""Placement rounds per order, each with an improved order."""

_ORDERS: list[Callable[[Interval], tuple[int, ...]]] = [
    lambda i: (-i.size, i.first - i.last),
    lambda i: (-i.size * (i.last - i.first + 1), -i.size),
    lambda i: (i.first - i.last, -i.size),
    lambda i: (i.first, -i.size),
    lambda i: (-i.last, -i.size),
]
"""Orders in which to place intervals; the best result is taken, since the best order depends on the program."""


def place(intervals: Sequence[Interval]) -> list[int]:
    """Return an offset for each interval such that no two that meet overlap, with a small total, though not always the
    least.

    Intervals are placed in order: each goes into the smallest gap that is large enough among the intervals it meets
    that are already placed, or after them all. Intervals that end highest come first in the next round.
    """
    near = meetings(intervals)
    least = most_in_use(intervals)
    best: list[int] = []
    for key in _ORDERS:
        order = sorted(range(len(intervals)), key=lambda i: key(intervals[i]))
        for _ in range(ROUNDS):
            found = _place_in_order(intervals, order, near)
            top = end(intervals, found)
            if not best or top < end(intervals, best):
                best = found
            if end(intervals, best) == least:
                return best
            highest = {i for i, offset in enumerate(found) if offset + intervals[i].size == top}
            order.sort(key=lambda i: i not in highest)
    return best


def end(intervals: Sequence[Interval], offsets: Sequence[int]) -> int:
    """Return how much memory intervals at these offsets need."""
    return max((offset + interval.size for interval, offset in zip(intervals, offsets, strict=True)), default=0)


def meetings(intervals: Sequence[Interval]) -> list[list[int]]:
    """Return for each interval the others that it meets, in order."""
    found: list[list[int]] = [[] for _ in intervals]
    live: list[int] = []
    for i in sorted(range(len(intervals)), key=lambda i: intervals[i].first):
        live = [j for j in live if intervals[j].last >= intervals[i].first]
        for j in live:
            found[i].append(j)
            found[j].append(i)
        live.append(i)
    return list(map(sorted, found))


def most_in_use(intervals: Sequence[Interval]) -> int:
    """Return the largest total size live at one position: a lower bound of the memory needed."""
    at_starts = (
        one.size + sum(intervals[i].size for i in others if intervals[i].first <= one.first)
        for one, others in zip(intervals, meetings(intervals), strict=True)
    )
    return max(at_starts, default=0)


def below(
    intervals: Sequence[Interval], offsets: Sequence[int], index: int, near: Sequence[Sequence[int]]
) -> list[int]:
    """Return the intervals directly below one that they meet, with no other in between that meets both. `near` are the
    `meetings` of all."""
    lower = [i for i in near[index] if offsets[i] < offsets[index]]
    return [i for i in lower if not any(offsets[i] < offsets[j] and intervals[i].meets(intervals[j]) for j in lower)]


def _place_in_order(intervals: Sequence[Interval], order: Sequence[int], near: Sequence[Sequence[int]]) -> list[int]:
    offsets: dict[int, int] = {}
    for index in order:
        interval = intervals[index]
        taken = sorted((offsets[i], offsets[i] + intervals[i].size) for i in near[index] if i in offsets)
        fitting = [(gap, start) for start, gap in _gaps(taken) if gap >= interval.size]
        _, offsets[index] = min(fitting, default=(0, max((last for _, last in taken), default=0)))
    return [offsets[index] for index in range(len(intervals))]


def _gaps(taken: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the start and size of each gap between ranges."""
    free = 0
    for start, last in taken:
        if start > free:
            yield free, start - free
        free = max(free, last)
