"""Integer expressions in normal form: indices of loops, blocks and buffers, and dynamic sizes.

An `Index` is a number or an `IndexExpr`: a constant plus atoms with factors; `relex.dialects.index.atoms` says what
these are. Expressions are simplified on construction, so that `n + m == m + n`, `(n // 2 + 1) // 3 == (n + 2) // 6`,
and `(4 * i + j) // 4 == i` if `j` is in 0..3.

Named sizes are never negative. Two expressions that are not `==` may still have the same value. The runtime evaluates
sizes, too, so that xDSL is imported only for expressions that contain values of a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd, inf, prod
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from relex.dialects.exceptions import RangeError
from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol, Variable, factors_of
from relex.dialects.index.ranges import Range

if TYPE_CHECKING:
    from xdsl.ir import SSAValue


MAX_TERMS = 1 << 12
"""The largest number of terms that a product is multiplied out to."""


class IndexExpr:
    """A constant plus atoms with nonzero factors; at least one atom, otherwise it would be a number."""

    __slots__ = ("_hash", "constant", "terms")

    def __init__(self, constant: int, terms: Mapping[Atom, int]):
        self.constant = constant
        self.terms = terms
        self._hash: int | None = None

    @classmethod
    def of(cls, atom: Atom) -> IndexExpr:
        """Return the expression that consists of just an atom."""
        return cls(0, {atom: 1})

    def __add__(self, other: Index) -> Index:
        if isinstance(other, int):
            return IndexExpr(self.constant + other, self.terms)
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + factor
        return _sum(self.constant + other.constant, terms)

    __radd__ = __add__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Index) -> Index:
        return self + other * -1

    def __rsub__(self, other: int) -> Index:
        return self * -1 + other

    def __mul__(self, other: Index) -> Index:
        if isinstance(other, int):
            return IndexExpr(self.constant * other, {a: f * other for a, f in self.terms.items()}) if other else 0
        if len(self.terms) * len(other.terms) > MAX_TERMS:
            raise RangeError(f"expected sizes of which products have at most {MAX_TERMS} terms, found more")
        products: dict[Atom, int] = {}
        for a, f in self.terms.items():
            products[a] = products.get(a, 0) + f * other.constant
        for b, g in other.terms.items():
            products[b] = products.get(b, 0) + g * self.constant
            for a, f in self.terms.items():
                atom = Product.of((*factors_of(a), *factors_of(b)))
                products[atom] = products.get(atom, 0) + f * g
        return _sum(self.constant * other.constant, products)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Index:
        """Return the quotient by a positive number, rounded down."""
        parts = _divide(self, divisor)
        return parts.whole + parts.quotient

    def __mod__(self, divisor: int) -> Index:
        """Return the remainder of the division by a positive number, rounded down: 0 or more, less than the divisor."""
        if divisor > 0 and isinstance(alike := _residue(self, divisor), int):
            return alike
        parts = _divide(self, divisor)
        return parts.remainder * parts.scale + parts.small

    def __bool__(self) -> bool:
        raise TypeError(f"a size that is known at run time has no truth value: {self}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexExpr) and (self.constant, self.terms) == (other.constant, other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __str__(self) -> str:
        from relex.dialects.index.text import text_of

        return text_of(self)

    def __repr__(self) -> str:
        return f"IndexExpr({self})"


Index: TypeAlias = int | IndexExpr
"""A number, or an expression whose value is known only at run time."""


AtomT = TypeVar("AtomT", bound="Atom")


def named(name: str) -> IndexExpr:
    """Return the size called `name`."""
    return IndexExpr.of(Symbol(name))


def constant_of(index: Index) -> int:
    """Return the constant term of an index."""
    return index if isinstance(index, int) else index.constant


def terms_of(index: Index) -> Mapping[Atom, int]:
    """Return the atoms of an index with their factors."""
    return {} if isinstance(index, int) else index.terms


def atom_of(index: Index) -> Atom | None:
    """Return the atom that an index consists of, or None if it is anything else."""
    if isinstance(index, int) or index.constant or len(index.terms) != 1:
        return None
    ((atom, factor),) = index.terms.items()
    return atom if factor == 1 else None


def combination(constant: int, terms: Mapping[AtomT, int]) -> Index:
    """Return a constant plus atoms with factors, some of which may be 0."""
    left: dict[Atom, int] = {atom: factor for atom, factor in terms.items() if factor}
    return IndexExpr(constant, left) if left else constant


def divide_factors(index: Index, divisor: int) -> Index:
    """Divide the constant and each factor by a number, rounding down."""
    if isinstance(index, int) or divisor == 1:
        return index // divisor if isinstance(index, int) else index
    return combination(index.constant // divisor, {a: f // divisor for a, f in index.terms.items()})


def _sum(constant: int, terms: dict[Atom, int]) -> Index:
    """Return the `combination`, with `d * (x // d) + x % d` folded to `x`."""
    for atom in [atom for atom in terms if isinstance(atom, Remainder)] if Remainder in map(type, terms) else ():
        factor, quotient = terms[atom], atom_of(_quotient(atom.dividend, atom.divisor))
        if factor and quotient is not None and terms.get(quotient, 0) == factor * atom.divisor:
            left = {other: f for other, f in terms.items() if other not in (atom, quotient)}
            return combination(constant, left) + atom.dividend * factor
    return combination(constant, terms)


MAX_DIVISOR = 2**31
"""The largest divisor that several in turn are joined to, so that what is added to a size before stays small."""


def _quotient(dividend: IndexExpr, divisor: int) -> Index:
    """Return a quotient from which no whole multiples can be split off: of `x // a + c` by `b`, it is the quotient
    of `x + a * c` by `a * b`."""
    match [*dividend.terms.items()]:
        case [(Quotient() as inner, 1)] if (joined := inner.divisor * divisor) <= MAX_DIVISOR:
            return (inner.dividend + inner.divisor * dividend.constant) // joined
        case _:
            return IndexExpr.of(Quotient(dividend, divisor))


@dataclass
class _Division:
    """A dividend as `whole` times the divisor, plus `large` times `scale`, plus `small`, which stays below `scale`; the
    divisor is `divisor` times `scale`. So the quotient is `whole` plus the quotient of `large` by `divisor`."""

    whole: Index
    large: Index
    small: Index
    scale: int
    divisor: int

    @property
    def quotient(self) -> Index:
        if isinstance(self.large, int):
            return self.large // self.divisor
        return 0 if _is_within(self.large, self.divisor) else _quotient(self.large, self.divisor)

    @property
    def remainder(self) -> Index:
        if isinstance(self.large, int):
            return self.large % self.divisor
        return self.large if _is_within(self.large, self.divisor) else IndexExpr.of(Remainder(self.large, self.divisor))


def _divide(dividend: IndexExpr, divisor: int) -> _Division:
    """Decompose a division by a positive number, with the largest possible scale."""
    if divisor <= 0:
        raise ValueError(f"expected a positive divisor, found {divisor}")
    # Whole multiples of the divisor are split off sizes: 3 * n // 2 == n + n // 2. Loop variables stay together:
    # dependence tests need the quotient and the remainder of one sum.
    keep_together = has_values(dividend)
    multiples = {a: f // divisor for a, f in dividend.terms.items() if not keep_together or f % divisor == 0}
    whole = combination(dividend.constant // divisor, multiples)
    rest = dividend - whole * divisor
    factors = terms_of(rest)
    for scale in sorted({gcd(f, divisor) for f in factors.values()}, reverse=True):
        small = combination(constant_of(rest) % scale, {a: f for a, f in factors.items() if f % scale})
        if _is_within(small, scale):
            large = rest - small
            return _Division(whole, divide_factors(large, scale), small, scale, divisor // scale)
    return _Division(whole, rest, 0, 1, divisor)


def _residue(index: IndexExpr, divisor: int) -> Index:
    """Return an index with the same remainder: of `n + 6 * (n % 7)` by 7, it is as for `7 * n`."""
    while any(isinstance(atom, Remainder) and atom.divisor % divisor == 0 for atom in index.terms):
        terms = index.terms
        inner = {atom: f for atom, f in terms.items() if isinstance(atom, Remainder) and atom.divisor % divisor == 0}
        outer = combination(index.constant, {atom: f for atom, f in terms.items() if atom not in inner})
        whole = sum((atom.dividend * factor for atom, factor in inner.items()), start=outer)
        alike = combination(constant_of(whole) % divisor, {a: f % divisor for a, f in terms_of(whole).items()})
        if isinstance(alike, int):
            return alike
        index = alike
    return index


def _is_within(index: Index, size: int) -> bool:
    span = span_of(index)
    return span.low >= 0 and span.high < size


def span_of(index: Index) -> Range:
    """Return bounds of an index, from the bounds of its atoms."""
    return _span(index, {})


def span_of_atom(atom: Atom) -> Range:
    """Return bounds of an atom."""
    return _span_of_atom(atom, {})


def _span(index: Index, known: dict[Atom, Range]) -> Range:
    if isinstance(index, int):
        return Range(index, index)
    total = Range(index.constant, index.constant)
    for atom, factor in index.terms.items():
        if atom not in known:  # Expressions share their parts.
            known[atom] = _span_of_atom(atom, known)
        total += known[atom].scaled(factor)
    return total


def _span_of_atom(atom: Atom, known: dict[Atom, Range]) -> Range:
    match atom:
        case Symbol():
            return Range(0, inf)
        case Variable(low=low, high=high):
            return Range(low, high)
        case Product(factors=factors):
            return prod((_span_of_atom(factor, known) for factor in factors), start=Range(1, 1))
        case Quotient(dividend=dividend, divisor=divisor):
            return _span(dividend, known).divided(divisor)
        case Remainder(divisor=divisor):
            return Range(0, divisor - 1)
        case Extreme(which=which, operands=(lhs, rhs)):
            a, b = _span(lhs, known), _span(rhs, known)
            choose = min if which == "min" else max
            return Range(choose(a.low, b.low), choose(a.high, b.high))
        case _:
            from relex.dialects.index.domains import domain_of

            return domain_of(atom)


def smaller(lhs: Index, rhs: Index) -> Index:
    """Return the minimum of two indices."""
    return _extreme("min", lhs, rhs)


def larger(lhs: Index, rhs: Index) -> Index:
    """Return the maximum of two indices."""
    return _extreme("max", lhs, rhs)


def _extreme(which: Literal["min", "max"], lhs: Index, rhs: Index) -> Index:
    low, high = (lhs, rhs) if which == "min" else (rhs, lhs)
    if never_negative(high - low):
        return lhs
    if never_negative(low - high):
        return rhs
    first, second = sorted((lhs, rhs), key=str)
    return IndexExpr.of(Extreme(which, (first, second)))


MAX_CHOICES = 4
"""Nested extremes that `never_negative` looks into; each doubles the expressions that it considers."""


def never_negative(index: Index, choices: int = MAX_CHOICES) -> bool:
    """Return whether an index is certainly 0 or more, whatever its atoms stand for."""
    if span_of(index).low >= 0:
        return True
    for atom, factor in terms_of(index).items():
        if isinstance(atom, Extreme) and choices:
            # With a positive factor, a maximum is as good as its best operand, and a minimum as bad as its worst.
            enough = any if (atom.which == "max") == (factor > 0) else all
            rest = index - IndexExpr.of(atom) * factor
            return enough(never_negative(rest + operand * factor, choices - 1) for operand in atom.operands)
        if factor < 0 and isinstance(atom, Quotient):
            # A quotient is rounded down: no more is subtracted than without rounding. Of a multiple of a number, it is
            # enough to know that it is more than -1 times that number.
            step = gcd(constant_of(index), *terms_of(index).values()) * atom.divisor
            rest = (index - IndexExpr.of(atom) * factor) * atom.divisor + atom.dividend * factor
            return never_negative(rest + (step - 1), choices)
    return False


def parts_of(atom: Atom) -> Iterator[Index]:
    """Yield the expressions that an atom is computed from; none for values and names."""
    match atom:
        case Product(factors=factors):
            yield from map(IndexExpr.of, factors)
        case Quotient() | Remainder():
            yield atom.dividend
        case Extreme(operands=operands):
            yield from operands
        case _:
            pass


_COMPOUND = {Extreme, Product, Quotient, Remainder}
"""Atoms that have parts."""

_WITHOUT_VALUES = {Symbol, *_COMPOUND}
"""Atoms that are not values of a program themselves."""


def atoms_in(index: Index) -> Iterator[Atom]:
    """Yield all atoms in an index, each once, nested ones first."""
    terms = terms_of(index)
    if _COMPOUND.isdisjoint(map(type, terms)):
        yield from terms  # Most indices are sums of values.
        return
    seen: set[Atom] = set()
    pending = [(atom, False) for atom in reversed(list(terms))]
    while pending:  # Expressions may nest more deeply than Python's calls.
        atom, is_complete = pending.pop()
        if is_complete:
            yield atom
        elif atom not in seen:
            seen.add(atom)
            inner = [nested for part in parts_of(atom) for nested in terms_of(part)]
            pending += [(atom, True), *((nested, False) for nested in reversed(inner))]


def values_in(index: Index) -> Iterator[SSAValue]:
    """Return the values of the program in an index."""
    return (
        atom
        for atom in atoms_in(index)
        if not isinstance(atom, Symbol | Variable | Product | Quotient | Remainder | Extreme)
    )


def depends_on(index: Index, value: SSAValue) -> bool:
    """Return whether an index depends on a value of the program."""
    terms = terms_of(index)
    return value in terms or (not _COMPOUND.isdisjoint(map(type, terms)) and value in atoms_in(index))


def has_values(index: Index) -> bool:
    """Return whether an index depends on a value of the program, or a variable, not only on numbers and names."""
    terms = terms_of(index)
    if not terms or not _WITHOUT_VALUES.issuperset(map(type, terms)):
        return bool(terms)  # Most indices are numbers, or sums with a value.
    return any(type(atom) not in _WITHOUT_VALUES for atom in atoms_in(index))


def names_in(index: Index) -> list[str]:
    """Return the names of the sizes in an index, each once."""
    return list(dict.fromkeys(atom.name for atom in atoms_in(index) if isinstance(atom, Symbol)))


def name_of_size(index: Index) -> str | None:
    """Return the name if an index is just a named size, else None."""
    atom = atom_of(index)
    return atom.name if isinstance(atom, Symbol) else None
