"""Conversion of index arithmetic in a program to expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from relex.dialects.index.atoms import Extreme, Quotient
from relex.dialects.index.domains import constant_value, extent_of
from relex.dialects.index.expr import Index, IndexExpr, has_values, larger, never_negative, smaller, span_of, terms_of
from relex.dialects.table import Table

Lookup: TypeAlias = Callable[[SSAValue], Index | None]
"""Returns the expression that replaces a value, or None to use the value's own computation."""

Rule: TypeAlias = Callable[[Any, Callable[[SSAValue], Index]], Index | None]

EXPRESSIONS = Table[type[Operation], Rule]("index expressions")
"""The expression that each op computes from its operands, or None if it is not one."""


def index_of(
    value: SSAValue, lookup: Lookup = lambda value: None, opaque: Callable[[SSAValue], Index] = IndexExpr.of
) -> Index:
    """Return the expression of an index value. `lookup` may replace values; `opaque` gives the expression of a value
    that is not computed by sums, products, quotients, remainders and extremes."""
    return _Reader(lookup, opaque)(value)


def index_reader(
    lookup: Lookup = lambda value: None, opaque: Callable[[SSAValue], Index] = IndexExpr.of
) -> Callable[[SSAValue], Index]:
    """Return `index_of` for many values of a program that does not change meanwhile: what they have in common is read
    once."""
    return _Reader(lookup, opaque)


class _Reader:
    """Reads values as expressions. It is a class because functions that call each other would be garbage for the
    collector, and passes make tens of thousands of readers."""

    __slots__ = ("_known", "_lookup", "_opaque")

    def __init__(self, lookup: Lookup, opaque: Callable[[SSAValue], Index]):
        self._lookup = lookup
        self._opaque = opaque
        self._known: dict[int, tuple[SSAValue, Index]] = {}
        """The expressions of values, by identity, with the values: the identity of a value that is gone could be
        another one's."""

    def __call__(self, value: SSAValue) -> Index:
        found = self._known.get(id(value))
        if found is not None:
            return found[1]  # Expressions share their parts.
        if type(value) is not OpResult or type(value.op) is not arith.AddiOp:
            index = self._compute(value)
            self._known[id(value)] = value, index
            return index
        for part in reversed(self._first_terms(value)):
            found = self._known[id(part)] = part, self._compute(part)
        assert found is not None
        return found[1]

    def _first_terms(self, value: SSAValue) -> list[SSAValue]:
        """Return a value, its first term if it is a sum, the first term of that, and so on: sums of hundreds of sizes
        nest more deeply than Python's calls."""
        found = [value]
        # To ask for the class itself takes a fraction of the time of `isinstance`, which looks for abstract ones.
        while (
            type(op := value.owner) is arith.AddiOp
            and type(value.type) is IndexType
            and self._lookup(value) is None
            and id(value := op.operands[0]) not in self._known
        ):
            found.append(value)
        return found

    def _compute(self, value: SSAValue) -> Index:
        if (found := self._lookup(value)) is not None:
            return found
        if type(value.type) is not IndexType:
            return self._opaque(value)
        if type(value) is BlockArgument:
            return self._opaque(value)
        if (constant := constant_value(value)) is not None:
            return constant
        rule = EXPRESSIONS.find(value.owner)
        found = rule(value.owner, self) if rule is not None else None
        return self._opaque(value) if found is None else found


@EXPRESSIONS.rule(arith.AddiOp)
def _sum(op: arith.AddiOp, of: Callable[[SSAValue], Index]) -> Index:
    lhs, rhs = op.operands  # The accessors of xDSL take several times as long.
    return of(lhs) + of(rhs)


@EXPRESSIONS.rule(arith.SubiOp)
def _difference(op: arith.SubiOp, of: Callable[[SSAValue], Index]) -> Index:
    return of(op.lhs) - of(op.rhs)


@EXPRESSIONS.rule(arith.MuliOp)
def _product(op: arith.MuliOp, of: Callable[[SSAValue], Index]) -> Index | None:
    lhs, rhs = map(of, op.operands)
    # A factor that does not vary: a number, or an expression of names.
    return lhs * rhs if isinstance(rhs, int) or not has_values(lhs) or not has_values(rhs) else None


@EXPRESSIONS.rule(arith.FloorDivSIOp)
def _quotient(op: arith.FloorDivSIOp, of: Callable[[SSAValue], Index]) -> Index | None:
    lhs, rhs = op.operands
    divisor = divisor_of(of(rhs))
    return of(lhs) // divisor if divisor else None


@EXPRESSIONS.rule(arith.CeilDivSIOp)
def _quotient_rounded_up(op: arith.CeilDivSIOp, of: Callable[[SSAValue], Index]) -> Index | None:
    divisor = divisor_of(of(op.rhs))
    return (of(op.lhs) + (divisor - 1)) // divisor if divisor else None


@EXPRESSIONS.rule(arith.DivSIOp, arith.DivUIOp)
def _quotient_of_natural(op: arith.DivSIOp | arith.DivUIOp, of: Callable[[SSAValue], Index]) -> Index | None:
    lhs, rhs = op.operands
    dividend, divisor = of(lhs), divisor_of(of(rhs))
    return dividend // divisor if divisor and never_negative(dividend) else None


@EXPRESSIONS.rule(arith.RemSIOp, arith.RemUIOp)
def _remainder_of_natural(op: arith.RemSIOp | arith.RemUIOp, of: Callable[[SSAValue], Index]) -> Index | None:
    lhs, rhs = op.operands
    dividend, divisor = of(lhs), divisor_of(of(rhs))
    return dividend % divisor if divisor and never_negative(dividend) else None


@EXPRESSIONS.rule(arith.MinSIOp)
def _minimum(op: arith.MinSIOp, of: Callable[[SSAValue], Index]) -> Index:
    return smaller(of(op.lhs), of(op.rhs))


@EXPRESSIONS.rule(arith.MaxSIOp)
def _maximum(op: arith.MaxSIOp, of: Callable[[SSAValue], Index]) -> Index:
    return larger(of(op.lhs), of(op.rhs))


def divisor_of(index: Index) -> int | None:
    """Return a number larger than 0, else None."""
    return index if isinstance(index, int) and index > 0 else None


def is_below(index: Index, bound: int | SSAValue) -> bool:
    """Return whether an index stays below a number or value, even if that depends on dynamic sizes."""
    room = (bound if isinstance(bound, int) else index_of(bound)) - index
    for atom, factor in terms_of(room).items():
        extent = extent_of(atom)
        if isinstance(extent, SSAValue):
            # The minimum is reached at the first value of the variable, or at the last.
            room -= IndexExpr.of(atom) * factor
            room += (index_of(extent) - 1) * min(factor, 0)
    return _is_positive(room)


def _is_positive(room: Index) -> bool:
    for atom, factor in terms_of(room).items():
        if isinstance(atom, Extreme) and (atom.which == "max") == (factor > 0):
            # It is at least what it would be with either operand in its place.
            rest = room - IndexExpr.of(atom) * factor
            return any(_is_positive(rest + operand * factor) for operand in atom.operands)
    for atom, factor in terms_of(room).items():
        if isinstance(atom, Quotient) and factor < 0 and factor % atom.divisor == 0:
            # What the quotient leaves of the dividend is 0 or more.
            room -= (atom.dividend - IndexExpr.of(atom) * atom.divisor) * (-factor // atom.divisor)
    return span_of(room).low > 0
