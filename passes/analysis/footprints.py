"""Footprints: the part of a buffer that one iteration of a loop accesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.index.atoms import Atom
from relex.dialects.index.bounds import range_of
from relex.dialects.index.expr import (
    Index,
    IndexExpr,
    combination,
    constant_of,
    span_of,
    span_of_atom,
    terms_of,
    values_in,
)
from relex.dialects.tir import ForOp
from relex.dialects.tir.accesses import Element


@dataclass(frozen=True)
class IndexInterval:
    """The `extent` indices from `base` on; `base` may vary with the outer loops."""

    base: Index
    extent: int
    full: bool
    """Whether every index in the interval is accessed, not only some."""

    def holds(self, other: IndexInterval) -> bool:
        """Return whether all indices of another interval are accessed in this one."""
        ahead = other.base - self.base
        return self.full and not terms_of(ahead) and 0 <= constant_of(ahead) <= self.extent - other.extent


Region: TypeAlias = tuple[IndexInterval | None, ...]
"""An interval for each dimension; None where the bounds are unknown."""


def region_of(elements: Sequence[Element], loop: ForOp) -> Region:
    """Return the region that accesses cover in one iteration of a loop: the bounding box of their elements."""
    boxes = [[interval_of(form, loop) for form in element] for element in elements]
    return tuple(_join(dimension) for dimension in zip(*boxes, strict=True))


def split_form(form: Index, loop: ForOp) -> tuple[Index, Index] | None:
    """Split an index expression into the part that is fixed within one iteration of a loop and the part that varies;
    return None if an atom mixes both."""
    outer: dict[Atom, int] = {}
    inner: dict[Atom, int] = {}
    for atom, factor in terms_of(form).items():
        values = values_in(IndexExpr.of(atom))
        changes = {loop.is_ancestor(value.owner) and value is not loop.variable for value in values}
        if len(changes) != 1:
            return None
        (inner if changes.pop() else outer)[atom] = factor
    return combination(constant_of(form), outer), combination(0, inner)


def interval_of(form: Index, loop: ForOp) -> IndexInterval | None:
    """Return the interval of values that an index expression takes in one iteration of a loop; None if its extent is
    unknown."""
    parts = split_form(form, loop)
    if parts is None:
        return None
    outer, inner = parts
    # The variable of a loop with one iteration is a constant.
    fixed = combination(0, {atom: factor for atom, factor in terms_of(outer).items() if not span_of_atom(atom).width})
    outer = outer - fixed + int(span_of(fixed).low)
    span = span_of(inner)
    if not span.is_finite or span.empty:
        return None
    return IndexInterval(outer + int(span.low), int(span.width) + 1, is_full(inner))


def is_full(form: Index) -> bool:
    """Return whether a sum of independent variables takes every value between its bounds."""
    found = range_of(form)
    return found is not None and found.full is True and all(isinstance(atom, SSAValue) for atom in terms_of(form))


def covers(interval: IndexInterval, extent: int) -> bool:
    """Return whether an interval, as the outer loops run, covers every value from 0 up to `extent`, and maybe more."""
    span = span_of(interval.base)
    reach: float = interval.extent - 1
    for atom, factor in sorted(terms_of(interval.base).items(), key=lambda term: abs(term[1])):
        if not isinstance(atom, BlockArgument) or abs(factor) > reach + 1:
            return False
        reach += abs(factor) * span_of_atom(atom).width
    return interval.full and span.low <= 0 and span.high + interval.extent >= extent


def _join(intervals: Iterable[IndexInterval | None]) -> IndexInterval | None:
    """Return the smallest interval that contains the given ones; None if their bases differ by more than constants."""
    first, *rest = intervals
    if first is None:
        return None
    low, high, full = constant_of(first.base), constant_of(first.base) + first.extent, first.full
    for interval in rest:
        if interval is None or terms_of(interval.base) != terms_of(first.base):
            return None
        start, end = constant_of(interval.base), constant_of(interval.base) + interval.extent
        full = full and interval.full and start <= high and low <= end
        low, high = min(low, start), max(high, end)
    return IndexInterval(combination(low, terms_of(first.base)), high - low, full)
