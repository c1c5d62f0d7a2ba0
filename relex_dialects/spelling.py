"""Suggestions for names that are misspelled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

COMMON = frozenset(("mlir", "pass", "passes", "print", "test", "lower", "convert", "disable", "max"))
"""Words in the names of many options and passes, which tell nothing about the others."""


def similar_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one resembles most, None if none is likely to be meant: one that differs
    in few letters, or that has a word in common."""
    for found in get_close_matches(name, known, n=5):
        if _are_alike(name, found) or any(_are_related(a, b) for a in _words(name) for b in _words(found)):
            return found
    return None


def advice(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return what an error message about an unknown name ends with; `otherwise` if no known one resembles it."""
    found = similar_name(name, known)
    return otherwise if found is None else f"did you mean '{found}'?"


def _words(name: str) -> list[str]:
    """Return the words of a name that tell it from others."""
    return [word for word in re.split(r"[^A-Za-z0-9]+", name) if len(word) > 2 and word not in COMMON]


def _are_related(a: str, b: str) -> bool:
    """Return whether words of two names are the same but for an ending or a slip: "use" is not "fuse"."""
    short, long = sorted((a, b), key=len)
    if len(short) < 4:
        return a == b
    return (long.startswith(short) and len(long) - len(short) <= 3) or _resemblance(a, b) > 0.85


def _are_alike(a: str, b: str) -> bool:
    # "int" is no form of "interchange".
    begins = (a.startswith(b) or b.startswith(a)) and 2 * min(len(a), len(b)) >= max(len(a), len(b))
    return sorted(a) == sorted(b) or begins or _resemblance(a, b) > 0.8


def _resemblance(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b).ratio()
