"""Quotients of dynamic sizes that are expressions."""

from __future__ import annotations

from collections import Counter

from relex.dialects.index.atoms import Quotient, factors_of
from relex.dialects.index.expr import atom_of, constant_of
from relex.dialects.sizes import IndexExpr, Size, count


def exact_quotient(size: Size, divisor: IndexExpr) -> Size | None:
    """Return a quotient of sizes that is an expression: of multiples, and of `x` by `x // n` if `n` divides `x`."""
    match atom_of(divisor):
        case Quotient(dividend=dividend, divisor=number) if size == dividend and dividend % number == 0:
            return number
        case _:
            pass
    if size == divisor or isinstance(size, int):
        return 1 if size == divisor else None
    if constant_of(size) or constant_of(divisor) or len(divisor.terms) > 1:
        return None
    ((atom, factor),) = divisor.terms.items()
    wanted, found = Counter(factors_of(atom)), list[Size]()
    for product, times in size.terms.items():
        factors = Counter(factors_of(product))
        if times % factor or not wanted <= factors:
            return None
        found.append(count([times // factor, *map(IndexExpr.of, (factors - wanted).elements())]))
    return sum(found[1:], found[0])
