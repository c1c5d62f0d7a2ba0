"""Constraints on linear expressions of unknown integers, and systems of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relex.dialects.index.atoms import Variable, VariableOrigin
from relex.dialects.index.expr import Index, IndexExpr, constant_of, span_of

Point = Mapping[Variable, int]
"""Values of variables; missing ones do not matter."""


def unknowns(form: Index) -> Mapping[Variable, int]:
    """Return the variables of a linear expression with their factors. It has no other atoms."""
    terms: Any = {} if isinstance(form, int) else form.terms  # Asked often.
    return terms


def limits_of(form: Index) -> tuple[int, int]:
    """Return bounds of the value, from the bounds of each variable."""
    span = span_of(form)
    return int(span.low), int(span.high)


def at(form: Index, point: Point) -> int:
    """Return the value at a point; variables missing there are 0."""
    return constant_of(form) + sum(factor * point.get(v, 0) for v, factor in unknowns(form).items())


def with_value(form: Index, variable: Variable, value: Index) -> Index:
    """Return the form with an expression in place of a variable."""
    factor = unknowns(form).get(variable)
    return form if factor is None else form - IndexExpr.of(variable) * factor + value * factor


@dataclass(frozen=True)
class Constraint:
    """A constraint on a linear form: it is at least 0; or 0 if `modulus` is 0; or a multiple of `modulus`."""

    form: Index
    modulus: int | None = None

    @property
    def is_inequality(self) -> bool:
        """True if the form must be at least 0."""
        return self.modulus is None

    @property
    def is_equality(self) -> bool:
        """True if the form must be 0."""
        return self.modulus == 0

    def with_value(self, variable: Variable, value: Index) -> Constraint:
        """Return the constraint with an expression in place of a variable."""
        if variable not in unknowns(self.form):
            return self
        return Constraint(with_value(self.form, variable, value), self.modulus)

    def holds_at(self, point: Point) -> bool:
        """Return whether the constraint holds at a point."""
        value = at(self.form, point)
        if self.modulus is None:
            return value >= 0
        return value == 0 if self.modulus == 0 else value % self.modulus == 0

    def negated(self) -> list[System]:
        """Return the systems of which one holds exactly if the constraint fails."""
        if self.modulus is None:
            return [System.of(at_least(-1, self.form))]
        if self.modulus == 0:
            return [System.of(less(self.form, 0)), System.of(less(0, self.form))]
        low, high = limits_of(self.form)
        quotient = IndexExpr.of(Variable("quotient", VariableOrigin.COUNTER, low // self.modulus, high // self.modulus))
        rest = self.form - quotient * self.modulus
        return [System.of(at_least(rest, 1), at_least(self.modulus - 1, rest))]


def at_least(left: Index, right: Index) -> Constraint:
    """Return the constraint `left >= right`."""
    return Constraint(left - right)


def less(left: Index, right: Index) -> Constraint:
    """Return the constraint `left < right`."""
    return Constraint(right - left - 1)


def same(left: Index, right: Index) -> Constraint:
    """Return the constraint `left == right`."""
    return Constraint(left - right, 0)


def multiple(form: Index, modulus: int) -> Constraint:
    """Return the constraint that `form` is a multiple of `modulus`."""
    return Constraint(form, modulus)


@dataclass(frozen=True)
class System:
    """A conjunction of constraints and of choices, each of which is a disjunction of systems."""

    constraints: tuple[Constraint, ...] = ()
    choices: tuple[tuple[System, ...], ...] = ()

    @classmethod
    def of(cls, *constraints: Constraint) -> System:
        """Return the conjunction of constraints."""
        return cls(constraints)

    @classmethod
    def any_of(cls, systems: Iterable[System]) -> System:
        """Return the disjunction of systems."""
        alternatives = tuple(systems)
        return alternatives[0] if len(alternatives) == 1 else cls((), (alternatives,))

    def __and__(self, other: System) -> System:
        return System(self.constraints + other.constraints, self.choices + other.choices)

    def with_values(self, values: Sequence[tuple[Variable, Index]]) -> System:
        """Return the system with expressions in place of variables, one after the other."""
        if not values:
            return self
        constraints = self.constraints
        for variable, value in values:
            constraints = tuple(c.with_value(variable, value) for c in constraints)
        choices = tuple(tuple(system.with_values(values) for system in choice) for choice in self.choices)
        return System(constraints, choices)

    def cases(self) -> Iterator[tuple[Constraint, ...]]:
        """Yield the disjuncts of the system, each a conjunction of constraints: one for each combination of
        alternatives."""
        if not self.choices:
            yield self.constraints
            return
        first, *others = self.choices
        for alternative in first:
            yield from (System(self.constraints, tuple(others)) & alternative).cases()

    def variables(self) -> set[Variable]:
        """Return the variables in the system."""
        found = {v for c in self.constraints for v in unknowns(c.form)}
        return found.union(*(s.variables() for choice in self.choices for s in choice))


NOWHERE = System.of(Constraint(-1))
"""The system that no point satisfies."""


def different(left: Sequence[Index], right: Sequence[Index]) -> System:
    """Return the system that holds where two lists of equal length differ."""
    pairs = list(zip(left, right, strict=True))
    alternatives = [System.of(c) for a, b in pairs for c in (less(a, b), less(b, a))]
    return System.any_of(alternatives) if alternatives else NOWHERE


def within(form: Index, size: Index) -> System:
    """Return the system that holds where an index is inside a dimension of some size."""
    return System.of(Constraint(form), less(form, size))


def outside(form: Index, size: Index) -> System:
    """Return the system that holds where an index is outside of a dimension of some size."""
    return System.any_of((System.of(less(form, 0)), System.of(at_least(form, size))))
