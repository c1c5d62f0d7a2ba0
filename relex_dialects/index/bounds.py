"""Ranges of the values of expressions, exact where possible.

The variables are independent of each other. Sums with constant factors, and quotients and remainders of them by
constants, are exact; everything else is over-approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from relex.dialects.index.atoms import Atom, Extreme, Product, Quotient, Remainder, Symbol, Variable
from relex.dialects.index.domains import domain_of
from relex.dialects.index.expr import Index, IndexExpr, constant_of, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.index.ranges import Range, exactly

EMPTY = exactly(0, -1)


def range_of(value: SSAValue | Index) -> Range | None:
    """Return the values that an index takes while its variables run through their domains, if these are known."""
    return _range(index_of(value) if isinstance(value, SSAValue) else value, {})


def variable_range(variable: SSAValue) -> Range | None:
    """Return the values of a loop or block variable, if its extent is constant."""
    domain = domain_of(variable)
    return exactly(domain.low, domain.high) if domain.is_finite else None


def _range(index: Index, known: dict[Atom, Range | None]) -> Range | None:
    terms: list[tuple[int, Range]] = []
    for atom, factor in terms_of(index).items():
        if atom not in known:  # Expressions share their parts.
            known[atom] = _range_of_atom(atom, known)
        if (domain := known[atom]) is None:
            return None
        terms.append((factor, domain))
    # Variables are independent of each other, and so are terms without common variables.
    variables = [value for atom in terms_of(index) for value in set(values_in(IndexExpr.of(atom)))]
    return _sum(constant_of(index), terms, independent=len(variables) == len(set(variables)))


def _range_of_atom(atom: Atom, known: dict[Atom, Range | None]) -> Range | None:
    match atom:
        case Symbol() | Product():
            return None
        case Variable(low=low, high=high):
            return exactly(low, high)
        case Quotient(dividend=dividend, divisor=divisor):
            inner = _range(dividend, known)
            return _monotone(inner, lambda x: x // divisor) if inner is not None else None
        case Remainder(dividend=dividend, divisor=divisor):
            inner = _range(dividend, known)
            return _remainder(inner, divisor) if inner is not None else None
        case Extreme(which=which, operands=operands):
            left, right = (_range(operand, known) for operand in operands)
            if left is None or right is None:
                return None
            return _clamp(left, right, min if which == "min" else max)
        case _:
            return variable_range(atom)


def _sum(constant: int, terms: Sequence[tuple[int, Range]], independent: bool) -> Range:
    if any(domain.empty for _, domain in terms):
        return EMPTY
    total = sum((domain.scaled(factor) for factor, domain in terms), start=Range(constant, constant))
    if not independent or not all(domain.exact for _, domain in terms):
        return total
    return replace(total, exact=True, full=_is_full(terms))


def _is_full(terms: Sequence[tuple[int, Range]]) -> bool | None:
    """Return whether a sum of independent terms takes every value between its ends."""
    if not all(domain.full for _, domain in terms):
        return None
    reach = 0.0
    for factor, width in sorted((abs(factor), domain.width) for factor, domain in terms):
        # The terms with smaller factors reach this far; a larger step leaves a gap that no other term can fill.
        if width and factor > reach + 1:
            return False
        reach += factor * width
    return True


def _monotone(argument: Range, function: Callable[[float], float]) -> Range:
    """Return the range of a function that grows with its argument, by at most 1 at a time."""
    if argument.empty:
        return EMPTY
    return Range(function(argument.low), function(argument.high), argument.exact, argument.full or None)


def _remainder(dividend: Range, divisor: int) -> Range:
    if dividend.empty or dividend.low // divisor == dividend.high // divisor:
        start = dividend.low // divisor * divisor
        return replace(dividend, low=dividend.low - start, high=dividend.high - start)
    if dividend.full and dividend.width + 1 >= divisor:
        return exactly(0, divisor - 1)
    return Range(0, divisor - 1)


def _clamp(left: Range, right: Range, function: Callable[[float, float], float]) -> Range:
    """Return the range of the minimum or maximum of two values."""
    if left.empty or right.empty:
        return EMPTY
    if right.low == right.high:
        return _monotone(left, lambda x: function(x, right.low))
    if left.low == left.high:
        return _monotone(right, lambda x: function(x, left.low))
    return Range(function(left.low, right.low), function(left.high, right.high))
