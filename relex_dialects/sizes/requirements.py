"""Requirements on the sizes of a run.

Type rules call `equal` and `at_most`. Conditions that depend on the run are collected, to be checked there.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Literal

from relex.dialects.index.expr import (
    Index,
    combination,
    constant_of,
    divide_factors,
    name_of_size,
    named,
    names_in,
    never_negative,
    terms_of,
)
from relex.dialects.index.text import parse_text, read_index
from relex.dialects.index.values import substitute
from relex.dialects.sizes.expressions import Size, Sizes


@dataclass(frozen=True)
class Requirement:
    """A condition on the sizes of a run."""

    lhs: Size
    relation: Literal["==", "<="]
    rhs: Size

    def __str__(self) -> str:
        return f"{self.lhs} {self.relation} {self.rhs}"

    @property
    def meaning(self) -> object:
        """What is equal for requirements that say the same, such as n == m and m == n."""
        sides = frozenset((self.lhs, self.rhs)) if self.relation == "==" else (self.lhs, self.rhs)
        return self.relation, sides

    @property
    def holds(self) -> bool | None:
        """True if it holds in every run, False if in none; None if that depends on the run or cannot be decided."""
        slack = self.rhs - self.lhs
        if self.relation == "<=":
            return True if never_negative(slack) else False if never_negative(-slack - 1) else None
        if isinstance(slack, int):
            return slack == 0
        return False if slack.constant % gcd(*slack.terms.values()) else None

    def substitute(self, values: Mapping[str, Size]) -> Requirement:
        """Return the requirement with expressions in place of names, reduced."""
        return Requirement(substitute(self.lhs, values), self.relation, substitute(self.rhs, values)).reduced()

    def reduced(self) -> Requirement:
        """Return the requirement without common terms and without a common factor of both sides; unless it equates a
        name with something, also without negative terms."""
        lhs, rhs = self.lhs, self.rhs
        if self.relation == "<=" or not (name_of_size(lhs) or name_of_size(rhs)):
            moved = _negative_terms(lhs) + _negative_terms(rhs)
            lhs, rhs = lhs - moved, rhs - moved
        shared = _common_terms(lhs, rhs)
        lhs, rhs = lhs - shared, rhs - shared
        factor = gcd(*(factor for side in (lhs, rhs) for factor in (constant_of(side), *terms_of(side).values()))) or 1
        lhs, rhs = divide_factors(lhs, factor), divide_factors(rhs, factor)
        if self.relation == "<=" and (isinstance(lhs, int) or isinstance(rhs, int)):
            # For integers, 1 <= 2 * n is equivalent to 1 <= n.
            sides = [side for side in (lhs, rhs) if not isinstance(side, int)]
            step = gcd(*(factor for side in sides for factor in (side.constant, *side.terms.values()))) or 1
            lhs, rhs = -(-lhs // step) if isinstance(lhs, int) else divide_factors(lhs, step), divide_factors(rhs, step)
        return Requirement(lhs, self.relation, rhs)


def _negative_terms(size: Index) -> Index:
    """Return the terms with negative factors."""
    return combination(min(constant_of(size), 0), {atom: min(factor, 0) for atom, factor in terms_of(size).items()})


def _common_terms(lhs: Index, rhs: Index) -> Index:
    """Return the terms that both sizes share."""
    others = terms_of(rhs)
    shared = {atom: _common(factor, others.get(atom, 0)) for atom, factor in terms_of(lhs).items()}
    return combination(_common(constant_of(lhs), constant_of(rhs)), shared)


def _common(a: int, b: int) -> int:
    return min(a, b, key=abs) if a * b > 0 else 0


_gathered: ContextVar[list[Requirement] | None] = ContextVar("gathered", default=None)


@contextmanager
def gathering() -> Generator[list[Requirement]]:
    """Collect the requirements that `equal` and `at_most` leave to run time."""
    requirements: list[Requirement] = []
    token = _gathered.set(requirements)
    try:
        yield requirements
    finally:
        _gathered.reset(token)


def equal(lhs: Size, rhs: Size) -> bool:
    """Return whether two sizes are equal. If that depends on the run, return True and require it there."""
    return _expect(Requirement(lhs, "==", rhs))


def at_most(lhs: Size, rhs: Size) -> bool:
    """Return whether a size is not larger than another. If that depends on the run, return True and require it
    there."""
    return _expect(Requirement(lhs, "<=", rhs))


def _expect(requirement: Requirement) -> bool:
    holds = requirement.holds
    gathered = _gathered.get()
    if holds is None and gathered is not None:
        gathered.append(requirement.reduced())
    return holds is not False


@lru_cache(maxsize=4096)  # As of `parse_index`.
def parse_requirement(text: str) -> Requirement:
    """Parse a requirement, the inverse of `str`. Raises `ValueError`."""
    match parse_text(text):
        case ast.Compare(left=left, ops=[ast.Eq() | ast.LtE() as relation], comparators=[right]):
            sign = "==" if isinstance(relation, ast.Eq) else "<="
            return Requirement(read_index(left, text), sign, read_index(right, text))
        case _:
            raise ValueError(f"expected a comparison by '==' or '<=', found '{text}'")


LATE = 2.0**32
"""The rank of sizes that are known only in the middle of a run begins here."""


class Solver:
    """Requirements on one set of names, and their consequences: names that are equal to other sizes."""

    def __init__(self) -> None:
        self._known: dict[str, Size] = {}
        self._rank: dict[str, float] = {}
        self._left: list[Requirement] = []
        self._solved: dict[Size, Size] = {}
        self.refused: Requirement | None = None
        """The last requirement that cannot hold: one that was added, or an earlier one that it contradicts."""

    def copy(self) -> Solver:
        """Return the same requirements, to which others are added. Names are shared."""
        result = Solver()
        result._known, result._rank, result._left = dict(self._known), self._rank, list(self._left)
        return result

    @property
    def left(self) -> Sequence[Requirement]:
        """The requirements to check in a run, besides that names are equal to what `solved` replaces them by."""
        return self._left

    def name(self, name: str, late: float | None = None) -> Size:
        """Return the size called `name`. If two names turn out to be equal, the one created first stays. A size that is
        known only in the middle of a run has its place there as `late`: no size is expressed by later ones."""
        if late is not None:
            self._rank[name] = LATE + late
        self._rank.setdefault(name, len(self._rank))
        return named(name)

    def knows(self, name: str) -> bool:
        """Return whether a size has this name."""
        return name in self._rank

    def solved(self, sizes: Iterable[Size]) -> Sizes:
        """Return sizes in terms of the names that stay."""
        return tuple(map(self._solve, sizes))

    def _solve(self, size: Size) -> Size:
        if isinstance(size, int):
            return size
        if size not in self._solved:
            self._solved[size] = substitute(size, self._known)
        return self._solved[size]

    def require(self, requirement: Requirement) -> bool:
        """Add a requirement. Returns whether it can hold, together with the others."""
        if requirement.lhs == requirement.rhs:
            return True
        now = Requirement(self._solve(requirement.lhs), requirement.relation, self._solve(requirement.rhs)).reduced()
        if now.holds is not None:
            if not now.holds:
                self.refused = requirement
            return now.holds
        if now.relation == "==" and self._learn(now.lhs, now.rhs):
            earlier, self._left = self._left, []
            return all([self.require(other) for other in earlier])
        if now not in self._left:
            self._left.append(now)
        return True

    def _is_known_at(self, name: str, size: Size) -> bool:
        """Return whether no size in an expression is known later than a name, and late."""
        ranks = (self._rank.get(other, -1) for other in names_in(size))
        return all(rank < max(LATE, self._rank.get(name, -1)) for rank in ranks)

    def _learn(self, lhs: Size, rhs: Size) -> bool:
        """If one side is a name, replace it by the other side from now on. Returns whether that was possible."""
        sides = [(name, other) for s, other in ((lhs, rhs), (rhs, lhs)) if (name := name_of_size(s)) is not None]
        candidates = [(n, other) for n, other in sides if n not in names_in(other) and self._is_known_at(n, other)]
        if not candidates:
            return False
        name, value = max(candidates, key=lambda candidate: self._rank.get(candidate[0], -1))
        self._known = {old: substitute(size, {name: value}) for old, size in self._known.items()} | {name: value}
        self._solved.clear()
        return True
