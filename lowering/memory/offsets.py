"""Offset assignment: intervals that are live at the same time must not overlap in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, chain
from math import inf
from operator import itemgetter
from typing import NamedTuple


@dataclass(frozen=True)
class LiveRange:
    """A size and a range of positions at which it is live, both ends included."""

    first: int
    last: int
    size: int

    def overlaps(self, other: LiveRange) -> bool:
        """Return whether both are live at some position."""
        return self.first <= other.last and other.first <= self.last


ROUNDS = 4
"""Placement rounds per order, each with an improved order."""

_ORDERS: list[Callable[[LiveRange], tuple[int, ...]]] = [
    lambda i: (-i.size, i.first - i.last),
    lambda i: (-i.size * (i.last - i.first + 1), -i.size),
    lambda i: (i.first - i.last, -i.size),
    lambda i: (i.first, -i.size),
    lambda i: (-i.last, -i.size),
]
"""Orders in which to place intervals; the best result is taken, since the best order depends on the program."""


def place(intervals: Sequence[LiveRange]) -> list[int]:
    """Return an offset for each interval such that no two that overlap in time share memory, with a small
    total, though not always the least.

    Intervals are placed in order: each goes into the smallest gap that is large enough among the intervals that
    overlap it in time and are already placed, or after them all. Intervals that end highest come first in the next
    round.
    """
    timeline = Timeline(intervals)
    least = most_in_use(intervals)
    best: list[int] = []
    for key in _ORDERS:
        order = sorted(range(len(intervals)), key=lambda i: key(intervals[i]))
        for _ in range(ROUNDS):
            found = _place_in_order(intervals, order, timeline)
            top = end(intervals, found)
            if not best or top < end(intervals, best):
                best = found
            if end(intervals, best) == least:
                return best
            highest = {i for i, offset in enumerate(found) if offset + intervals[i].size == top}
            order.sort(key=lambda i: i not in highest)
    return best


def compact(intervals: Sequence[LiveRange], offsets: Sequence[int]) -> list[int]:
    """Return the offsets of intervals, in the same order in memory as at `offsets`, each as low as the
    overlapping ones below it allow."""
    timeline = Timeline(intervals)
    tops = {node: 0 for nodes in timeline.nodes for node in nodes.own + nodes.above}
    inner = dict(tops)
    found = [0] * len(intervals)
    for i in sorted(range(len(intervals)), key=lambda i: offsets[i]):
        own, above, _ = timeline.nodes[i]
        found[i] = max((*(inner[node] for node in own), *(tops[node] for node in above)))
        top = found[i] + intervals[i].size
        for node in own:
            tops[node] = top if top > tops[node] else tops[node]
        for node in (*own, *above):
            inner[node] = top if top > inner[node] else inner[node]
    return found


def end(intervals: Sequence[LiveRange], offsets: Sequence[int]) -> int:
    """Return how much memory intervals at these offsets need."""
    return max((offset + interval.size for interval, offset in zip(intervals, offsets, strict=True)), default=0)


def meetings(intervals: Sequence[LiveRange]) -> list[list[int]]:
    """Return for each interval the others that overlap it in time, in order."""
    found: list[list[int]] = [[] for _ in intervals]
    live: list[int] = []
    for i in sorted(range(len(intervals)), key=lambda i: intervals[i].first):
        live = [j for j in live if intervals[j].last >= intervals[i].first]
        for j in live:
            found[i].append(j)
            found[j].append(i)
        live.append(i)
    return list(map(sorted, found))


def most_in_use(intervals: Sequence[LiveRange]) -> int:
    """Return the largest total size live at one position: a lower bound of the memory needed."""
    changes = [(i.first, 0, i.size) for i in intervals] + [(i.last, 1, -i.size) for i in intervals]
    return max(accumulate((size for _, _, size in sorted(changes)), initial=0))


def below(
    intervals: Sequence[LiveRange], offsets: Sequence[int], index: int, near: Sequence[Sequence[int]]
) -> list[int]:
    """Return the intervals directly below one that they overlap in time, with no other in between that overlaps
    both. `near` are the `meetings` of all."""
    lower = [i for i in near[index] if offsets[i] < offsets[index]]
    return [i for i in lower if not any(offsets[i] < offsets[j] and intervals[i].overlaps(intervals[j]) for j in lower)]


class Nodes(NamedTuple):
    """Nodes of the tree over a timeline."""

    own: tuple[int, ...]
    """Those that an interval consists of."""
    above: tuple[int, ...]
    """Those that contain one of these, and that other intervals consist of."""
    outer: tuple[int, ...]
    """Its own nodes that contain nodes of other intervals."""


class Timeline:
    """
    A binary tree over the positions at which intervals begin: as intervals are placed one after the other, each finds
    those that it overlaps without being compared with all of them.

    Two intervals overlap if and only if one consists of a node that the other consists of, or that contains one of
    its.
    """

    def __init__(self, intervals: Sequence[LiveRange]):
        starts = sorted({interval.first for interval in intervals})
        # The leaf of each position; node n has the children 2 n and 2 n + 1.
        leaf = {start: len(starts) + i for i, start in enumerate(starts)}
        own = [_nodes(leaf[i.first], len(starts) + bisect_right(starts, i.last)) for i in intervals]
        used = set(chain.from_iterable(own))
        above = [_above(nodes, used) for nodes in own]
        outer = set(chain.from_iterable(above))
        self.nodes = [Nodes(*parts, tuple(outer.intersection(parts[0]))) for parts in zip(own, above, strict=True)]


def _nodes(first: int, end: int) -> tuple[int, ...]:
    """Return the nodes for a range of leaves."""
    nodes: list[int] = []
    while first < end:
        if first % 2:
            nodes.append(first)
        if end % 2:
            nodes.append(end - 1)
        first, end = (first + 1) // 2, end // 2
    return tuple(nodes)


def _above(nodes: Sequence[int], used: AbstractSet[int]) -> tuple[int, ...]:
    return tuple({node >> up for node in nodes for up in range(1, node.bit_length())} & used)


Range = tuple[int, int]
"""The start and the end of a piece of memory."""


def _place_in_order(intervals: Sequence[LiveRange], order: Sequence[int], timeline: Timeline) -> list[int]:
    # The memory of intervals that consist of a node, and of those and all within it.
    whole, within = defaultdict[int, list[Range]](list), defaultdict[int, list[Range]](list)
    offsets = [0] * len(intervals)
    for index in order:
        own, above, outer = timeline.nodes[index]
        near = [within[node] for node in own if node in within] + [whole[node] for node in above if node in whole]
        size = intervals[index].size
        start = find_gap(near[0] if len(near) == 1 else sorted(chain.from_iterable(near)), size)
        offsets[index] = start
        for node in outer:
            _add(whole[node], start, start + size)
        for node in own + above:
            _add(within[node], start, start + size)
    return offsets


def find_gap(taken: Sequence[Range], size: int) -> int:
    """Return the start of the smallest gap between sorted ranges that is large enough, or their end."""
    free, best, found = 0, inf, None
    for start, end in taken:
        if size <= start - free < best and start > free:
            best, found = start - free, free
        if end > free:
            free = end
    return free if found is None else found


def _add(ranges: list[Range], start: int, end: int) -> None:
    """Add a range to sorted ones, and merge those that touch."""
    if not ranges or start > ranges[-1][1]:
        ranges.append((start, end))
        return
    low = bisect_left(ranges, start, key=itemgetter(1))
    high = bisect_right(ranges, end, lo=low, key=itemgetter(0))
    if low < high:
        start, end = min(start, ranges[low][0]), max(end, ranges[high - 1][1])
    ranges[low:high] = [(start, end)]
