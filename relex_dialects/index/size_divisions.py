"""Quotients and remainders of indices by sizes that are known only at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from relex.dialects.index.atoms import Atom, factors_of
from relex.dialects.index.expr import (
    Index,
    IndexExpr,
    combination,
    constant_of,
    divide_factors,
    never_negative,
    span_of_atom,
    terms_of,
)


def divided(dividend: Index, divisor: Index, largest: Callable[[Index], Index]) -> tuple[Index, Index] | None:
    """Return the quotient and the remainder of an index by a product of sizes that is not 0, where no division
    is needed: of `i * w + j` by `w`, where `j` is less than `w`, they are `i` and `j`. None if that is not known.
    `largest` returns what an index without differences is at most, in terms of sizes."""
    if isinstance(divisor, int) or divisor.constant or len(divisor.terms) != 1:
        return None
    ((atom, scale),) = divisor.terms.items()
    if scale <= 0:
        return None
    multiple, rest = _multiple_of(dividend, factors_of(atom))
    # The part of the multiple that is one of the scale as well, and what is left of it.
    parts = {a: f for a, f in terms_of(multiple).items() if f % scale == 0}
    whole = divide_factors(combination(constant_of(multiple) // scale * scale, parts), scale)
    over = multiple - whole * scale
    unit = IndexExpr.of(atom)
    if _is_within(over * unit + rest, divisor, largest):
        return whole, over * unit + rest
    if _is_within(rest, unit, largest):
        return whole + over // scale, over % scale * unit + rest
    return None


def divided_exactly(dividend: Index, divisor: Index) -> Index | None:
    """Return the quotient of an index by a product of sizes that it is a multiple of, wherever that is not 0; None if
    it is none."""
    if isinstance(divisor, int) or divisor.constant or len(divisor.terms) != 1:
        return None
    ((atom, scale),) = divisor.terms.items()
    multiple, rest = _multiple_of(dividend, factors_of(atom))
    factors = [constant_of(multiple), *terms_of(multiple).values()]
    return divide_factors(multiple, scale) if rest == 0 and not any(f % scale for f in factors) else None


def _multiple_of(index: Index, factors: Sequence[Atom]) -> tuple[Index, Index]:
    """Return by what the terms of an index that are multiples of some factors multiply these, and the other terms."""
    multiple, rest = 0, constant_of(index)
    for atom, factor in terms_of(index).items():
        left = [*factors_of(atom)]
        for part in factors:
            if part not in left:
                rest = rest + IndexExpr.of(atom) * factor
                break
            left.remove(part)
        else:
            multiple = multiple + prod(map(IndexExpr.of, left), start=factor)
    return multiple, rest


def _is_within(index: Index, bound: Index, largest: Callable[[Index], Index]) -> bool:
    """Return whether an index is certainly 0 or more, and less than a bound, which is 1 or more."""
    terms = terms_of(index).items()
    is_natural = constant_of(index) >= 0 and all(f > 0 and span_of_atom(atom).low >= 0 for atom, f in terms)
    return index == 0 or (is_natural and never_negative(bound - 1 - largest(index)))
