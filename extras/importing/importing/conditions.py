"""Conditions on sizes: numbers that are 1 where they hold and 0 elsewhere, so that a program can compute with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relex.dialects.index.atoms import Extreme
from relex.dialects.index.expr import atom_of
from relex.dialects.sizes import Requirement, Size, larger, smaller


def at_least(x: Size, y: Size) -> Size:
    """Return whether a size is another one or more."""
    return smaller(larger(x - y + 1, 0), 1)


CONDITIONS: Mapping[str, Callable[[Size, Size], Size]] = {
    "ge": at_least,
    "le": lambda x, y: at_least(y, x),
    "gt": lambda x, y: at_least(x, y + 1),
    "lt": lambda x, y: at_least(y, x + 1),
    "eq": lambda x, y: smaller(at_least(x, y), at_least(y, x)),
    "ne": lambda x, y: larger(at_least(x, y + 1), at_least(y, x + 1)),
    "and_": smaller,
    "or_": larger,
}
"""Comparisons of sizes, and combinations of conditions, by the names of Python's module `operator`."""


def requirements_of(condition: Size) -> list[Requirement]:
    """Return requirements that hold where a condition does, without those that hold for all sizes."""
    condition = _where_positive(condition)
    match atom_of(condition):
        case Extreme("min", (x, y)):
            return [*requirements_of(x), *requirements_of(y)]
        case _:
            requirement = Requirement(1, "<=", condition).reduced()
            return [] if requirement.holds else [requirement]


def _where_positive(size: Size) -> Size:
    """Return a simpler size that is 1 or more where another one is."""
    match atom_of(size):
        case Extreme("min", (x, 1) | (1, x)) | Extreme("max", (x, 0) | (0, x)):
            return _where_positive(x)
        case Extreme(which, (x, y)):
            return (smaller if which == "min" else larger)(_where_positive(x), _where_positive(y))
        case _:
            return size
