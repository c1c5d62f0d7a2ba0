"""Integer linear expressions and constraints, and systems of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from math import gcd


class Origin(Enum):
    """What a variable stands for, and so what it means that some value of it makes a difference."""

    COUNTER = auto()
    """A loop that takes all its values in every run, or something computed from such loops."""
    SIZE = auto()
    """A number that is fixed in a run: a size of a buffer or an argument."""
    DATA = auto()
    """A number that the data decides on, or that is computed in a way that is not understood."""


@dataclass(frozen=True, eq=False)
class Variable:
    """An unknown integer, between `low` and `high`, both included."""

    name: str
    origin: Origin
    low: int
    high: int


Point = Mapping[Variable, int]
"""Values of variables; those that are missing do not matter."""


@dataclass(frozen=True)
class Linear:
    """A constant plus variables with constant factors, none of them 0."""

    constant: int = 0
    factors: Mapping[Variable, int] = field(default_factory=dict[Variable, int])

    @classmethod
    def of(cls, variable: Variable) -> Linear:
        return cls(0, {variable: 1})

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.constant + other, self.factors)
        factors = dict(self.factors)
        for variable, factor in other.factors.items():
            factors[variable] = factors.get(variable, 0) + factor
        return Linear(self.constant + other.constant, {v: f for v, f in factors.items() if f})

    def __sub__(self, other: Linear | int) -> Linear:
        return self + (-other if isinstance(other, int) else other.scaled(-1))

    def scaled(self, by: int) -> Linear:
        return Linear(self.constant * by, {v: f * by for v, f in self.factors.items()} if by else {})

    def with_value(self, variable: Variable, value: Linear) -> Linear:
        """The same with an expression in place of a variable."""
        factor = self.factors.get(variable)
        if factor is None:
            return self
        rest = Linear(self.constant, {v: f for v, f in self.factors.items() if v is not variable})
        return rest + value.scaled(factor)

    def at(self, point: Point) -> int:
        return self.constant + sum(f * point.get(v, 0) for v, f in self.factors.items())

    @property
    def limits(self) -> tuple[int, int]:
        """Bounds of the value, from those of each variable by itself."""
        ends = [sorted((f * v.low, f * v.high)) for v, f in self.factors.items()]
        return self.constant + sum(low for low, _ in ends), self.constant + sum(high for _, high in ends)

    @property
    def divisor(self) -> int:
        """The greatest common divisor of the factors, 0 if there are none."""
        return gcd(*self.factors.values())

    def __str__(self) -> str:
        terms = [(f, v.name if abs(f) == 1 else f"{v.name} * {abs(f)}") for v, f in self.factors.items()]
        if self.constant or not terms:
            terms.append((self.constant, str(abs(self.constant))))
        (first, head), *others = terms
        tail = "".join(f" {'-' if sign < 0 else '+'} {term}" for sign, term in others)
        return f"{'-' if first < 0 else ''}{head}{tail}"


@dataclass(frozen=True)
class Constraint:
    """A condition on a linear form: at least 0; or 0 if `modulus` is 0; or a multiple of `modulus`."""

    form: Linear
    modulus: int | None = None

    @property
    def is_inequality(self) -> bool:
        return self.modulus is None

    @property
    def is_equality(self) -> bool:
        return self.modulus == 0

    def with_value(self, variable: Variable, value: Linear) -> Constraint:
        return Constraint(self.form.with_value(variable, value), self.modulus)

    def holds_at(self, point: Point) -> bool:
        value = self.form.at(point)
        if self.modulus is None:
            return value >= 0
        return value == 0 if self.modulus == 0 else value % self.modulus == 0

    def negated(self) -> list[System]:
        """The ways in which the condition can fail."""
        if self.modulus is None:
            return [System.of(at_least(Linear(-1), self.form))]
        if self.modulus == 0:
            return [System.of(less(self.form, Linear())), System.of(less(Linear(), self.form))]
        low, high = self.form.limits
        quotient = Linear.of(Variable("quotient", Origin.COUNTER, low // self.modulus, high // self.modulus))
        rest = self.form - quotient.scaled(self.modulus)
        return [System.of(at_least(rest, Linear(1)), at_least(Linear(self.modulus - 1), rest))]


def at_least(left: Linear, right: Linear) -> Constraint:
    return Constraint(left - right)


def less(left: Linear, right: Linear) -> Constraint:
    return Constraint(right - left - 1)


def same(left: Linear, right: Linear) -> Constraint:
    return Constraint(left - right, 0)


def multiple(form: Linear, modulus: int) -> Constraint:
    return Constraint(form, modulus)


@dataclass(frozen=True)
class System:
    """Constraints that hold together, and choices: of the systems in each of these, at least one holds as well."""

    constraints: tuple[Constraint, ...] = ()
    choices: tuple[tuple[System, ...], ...] = ()

    @classmethod
    def of(cls, *constraints: Constraint) -> System:
        return cls(constraints)

    @classmethod
    def any_of(cls, systems: Iterable[System]) -> System:
        alternatives = tuple(systems)
        return alternatives[0] if len(alternatives) == 1 else cls((), (alternatives,))

    def __and__(self, other: System) -> System:
        return System(self.constraints + other.constraints, self.choices + other.choices)

    def cases(self) -> Iterator[tuple[Constraint, ...]]:
        """The system without choices: one after the other, what holds if each choice is made in one way."""
        if not self.choices:
            yield self.constraints
            return
        first, *others = self.choices
        for alternative in first:
            yield from (System(self.constraints, tuple(others)) & alternative).cases()

    def variables(self) -> set[Variable]:
        found = {v for c in self.constraints for v in c.form.factors}
        return found.union(*(s.variables() for choice in self.choices for s in choice))


NOWHERE = System.of(Constraint(Linear(-1)))
"""Holds for no point."""


def different(left: Sequence[Linear], right: Sequence[Linear]) -> System:
    """Two lists of equal length differ somewhere."""
    pairs = list(zip(left, right, strict=True))
    alternatives = [System.of(c) for a, b in pairs for c in (less(a, b), less(b, a))]
    return System.any_of(alternatives) if alternatives else NOWHERE


def within(form: Linear, size: Linear) -> System:
    """An index of a dimension of some size."""
    return System.of(Constraint(form), less(form, size))


def outside(form: Linear, size: Linear) -> System:
    return System.any_of((System.of(less(form, Linear())), System.of(at_least(form, size))))
