"""Sizes that are known at run time, as expressions of named ones.

A size is a number or a `Dim`: a polynomial of names, quotients, smallest and largest values in a form that is the same
for equal polynomials, so that `n + m == m + n`. Names stand for sizes, which are never negative.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, prod
from typing import Literal, TypeAlias

MAX_SIZE = 2**63 - 1
"""Of a tensor, in each dimension and in bytes: what an index can hold."""

MAX_ARGUMENT_SIZE = 2**57
"""Of an argument, in each dimension and in bytes. No machine has more memory; only what is empty could be larger."""


@dataclass(frozen=True)
class Dim:
    """A size that is known at run time. Two that are not `==` may still turn out equal."""

    terms: tuple[tuple[Monomial, int], ...]
    """Products of atoms and their factors, in order, none of them 0; the empty product is 1."""

    def __add__(self, other: Size) -> Size:
        return _sum([*self.terms, *terms_of(other)])

    __radd__ = __add__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1

    def __rsub__(self, other: int) -> Size:
        return self * -1 + other

    def __mul__(self, other: Size) -> Size:
        return _sum(
            [(_ordered((*a, *b)), factor * times) for a, factor in self.terms for b, times in terms_of(other)],
        )

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Size:
        """The quotient by a positive number, rounded down."""
        if divisor <= 0:
            raise ValueError(f"expected a positive divisor, found {divisor}")
        whole = _sum([(monomial, factor // divisor) for monomial, factor in self.terms if monomial])
        rest = _sum([(monomial, factor % divisor if monomial else factor) for monomial, factor in self.terms])
        if isinstance(rest, int):
            return whole + rest // divisor
        common = gcd(divisor, *(factor for _, factor in rest.terms))
        dividend = Dim(tuple((monomial, factor // common) for monomial, factor in rest.terms))
        return whole + _atom(Quotient(dividend, divisor // common))

    def __mod__(self, divisor: int) -> Size:
        return self - (self // divisor) * divisor

    def __bool__(self) -> bool:
        raise TypeError(f"a size that is known at run time has no truth value: {self}")

    def __str__(self) -> str:
        parts = [_term_text(monomial, factor) for monomial, factor in self.terms]
        return parts[0] + "".join(f" - {part[1:]}" if part.startswith("-") else f" + {part}" for part in parts[1:])


Size: TypeAlias = int | Dim

Sizes = tuple[Size, ...]
"""The size of each dimension."""


@dataclass(frozen=True)
class Symbol:
    """A size that has a name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """A size divided by a positive number, rounded down."""

    dividend: Dim
    divisor: int

    def __str__(self) -> str:
        text = str(self.dividend)
        return f"({text}) // {self.divisor}" if " " in text else f"{text} // {self.divisor}"


@dataclass(frozen=True)
class Extreme:
    """The smaller or the larger of two sizes."""

    which: Literal["min", "max"]
    sizes: tuple[Size, Size]

    def __str__(self) -> str:
        return f"{self.which}({self.sizes[0]}, {self.sizes[1]})"


Atom = Symbol | Quotient | Extreme
Monomial = tuple[Atom, ...]


def named(name: str) -> Dim:
    """The size called `name`."""
    return Dim((((Symbol(name),), 1),))


def _atom(atom: Atom) -> Dim:
    return Dim((((atom,), 1),))


def terms_of(size: Size) -> Sequence[tuple[Monomial, int]]:
    return size.terms if isinstance(size, Dim) else [((), size)]


def divided(size: Size, divisor: int) -> Size:
    """The quotient by a number that divides every factor."""
    return _sum([(monomial, factor // divisor) for monomial, factor in terms_of(size)])


def _ordered(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=str))


def _sum(terms: Sequence[tuple[Monomial, int]]) -> Size:
    factors: dict[Monomial, int] = {}
    for monomial, factor in terms:
        factors[monomial] = factors.get(monomial, 0) + factor
    left = [(monomial, factor) for monomial, factor in factors.items() if factor]
    if all(not monomial for monomial, _ in left):
        return left[0][1] if left else 0
    # The highest degree first, the constant last.
    return Dim(tuple(sorted(left, key=lambda term: (-len(term[0]), list(map(str, term[0]))))))


def _term_text(monomial: Monomial, factor: int) -> str:
    atoms = [f"({atom})" if isinstance(atom, Quotient) and (len(monomial) > 1 or factor != 1) else str(atom)
             for atom in monomial]  # fmt: skip
    if factor == -1 and atoms:
        return "-" + " * ".join(atoms)
    return " * ".join(([str(factor)] if factor != 1 or not atoms else []) + atoms)


def negative_terms(size: Size) -> Size:
    """The terms with negative factors."""
    return _sum([(monomial, factor) for monomial, factor in terms_of(size) if factor < 0])


def common_terms(lhs: Size, rhs: Size) -> Size:
    """The terms that are in both sizes."""
    factors = dict(terms_of(rhs))
    pairs = [(monomial, factor, factors.get(monomial, 0)) for monomial, factor in terms_of(lhs)]
    return _sum([(monomial, min(a, b, key=abs)) for monomial, a, b in pairs if a * b > 0])


def smaller(lhs: Size, rhs: Size) -> Size:
    """The smaller of two sizes."""
    return _extreme("min", lhs, rhs)


def larger(lhs: Size, rhs: Size) -> Size:
    """The larger of two sizes."""
    return _extreme("max", lhs, rhs)


def _extreme(which: Literal["min", "max"], lhs: Size, rhs: Size) -> Size:
    low, high = (lhs, rhs) if which == "min" else (rhs, lhs)
    if never_negative(high - low):
        return lhs
    if never_negative(low - high):
        return rhs
    first, second = sorted((lhs, rhs), key=str)
    return _atom(Extreme(which, (first, second)))


def never_negative(size: Size) -> bool:
    """Whether a size is 0 or more whatever its names stand for, as far as its form tells."""
    for monomial, factor in terms_of(size):
        if factor < 0 and len(monomial) == 1 and isinstance(quotient := monomial[0], Quotient):
            # A quotient is rounded down: what is subtracted is not more than without rounding.
            d = quotient.divisor
            return never_negative((size - _atom(quotient) * factor) * d + quotient.dividend * factor)
    return all(factor >= 0 and all(map(_is_never_negative, monomial)) for monomial, factor in terms_of(size))


def _is_never_negative(atom: Atom) -> bool:
    match atom:
        case Symbol():
            return True
        case Quotient(dividend=dividend):
            return never_negative(dividend)
        case Extreme(which="min", sizes=sizes):
            return all(map(never_negative, sizes))
        case Extreme(sizes=sizes):
            return any(map(never_negative, sizes))


def largest_terms(size: Size) -> dict[Monomial, Fraction]:
    """A sum of products of names, with positive factors, that a size never exceeds."""
    found: dict[Monomial, Fraction] = {}
    for monomial, factor in terms_of(size):
        products: dict[Monomial, Fraction] = {(): Fraction(max(factor, 0))}
        for atom in monomial:
            products = _multiplied(products, _largest_terms_of(atom))
        found = _added(found, products)
    return {names: factor for names, factor in found.items() if factor}


def _largest_terms_of(atom: Atom) -> dict[Monomial, Fraction]:
    match atom:
        case Symbol():
            return {(atom,): Fraction(1)}
        case Quotient(dividend=dividend, divisor=divisor):
            return {names: factor / divisor for names, factor in largest_terms(dividend).items()}
        case Extreme(which="min", sizes=sizes):
            return largest_terms(min(sizes, key=lambda size: not isinstance(size, int)))
        case Extreme(sizes=(lhs, rhs)):
            return _added(largest_terms(lhs), largest_terms(rhs))


def _added(lhs: Mapping[Monomial, Fraction], rhs: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    return {names: lhs.get(names, Fraction(0)) + rhs.get(names, Fraction(0)) for names in {**lhs, **rhs}}


def _multiplied(lhs: Mapping[Monomial, Fraction], rhs: Mapping[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    result: dict[Monomial, Fraction] = {}
    for a, x in lhs.items():
        for b, y in rhs.items():
            names = _ordered((*a, *b))
            result[names] = result.get(names, Fraction(0)) + x * y
    return result


def count(sizes: Sequence[Size]) -> Size:
    """The number of elements."""
    return prod(sizes, start=1)


def name_of_size(size: Size) -> str | None:
    """The name, if a size is nothing but a name."""
    match size:
        case Dim(terms=((((Symbol(name=name),)), 1),)):
            return name
        case _:
            return None


def sources(arguments: Sequence[Sizes]) -> dict[str, tuple[int, int]]:
    """For each name, the first argument and its dimension that have that size."""
    found: dict[str, tuple[int, int]] = {}
    for i, sizes in enumerate(arguments):
        for dimension, size in enumerate(sizes):
            if (name := name_of_size(size)) is not None:
                found.setdefault(name, (i, dimension))
    return found


def atoms(size: Size) -> Iterator[Atom]:
    """All atoms in a size, those inside of others first."""
    for monomial, _ in size.terms if isinstance(size, Dim) else ():
        for atom in monomial:
            if isinstance(atom, Quotient):
                yield from atoms(atom.dividend)
            elif isinstance(atom, Extreme):
                for part in atom.sizes:
                    yield from atoms(part)
            yield atom


def names_in(size: Size) -> list[str]:
    """The names in a size, each once."""
    return list(dict.fromkeys(atom.name for atom in atoms(size) if isinstance(atom, Symbol)))


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """The size with others in the place of names; names without one stay."""
    if isinstance(size, int):
        return size

    def of_atom(atom: Atom) -> Size:
        match atom:
            case Symbol(name=name):
                return values.get(name, _atom(atom))
            case Quotient(dividend=dividend, divisor=divisor):
                return substitute(dividend, values) // divisor
            case Extreme(which=which, sizes=(lhs, rhs)):
                return _extreme(which, substitute(lhs, values), substitute(rhs, values))

    result: Size = 0
    for monomial, factor in size.terms:
        result += prod(map(of_atom, monomial), start=factor)
    return result


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number that a size is when its names stand for these."""
    if isinstance(size, int):
        return size

    def of_atom(atom: Atom) -> int:
        match atom:
            case Symbol(name=name):
                return values[name]
            case Quotient(dividend=dividend, divisor=divisor):
                return evaluate(dividend, values) // divisor
            case Extreme(which=which, sizes=sizes):
                return (min if which == "min" else max)(evaluate(part, values) for part in sizes)

    return sum(factor * prod(map(of_atom, monomial)) for monomial, factor in size.terms)


def parse_size(text: str) -> Size:
    """The size that a text says: `str` backwards. Raises `ValueError`."""
    return read_size(parse_text(text), text)


def parse_text(text: str) -> ast.expr:
    """The expression that a text says, in Python's syntax. Raises `ValueError`."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as e:
        raise ValueError(f"expected a size, found '{text}'") from e


_EXTREMES: dict[str, Callable[[Size, Size], Size]] = {"min": smaller, "max": larger}


def read_size(node: ast.expr, text: str) -> Size:
    """The size that a part of `text` says. Raises `ValueError`."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return named(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read_size(operand, text)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return read_size(left, text) + read_size(right, text)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return read_size(left, text) - read_size(right, text)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return read_size(left, text) * read_size(right, text)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=ast.Constant(value=int(divisor))) if divisor > 0:
            return read_size(left, text) // divisor
        case ast.Call(func=ast.Name(id="min" | "max" as which), args=[lhs, rhs], keywords=[]):
            return _EXTREMES[which](read_size(lhs, text), read_size(rhs, text))
        case _:
            pass
    raise ValueError(f"expected a size made of names, numbers, + - * // min max, found '{text}'")
