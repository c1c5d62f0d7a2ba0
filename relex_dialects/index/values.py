"""Substitution and evaluation of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol
from relex.dialects.index.expr import Index, IndexExpr, constant_of, larger, smaller, terms_of


def replace_atoms(index: Index, replacement: Callable[[Atom], Index | None]) -> Index:
    """Return the expression with atoms replaced, including nested ones. An atom for which `replacement` gives None
    stays if nothing in it is replaced."""

    def replaced(index: Index) -> Index:
        parts = (of_atom(atom) * factor for atom, factor in terms_of(index).items())
        return sum(parts, start=constant_of(index))

    known: dict[Atom, Index] = {}

    def of_atom(atom: Atom) -> Index:
        if atom not in known:  # Expressions share their parts.
            known[atom] = compute(atom)
        return known[atom]

    def compute(atom: Atom) -> Index:
        if (found := replacement(atom)) is not None:
            return found
        match atom:
            case Product(factors=factors):
                return prod(map(of_atom, factors))
            case Quotient(dividend=dividend, divisor=divisor):
                return replaced(dividend) // divisor
            case Remainder(dividend=dividend, divisor=divisor):
                return replaced(dividend) % divisor
            case Extreme(which="min", operands=(lhs, rhs)):
                return smaller(replaced(lhs), replaced(rhs))
            case Extreme(operands=(lhs, rhs)):
                return larger(replaced(lhs), replaced(rhs))
            case _:
                return IndexExpr.of(atom)

    return replaced(index)


def substitute(index: Index, values: Mapping[str, Index]) -> Index:
    """Return the expression with names replaced by expressions; other names stay."""
    if isinstance(index, int):
        return index
    return replace_atoms(index, lambda atom: values.get(atom.name) if isinstance(atom, Symbol) else None)


def evaluate(index: Index, values: Mapping[str, int]) -> int:
    """Return the value of an expression of names. Raises `KeyError` for names without a value."""
    if isinstance(index, int):
        return index
    found = replace_atoms(index, lambda atom: values[atom.name] if isinstance(atom, Symbol) else None)
    if isinstance(found, int):
        return found
    raise ValueError(f"expected an expression of names, found {index}")
