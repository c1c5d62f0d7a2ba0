"""The sets of a cache that rows of a matrix compete for."""

from __future__ import annotations

from collections import Counter

from relex.dialects.target.processors import Processor


def lines_in_a_set(rows: int, distance: int, processor: Processor) -> int:
    """Return how many lines, one of each of some rows that are `distance` bytes apart, share a set of the first-level
    cache."""
    sets = processor.l1_bytes // processor.l1_ways // processor.line_bytes
    return max(Counter(row * distance // processor.line_bytes % sets for row in range(rows)).values())
