"""Positions along dimensions."""

from __future__ import annotations

from typing import Any

from relex.dialects.arrays import Array
from relex.dialects.sizes import IndexExpr, Size, never_negative
from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.importing.site import Site
from relex.frontend.importing.values import Known, Tensor, refuse

LAST = 2**63 - 1
"""The end of every dimension."""


def along(numbers: Array, axis: int, rank: int) -> Array:
    """Return numbers along one dimension of a tensor, in a shape that broadcasts."""
    return numbers.reshape([-1 if d == axis else 1 for d in range(rank)])


def position(place: Any, size: Size) -> int | str:
    """Return a position that is a number, counted from the end if it is negative, or an expression of sizes."""
    if not isinstance(place, IndexExpr):
        return int(place)
    rest = place - size
    if isinstance(rest, int):
        return LAST if rest >= 0 else rest
    if not never_negative(place):
        refuse(f"a position that may count from the end: {place}; 'shapes' closes the sizes in it")
    return str(place)


def from_front(site: Site, indices: Tensor, size: Size) -> Operand:
    """Return indices that count from the front, where negative ones count from the end."""
    if isinstance(indices, Known) and (indices.is_symbolic or not (indices.array < 0).any()):
        return indices
    length = Known([size]) if isinstance(size, IndexExpr) else site.like(size, indices)
    if isinstance(size, IndexExpr):
        length = op.astype(op.reshape(length, []), indices.element_type)
    return op.where(op.less(indices, 0), op.add(indices, length), indices)
