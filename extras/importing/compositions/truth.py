"""Whether conditions hold for all elements of a tensor, or for any, which may have none."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import i64

from relex.dialects.sizes import count, never_negative
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode


def any_of(site: ImportedNode, conditions: Operand, *reduced: Any) -> Operand:
    """Return whether any condition holds; of none, false. `reduced` are the dimensions and whether they stay."""
    if never_negative(count(site.shape(conditions)) - 1):
        return op.max(conditions, *reduced)
    return op.not_equal(op.sum(op.astype(conditions, i64), *reduced), 0)  # There is no largest one of none.


def all_of(site: ImportedNode, conditions: Operand, *reduced: Any) -> Operand:
    """Return whether all conditions hold; of none, true."""
    if never_negative(count(site.shape(conditions)) - 1):
        return op.min(conditions, *reduced)
    return op.logical_not(any_of(site, op.logical_not(conditions), *reduced))
