"""Which values an index expression can take.

The expression is built by `arith` on variables whose ranges are known. Sums with constant factors are exact: their
variables move independently. Everything else is bounded from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high`, both included. `exact`: both ends are really taken."""

    low: int
    high: int
    exact: bool = True

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" if self.low != self.high else str(self.low)


Domains = Callable[[SSAValue], Range | None]
"""The range of a variable; None for values that are no variable, or of unknown range."""


@dataclass(frozen=True)
class Linear:
    """A constant plus variables with constant factors."""

    constant: int
    factors: dict[SSAValue, int]

    def __add__(self, other: Linear) -> Linear:
        factors = dict(self.factors)
        for variable, factor in other.factors.items():
            factors[variable] = factors.get(variable, 0) + factor
        return Linear(self.constant + other.constant, factors)

    def scaled(self, by: int) -> Linear:
        return Linear(self.constant * by, {variable: factor * by for variable, factor in self.factors.items()})


def constant_value(value: SSAValue) -> int | None:
    """The integer behind a constant."""
    attr = ConstantLike.get_constant_value(value)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def linear_form(value: SSAValue) -> Linear:
    """`value` as a linear expression; whatever is no sum or product with a constant counts as a variable."""
    if (constant := constant_value(value)) is not None:
        return Linear(constant, {})
    match value.owner:
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return linear_form(lhs) + linear_form(rhs)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return linear_form(lhs) + linear_form(rhs).scaled(-1)
        case arith.MuliOp(lhs=lhs, rhs=rhs):
            left, right = linear_form(lhs), linear_form(rhs)
            if not right.factors:
                return left.scaled(right.constant)
            if not left.factors:
                return right.scaled(left.constant)
        case _:
            pass
    return Linear(0, {value: 1})


def range_of(value: SSAValue, domains: Domains) -> Range | None:
    """The values that an index expression takes while its variables run through their domains, if that can be told."""
    form = linear_form(value)
    low = high = form.constant
    exact = True
    for variable, factor in form.factors.items():
        if factor == 0:
            continue
        domain = domains(variable) or _range_of_operation(variable, domains)
        if domain is None:
            return None
        ends = (factor * domain.low, factor * domain.high)
        low, high = low + min(ends), high + max(ends)
        # Two derived terms may hang together; only variables are known to move independently.
        exact = exact and domain.exact and (domains(variable) is not None or len(form.factors) == 1)
    return Range(low, high, exact)


def _range_of_operation(value: SSAValue, domains: Domains) -> Range | None:
    op = value.owner
    if not isinstance(op, Operation) or len(op.operands) != 2:
        return None
    left, right = (range_of(operand, domains) for operand in op.operands)
    if left is None or right is None:
        return None
    match op:
        case arith.FloorDivSIOp() | arith.DivSIOp() | arith.DivUIOp() if right.low == right.high > 0 and left.low >= 0:
            return Range(left.low // right.low, left.high // right.low, left.exact)
        case arith.FloorDivSIOp() if right.low == right.high > 0:
            return Range(left.low // right.low, left.high // right.low, left.exact)
        case arith.RemSIOp() | arith.RemUIOp() if right.low == right.high > 0 and left.low >= 0:
            return left if left.high < right.low else Range(0, right.low - 1, False)
        case arith.MinSIOp():
            return Range(min(left.low, right.low), min(left.high, right.high), False)
        case arith.MaxSIOp():
            return Range(max(left.low, right.low), max(left.high, right.high), False)
        case _:
            return None
