"""`skip_padding`: leave out the iterations of a loop whose terms are products with zeros."""

from __future__ import annotations

from relex.dialects.errors import fail
from relex.dialects.index.expr import constant_of
from relex.dialects.schedule.loop_primitives import SkipPaddingOp
from relex.dialects.tir import ForOp
from relex.passes.analysis.loop_tree import blocks_in, label_of, loops_of, name_of_block
from relex.passes.analysis.padding import bounds_of_terms
from relex.passes.rewriting.loop_edits import add_guard
from relex.passes.schedule.primitive_table import primitive


@primitive(SkipPaddingOp)
def skip_padding(loop: ForOp) -> None:
    """
    Guard the sum of products in a loop, so that iterations of the loop are skipped in which one factor is padding,
    zeros around what another block has copied. The other factors are of inputs, or copies of them, that have the
    attribute `relex.finite`, which `annotate-finite` gives to constants without infinities and NaNs. Sums do not
    change, but for the sign of a zero.
    """
    blocks = list(blocks_in(loop))
    if len(blocks) != 1:
        fail(loop, f"expected one block in {label_of(loop)}, found {len(blocks)}")
    (block,) = blocks
    if block.init is not None:
        fail(block, f"expected the init of {name_of_block(block)} to be elsewhere")
    loops = loops_of(block)
    inside = loops[loops.index(loop) + 1 :]
    found = [bound for bound in bounds_of_terms(block) if bound.uses(loop)]
    if not found:
        fail(loop, f"expected {label_of(loop)} to index a dimension of a buffer with padding on that side")
    for bound in found:
        if inner := [other for other in inside if bound.uses(other)]:
            fail(
                inner[0], f"expected {label_of(inner[0])} not to index the padded dimension that {label_of(loop)} does"
            )
    for bound in found:
        limit = -constant_of(bound.sum)
        add_guard(block, bound.sum + limit, limit, bound.predicate)
