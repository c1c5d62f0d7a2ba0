"""Shapes in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from relex.dialects.index.expr import atom_of, constant_of, factors_of, terms_of
from relex.dialects.sizes import IndexExpr, Size, count
from relex.frontend.importing.values import refuse


def is_number(size: Size, number: int) -> bool:
    """Return whether a size is a certain number at import."""
    return not isinstance(size, IndexExpr) and int(size) == number


def without_minus_one(old: Sequence[Size], new: Sequence[Size]) -> list[Size]:
    """Return a shape with the size that is left in place of -1."""
    place = next((i for i, size in enumerate(new) if is_number(size, -1)), None)
    if place is None:
        return list(new)
    rest = [*new[:place], *new[place + 1 :]]
    left = _quotient(list(old), rest)
    return [*new[:place], left, *new[place + 1 :]]


def _quotient(numerator: list[Size], divisor: list[Size]) -> Size:
    """Return a quotient of products, in which factors may be dynamic sizes."""
    numerator, divisor = _factors(numerator), _factors(divisor)
    for size in [size for size in divisor if isinstance(size, IndexExpr)]:
        if size not in numerator:
            refuse(f"a size of -1 that is {count(numerator)} divided by {size}; fix the size with `shapes=`")
        numerator.remove(size)
        divisor.remove(size)
    known = count(divisor)
    whole = count(numerator)
    if not isinstance(known, int) or known == 0:
        refuse("expected a shape without zeros beside its -1")
    if isinstance(remainder := whole % known, int) and remainder:
        refuse(f"expected a shape that {whole} elements fit, found {known} elements beside its -1")
    return whole // known


def _factors(sizes: Sequence[Size]) -> list[Size]:
    """Return sizes with the same product as others: the numbers and names that each is a product of."""
    found: list[Size] = []
    for size in sizes:
        if not isinstance(size, IndexExpr):
            found.append(size)
            continue
        common = gcd(constant_of(size), *terms_of(size).values())
        rest = size // common
        atom = atom_of(rest)
        found += [common, *([rest] if atom is None else map(IndexExpr.of, factors_of(atom)))]
    return found
