"""Upper bounds of expressions: sums of products of names with positive factors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, factors_of
from relex.dialects.index.expr import Index, constant_of, terms_of

Bounds: TypeAlias = "Mapping[Atom | None, Fraction]"
"""A sum of products of names with positive factors; the constant is stored under None."""


def upper_terms(index: Index) -> dict[Atom | None, Fraction]:
    """Return an upper bound of an expression of names: a sum of products of names with positive factors."""
    found: dict[Atom | None, Fraction] = {None: Fraction(max(constant_of(index), 0))}
    for atom, factor in terms_of(index).items():
        if factor < 0:
            continue
        products: dict[Atom | None, Fraction] = {None: Fraction(factor)}
        for part in factors_of(atom):
            products = _multiplied(products, _upper_terms_of(part))
        found = _added(found, products)
    return {names: factor for names, factor in found.items() if factor}


def _upper_terms_of(atom: Atom) -> dict[Atom | None, Fraction]:
    match atom:
        case Quotient(dividend=dividend, divisor=divisor):
            return {names: factor / divisor for names, factor in upper_terms(dividend).items()}
        case Remainder(divisor=divisor):
            return {None: Fraction(divisor - 1)}
        case Extreme(which="min", operands=operands):
            return upper_terms(min(operands, key=lambda operand: not isinstance(operand, int)))
        case Extreme(operands=(lhs, rhs)):
            return _added(upper_terms(lhs), upper_terms(rhs))
        case _:
            return {atom: Fraction(1)}


def _added(lhs: Bounds, rhs: Bounds) -> dict[Atom | None, Fraction]:
    return {names: lhs.get(names, Fraction(0)) + rhs.get(names, Fraction(0)) for names in {**lhs, **rhs}}


def _multiplied(lhs: Bounds, rhs: Bounds) -> dict[Atom | None, Fraction]:
    result: dict[Atom | None, Fraction] = {}
    for a, x in lhs.items():
        for b, y in rhs.items():
            factors = [factor for atom in (a, b) if atom is not None for factor in factors_of(atom)]
            names = Product.of(factors) if len(factors) > 1 else factors[0] if factors else None
            result[names] = result.get(names, Fraction(0)) + x * y
    return result
