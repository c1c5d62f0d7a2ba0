"""Suggestions for names that are misspelled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


def similar_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one resembles most, None if none is likely to be meant: one that differs
    in few letters, or that has a word in common."""
    for found in get_close_matches(name, known, n=5):
        if _are_alike(name, found) or any(_are_alike(a, b) for a in _words(name) for b in _words(found)):
            return found
    return None


def advice(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return what an error message about an unknown name ends with; `otherwise` if no known one resembles it."""
    found = similar_name(name, known)
    return otherwise if found is None else f"did you mean '{found}'?"


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^A-Za-z0-9]+", name) if len(word) > 2]


def _are_alike(a: str, b: str) -> bool:
    swapped = sorted(a) == sorted(b)
    return swapped or a.startswith(b) or b.startswith(a) or SequenceMatcher(None, a, b).ratio() > 0.8
