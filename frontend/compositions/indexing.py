"""Positions along dimensions."""

from __future__ import annotations

from relex.dialects.sizes import IndexExpr, Size
from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.importing.site import Site
from relex.frontend.importing.values import Known, Tensor

LAST = 2**63 - 1
"""The end of every dimension."""


def from_front(site: Site, indices: Tensor, size: Size) -> Operand:
    """Return indices that count from the front, where negative ones count from the end."""
    if isinstance(indices, Known) and (indices.is_symbolic or not (indices.array < 0).any()):
        return indices
    length = Known([size]) if isinstance(size, IndexExpr) else site.like(size, indices)
    if isinstance(size, IndexExpr):
        length = op.astype(op.reshape(length, []), indices.element_type)
    return op.where(op.less(indices, 0), op.add(indices, length), indices)
