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
        self._known: dict[Atom, Index] = {}

    def of(self, index: Index) -> Index:
        """Return an expression with its atoms replaced."""
        parts = (self._of_atom(atom) * factor for atom, factor in terms_of(index).items())
        return sum(parts, start=constant_of(index))

    def _of_atom(self, atom: Atom) -> Index:
        if atom not in self._known:  # Expressions share their parts.
            self._known[atom] = self._compute(atom)
        return self._known[atom]

    def _compute(self, atom: Atom) -> Index:
        if (found := self._replacement(atom)) is not None:
            return found
        match atom:
            case Product(factors=factors):
                return prod(map(self._of_atom, factors))
            case Quotient(dividend=dividend, divisor=divisor):
                return self.of(dividend) // divisor
            case Remainder(dividend=dividend, divisor=divisor):
                return self.of(dividend) % divisor
            case Extreme(which="min", operands=(lhs, rhs)):
                return smaller(self.of(lhs), self.of(rhs))
            case Extreme(operands=(lhs, rhs)):
                return larger(self.of(lhs), self.of(rhs))
            case _:
                return IndexExpr.of(atom)


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
