"""Substitution and evaluation of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol
from relex.dialects.index.expr import Index, IndexExpr, constant_of, larger, smaller, terms_of


def replace_atoms(index: Index, replacement: Callable[[Atom], Index | None]) -> Index:
    """Return the expression with atoms replaced, including nested ones. An atom for which `replacement` gives None
    stays if nothing in it is replaced."""
    return index if isinstance(index, int) else _Replaced(replacement).of(index)


class _Replaced:
    """Replaces atoms. It is a class because functions that call each other would be garbage for the collector."""

    def __init__(self, replacement: Callable[[Atom], Index | None]):
        self._replacement = replacement
        self._known: dict[Atom, Index | None] = {}

    def of(self, index: Index) -> Index:
        """Return an expression with its atoms replaced; the same object if none of them is."""
        terms = terms_of(index)
        replaced = [self._of_atom(atom) for atom in terms]
        if not any(found is not None for found in replaced):
            return index
        parts = (_or_atom(found, atom) * f for found, (atom, f) in zip(replaced, terms.items(), strict=True))
        return sum(parts, start=constant_of(index))

    def _of_atom(self, atom: Atom) -> Index | None:
        """Return what an atom becomes, or None if it stays."""
        if atom not in self._known:  # Expressions share their parts.
            found = self._replacement(atom)
            self._known[atom] = self._from_parts(atom) if found is None else found
        return self._known[atom]

    def _from_parts(self, atom: Atom) -> Index | None:
        match atom:
            case Product(factors=factors):
                replaced = [self._of_atom(factor) for factor in factors]
                if all(found is None for found in replaced):
                    return None
                return prod(map(_or_atom, replaced, factors))
            case Quotient(dividend=dividend, divisor=divisor):
                found = self.of(dividend)
                return None if found is dividend else found // divisor
            case Remainder(dividend=dividend, divisor=divisor):
                found = self.of(dividend)
                return None if found is dividend else found % divisor
            case Extreme(which=which, operands=(lhs, rhs)):
                left, right = self.of(lhs), self.of(rhs)
                if left is lhs and right is rhs:
                    return None
                return smaller(left, right) if which == "min" else larger(left, right)
            case _:
                return None


def _or_atom(found: Index | None, atom: Atom) -> Index:
    return IndexExpr.of(atom) if found is None else found


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
