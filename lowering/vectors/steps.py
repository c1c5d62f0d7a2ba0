"""Steps of indices from one iteration of a loop to the next."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from relex.dialects.index.expr import IndexExpr, terms_of, values_in
from relex.dialects.index.from_ir import index_of


def index_step(value: SSAValue, loop: scf.ForOp) -> int | None:
    """Return the step of an index in a loop; None if it is not a constant, or if the index depends on other values
    computed in the loop."""
    variable, step = loop.body.block.args[0], 0
    for atom, factor in terms_of(index_of(value)).items():
        if atom is variable:
            step = factor
        elif any(loop.is_ancestor(part.owner) for part in values_in(IndexExpr.of(atom))):
            return None
    return step
