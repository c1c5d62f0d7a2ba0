"""Which values an index expression can take.

The expression is built by `arith` on variables whose ranges are known and which move independently of each other. Sums
with constant factors, and quotients and remainders of them by constants, are exact; the rest is bounded from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high`, both included; none where `low` is larger."""

    low: int
    high: int
    exact: bool = True
    """Both ends are really taken; else they are bounds."""
    full: bool | None = True
    """All values in between are taken; False if it is certain that some are not, None if nothing is known."""

    @property
    def empty(self) -> bool:
        return self.low > self.high

    def __str__(self) -> str:
        if self.empty:
            return "no value"
        return f"{self.low}..{self.high}" if self.low != self.high else str(self.low)


EMPTY = Range(0, -1)


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


def is_same_value(a: SSAValue, b: SSAValue) -> bool:
    """Whether two integers are one value, or equal constants."""
    return a is b or ((value := constant_value(a)) is not None and value == constant_value(b))


def linear_form(value: SSAValue) -> Linear:
    """An index expression as a sum of variables with constant factors, and of what is computed otherwise."""
    return _Ranges(lambda _: None).linear(value)


def range_of(value: SSAValue, domains: Domains) -> Range | None:
    """The values that an index expression takes while its variables run through their domains, if that can be told."""
    return _Ranges(domains).of(value)


class _Ranges:
    """Ranges for some domains. What is known of a value is kept: expressions share their parts."""

    def __init__(self, domains: Domains):
        self._domains = domains
        self._forms: dict[SSAValue, Linear] = {}
        self._ranges: dict[SSAValue, Range | None] = {}

    def of(self, value: SSAValue) -> Range | None:
        if value not in self._ranges:
            self._ranges[value] = self._range(value)
        return self._ranges[value]

    def _range(self, value: SSAValue) -> Range | None:
        form = self.linear(value)
        factors = {term: factor for term, factor in form.factors.items() if factor}
        terms: list[tuple[int, Range]] = []
        for term, factor in factors.items():
            if (domain := self._domains(term) or self._of_operation(term)) is None:
                return None
            terms.append((factor, domain))
        # Two derived terms may hang together; only variables are known to move independently.
        independent = len(factors) == 1 or all(self._domains(term) for term in factors)
        return _sum(form.constant, terms, independent)

    def linear(self, value: SSAValue) -> Linear:
        """`value` as a linear expression; whatever is no sum or product with a constant counts as a variable."""
        if value not in self._forms:
            self._forms[value] = self._combine(value) or Linear(0, {value: 1})
        return self._forms[value]

    def _combine(self, value: SSAValue) -> Linear | None:
        if (constant := constant_value(value)) is not None:
            return Linear(constant, {})
        match value.owner:
            case arith.AddiOp(lhs=lhs, rhs=rhs):
                return self.linear(lhs) + self.linear(rhs)
            case arith.SubiOp(lhs=lhs, rhs=rhs):
                return self.linear(lhs) + self.linear(rhs).scaled(-1)
            case arith.MuliOp(lhs=lhs, rhs=rhs):
                left, right = self.linear(lhs), self.linear(rhs)
                if not right.factors:
                    return left.scaled(right.constant)
                return right.scaled(left.constant) if not left.factors else None
            case _:
                return None

    def _of_operation(self, value: SSAValue) -> Range | None:
        op = value.owner
        if not isinstance(op, Operation) or len(op.operands) != 2:
            return None
        left, right = (self.of(operand) for operand in op.operands)
        if left is None or right is None:
            return None
        return EMPTY if left.empty or right.empty else _range_of_operation(op, left, right)


def _sum(constant: int, terms: Sequence[tuple[int, Range]], independent: bool) -> Range:
    if any(domain.empty for _, domain in terms):
        return EMPTY
    ends = [sorted((factor * domain.low, factor * domain.high)) for factor, domain in terms]
    low = constant + sum(low for low, _ in ends)
    high = constant + sum(high for _, high in ends)
    if not independent or not all(domain.exact for _, domain in terms):
        return Range(low, high, False, None)
    return Range(low, high, True, _is_full(terms))


def _is_full(terms: Sequence[tuple[int, Range]]) -> bool | None:
    """Whether a sum of terms that move independently takes every value between its ends."""
    if not all(domain.full for _, domain in terms):
        return None
    reach = 0
    for factor, span in sorted((abs(factor), domain.high - domain.low) for factor, domain in terms):
        # The terms with smaller factors reach that far; a larger step leaves a gap that no other term can fill.
        if span and factor > reach + 1:
            return False
        reach += factor * span
    return True


def _range_of_operation(op: Operation, left: Range, right: Range) -> Range | None:
    match op:
        case arith.FloorDivSIOp() if _is_positive(right):
            return _monotone(left, lambda x: x // right.low)
        case arith.CeilDivSIOp() if _is_positive(right):
            return _monotone(left, lambda x: -(-x // right.low))
        case arith.DivSIOp() | arith.DivUIOp() if _is_positive(right) and left.low >= 0:
            return _monotone(left, lambda x: x // right.low)
        case arith.RemSIOp() | arith.RemUIOp() if _is_positive(right) and left.low >= 0:
            return _remainder(left, right.low)
        case arith.MinSIOp():
            return _clamp(left, right, min)
        case arith.MaxSIOp():
            return _clamp(left, right, max)
        case _:
            return None


def _is_positive(divisor: Range) -> bool:
    """Whether the divisor is one number, larger than 0."""
    return divisor.low == divisor.high > 0


def _monotone(argument: Range, function: Callable[[int], int]) -> Range:
    """The range of a function that grows with its argument, and never by more than 1 at a time."""
    return Range(function(argument.low), function(argument.high), argument.exact, argument.full or None)


def _remainder(dividend: Range, divisor: int) -> Range:
    if dividend.high < divisor:
        return dividend
    if dividend.full and dividend.high - dividend.low + 1 >= divisor:
        return Range(0, divisor - 1)
    return Range(0, divisor - 1, False, None)


def _clamp(left: Range, right: Range, function: Callable[[int, int], int]) -> Range:
    """The smaller or the larger of two values."""
    if right.low == right.high:
        return _monotone(left, lambda x: function(x, right.low))
    if left.low == left.high:
        return _monotone(right, lambda x: function(x, left.low))
    return Range(function(left.low, right.low), function(left.high, right.high), False, None)
