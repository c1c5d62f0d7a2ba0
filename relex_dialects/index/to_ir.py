"""Emission of expressions as index arithmetic of a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import reduce
from math import floor, isfinite

from xdsl.dialects import arith
from xdsl.ir import Operation, OpResult, SSAValue

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol
from relex.dialects.index.expr import Index, IndexExpr, span_of


class IndexBuilder(ABC):
    """Emits expressions, each subexpression once. Derived classes decide where the ops go."""

    divide: type[arith.DivSIOp | arith.DivUIOp] = arith.DivSIOp
    """The op for quotients of expressions that are never negative."""

    def __init__(self) -> None:
        self._values: dict[Index | Atom, SSAValue] = {}
        self._partial: dict[tuple[type[Operation], SSAValue, SSAValue], SSAValue] = {}

    @abstractmethod
    def insert(self, op: Operation) -> None:
        """Insert an op."""

    @abstractmethod
    def constant(self, value: int) -> SSAValue:
        """Return an index constant."""

    def size(self, name: str) -> SSAValue:
        """Return the value of a named size."""
        raise ValueError(f"expected an expression of values, found the name '{name}'")

    def terms(self, index: IndexExpr) -> Iterable[tuple[Atom, int]]:
        """Return the terms of an expression in the order in which they are added."""
        return index.terms.items()

    def add(self, op: Operation) -> SSAValue:
        """Insert an op and return its result."""
        self.insert(op)
        return op.results[0]

    def _binary(self, kind: type[arith.AddiOp | arith.MuliOp], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        key = kind, lhs, rhs
        if key not in self._partial:
            self._partial[key] = self.arithmetic(*key)
        return self._partial[key]

    def arithmetic(self, kind: type[arith.AddiOp | arith.MuliOp], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Return a sum or a product of two values."""
        # Most ops of programs are made here: the constructors of xDSL take twice as long.
        return self.add(kind.create(operands=(lhs, rhs), result_types=(lhs.type,)))

    def emit(self, index: Index, hint: str | None = None) -> SSAValue:
        """Return the value of an expression; `hint` names it if it is computed here."""
        if index not in self._values:
            self._values[index] = self.constant(index) if isinstance(index, int) else self._sum(index)
        value = self._values[index]
        if isinstance(value, OpResult) and value.name_hint is None:
            value.name_hint = hint
        return value

    def _sum(self, index: IndexExpr) -> SSAValue:
        parts = [self._term(atom, factor) for atom, factor in self.terms(index)]
        if index.constant:
            parts.append(self.constant(index.constant))
        return reduce(lambda lhs, rhs: self._binary(arith.AddiOp, lhs, rhs), parts)

    def _term(self, atom: Atom, factor: int) -> SSAValue:
        parts = [*map(self._atom, atom.factors)] if isinstance(atom, Product) else [self._atom(atom)]
        if factor != 1:
            parts.append(self.constant(factor))
        return reduce(lambda lhs, rhs: self._binary(arith.MuliOp, lhs, rhs), parts)

    def _atom(self, atom: Atom) -> SSAValue:
        if isinstance(atom, SSAValue):
            return atom
        if atom not in self._values:
            self._values[atom] = self._computed(atom)
        return self._values[atom]

    def _computed(self, atom: Atom) -> SSAValue:
        match atom:
            case Symbol(name=name):
                return self.size(name)
            case Quotient(dividend=dividend, divisor=divisor):
                op = self.divide if span_of(dividend).low >= 0 else arith.FloorDivSIOp
                return self.add(op(self.emit(dividend), self.constant(divisor)))
            case Remainder():
                return self._remainder(atom)
            case Extreme(which=which, operands=(lhs, rhs)):
                choose = arith.MinSIOp if which == "min" else arith.MaxSIOp
                return self.add(choose(self.emit(lhs), self.emit(rhs)))
            case _:
                raise ValueError(f"expected an atom, found {atom}")

    def _remainder(self, atom: Remainder) -> SSAValue:
        """Emit a remainder. The fast op rounds towards 0, which is down only for a dividend that is not negative."""
        low = span_of(atom.dividend).low
        dividend: Index = atom.dividend
        if low < 0:
            if not isfinite(low):
                return self.emit(dividend - IndexExpr.of(Quotient(atom.dividend, atom.divisor)) * atom.divisor)
            dividend = dividend + -floor(low / atom.divisor) * atom.divisor
        return self.add(arith.RemSIOp(self.emit(dividend), self.constant(atom.divisor)))
