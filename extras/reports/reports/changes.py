"""The differences between two listings, for showing them side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

MOST_LINES = 6000
"""Texts of more lines than this, both together and without equal beginnings and ends, are not compared further."""

_NUMBER = re.compile(r"%\d+|_\d+\b")

Change = tuple[int, int, int, int]
"""The start and the end of a range of lines, and the start and the end of the lines that replace it."""


def changes(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """Return the parts that differ. The numbers of values do not count: one new op changes all that follow."""
    old, new = ([_NUMBER.sub("%", line) for line in lines] for lines in (before, after))
    head = _equal(old, new)
    tail = _equal(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old and not new:
        return []
    if len(old) + len(new) > MOST_LINES or not old or not new:
        return [(head, head + len(old), head, head + len(new))]
    codes = SequenceMatcher(None, old, new).get_opcodes()
    return [(head + i, head + j, head + k, head + n) for tag, i, j, k, n in codes if tag != "equal"]


def _equal(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many lines are equal at the beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
