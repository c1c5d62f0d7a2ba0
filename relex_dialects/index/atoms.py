"""The atoms of integer expressions: what the terms of an `IndexExpr` are made of.

An atom is a value of the program, a named size, a variable, or a nonlinear term: a product, a quotient, a remainder, a
minimum or a maximum. `relex.dialects.index.expr` makes expressions of them, and simplifies these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from relex.dialects.exceptions import RangeError

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from relex.dialects.index.expr import Index, IndexExpr


@dataclass(frozen=True)
class Symbol:
    """A named size."""

    name: str


class VariableOrigin(Enum):
    """The origin of a variable, and so what it means if different values of it make a difference."""

    COUNTER = auto()
    """The variable of a loop that takes all its values in every run, or something computed from such variables."""
    SIZE = auto()
    """A number that is fixed during a run: a size of a buffer or an argument."""
    DATA = auto()
    """A number that depends on data, or whose computation is not understood."""


@dataclass(frozen=True, eq=False)
class Variable:
    """An unknown integer from `low` to `high`, both inclusive."""

    name: str
    origin: VariableOrigin
    low: int
    high: int


MAX_FACTORS = 64
"""The largest number of factors of a product. One of more is beyond 2^63 unless all but 62 of them are 0 or 1; a small
program that squares a size again and again would take forever to compile."""


@dataclass(frozen=True)
class Product:
    """A product of two or more atoms, none of them a product, in an order that does not matter."""

    factors: tuple[Atom, ...]

    @classmethod
    def of(cls, factors: Iterable[Atom]) -> Product:
        """Return the product of atoms in canonical order. Raises `RangeError` for more than `MAX_FACTORS`."""
        from relex.dialects.index.text import text_of_atom

        given = [*factors]
        if len(given) > MAX_FACTORS:
            raise RangeError(f"expected a product of at most {MAX_FACTORS} sizes, found one of {len(given)}")
        return cls(tuple(sorted(given, key=text_of_atom)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(self._counts)

    @cached_property
    def _counts(self) -> frozenset[tuple[Atom, int]]:
        return frozenset((atom, self.factors.count(atom)) for atom in self.factors)


@dataclass(frozen=True)
class Quotient:
    """An expression divided by a positive number, rounded down."""

    dividend: IndexExpr
    divisor: int


@dataclass(frozen=True)
class Remainder:
    """The remainder of that division."""

    dividend: IndexExpr
    divisor: int


@dataclass(frozen=True)
class Extreme:
    """The minimum or the maximum of two indices, in an order that does not matter."""

    which: Literal["min", "max"]
    operands: tuple[Index, Index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extreme) and self.which == other.which and {*self.operands} == {*other.operands}

    def __hash__(self) -> int:
        return hash((self.which, frozenset(self.operands)))


Atom: TypeAlias = "SSAValue | Symbol | Variable | Product | Quotient | Remainder | Extreme"


def factors_of(atom: Atom) -> tuple[Atom, ...]:
    """Return the factors of a product; any other atom is its own factor."""
    return atom.factors if isinstance(atom, Product) else (atom,)
