"""Upper bounds of expressions: sums of products of names with positive factors."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, factors_of
from relex.dialects.index.expr import Index, IndexExpr, combination, constant_of, span_of_atom, terms_of

Factor: TypeAlias = int | Fraction
"""Fractions take ten times as long, so that only quotients have them: a concatenation may have hundreds of terms."""
Bounds: TypeAlias = "Mapping[Atom | None, Factor]"
"""A sum of products of names with positive factors; the constant is stored under None."""


def upper_terms(index: Index) -> dict[Atom | None, Factor]:
    """Return an upper bound of an expression of names: a sum of products of names with positive factors."""
    found: dict[Atom | None, Factor] = {None: max(constant_of(index), 0)}
    for atom, factor in terms_of(index).items():
        if factor < 0:
            continue
        products: dict[Atom | None, Factor] = {None: factor}
        for part in factors_of(atom):
            products = _multiplied(products, _upper_terms_of(part))
        _add(found, products)
    return {names: factor for names, factor in found.items() if factor}


def _upper_terms_of(atom: Atom) -> dict[Atom | None, Factor]:
    match atom:
        case Quotient(dividend=dividend, divisor=divisor):
            return {names: Fraction(factor, divisor) for names, factor in upper_terms(dividend).items()}
        case Remainder(divisor=divisor):
            return {None: divisor - 1}
        case Extreme(which="min", operands=operands):
            return upper_terms(min(operands, key=lambda operand: not isinstance(operand, int)))
        case Extreme(operands=(lhs, rhs)):
            found = upper_terms(lhs)
            _add(found, upper_terms(rhs))
            return found
        case _:
            return {atom: 1}


def without_maxima(index: Index) -> Index:
    """Return an upper bound of a sum: for a maximum, the sum with the larger one of its operands' factors of each atom.
    A maximum of operands with atoms that may be negative stays."""
    total: Index = constant_of(index)
    for atom, factor in terms_of(index).items():
        bound: Index | None = None
        if isinstance(atom, Extreme) and atom.which == "max" and factor > 0:
            bound = _above_both(*map(without_maxima, atom.operands))
        total += (IndexExpr.of(atom) if bound is None else bound) * factor
    return total


def _above_both(a: Index, b: Index) -> Index | None:
    x, y = terms_of(a), terms_of(b)
    factors = {atom: max(x.get(atom, 0), y.get(atom, 0)) for atom in {**x, **y}}
    if any(span_of_atom(atom).low < 0 for atom in factors):
        return None
    return combination(max(constant_of(a), constant_of(b)), factors)


def _add(total: dict[Atom | None, Factor], part: Bounds) -> None:
    """Add a sum to another one, in place."""
    for names, factor in part.items():
        total[names] = total.get(names, 0) + factor


def _multiplied(lhs: Bounds, rhs: Bounds) -> dict[Atom | None, Factor]:
    result: dict[Atom | None, Factor] = {}
    for a, x in lhs.items():
        for b, y in rhs.items():
            factors = [factor for atom in (a, b) if atom is not None for factor in factors_of(atom)]
            names = Product.of(factors) if len(factors) > 1 else factors[0] if factors else None
            result[names] = result.get(names, 0) + x * y
    return result
