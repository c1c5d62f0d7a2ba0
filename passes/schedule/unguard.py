"""`unguard`: remove the guard of a block."""

from __future__ import annotations

from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.errors import fail
from relex.dialects.index.expr import constant_of, terms_of
from relex.dialects.schedule.blocks import UnguardOp
from relex.dialects.tir import BlockOp, IterKind
from relex.dialects.tir.accesses import variables_in
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import (
    comparison_of,
    conditions_of,
    function_of,
    loops_of,
    may_trap,
    name_of_block,
    variables_of_kind,
)
from relex.passes.schedule.guards import check_bounds, check_guard, check_own_elements, take_out, variables_beyond
from relex.passes.schedule.rebind import bind_to_loops
from relex.passes.schedule.table import primitive


@primitive(UnguardOp)
def unguard(block: BlockOp) -> None:
    """Remove the guard of a block whose additional iterations stay in bounds, and write elements of their own.

    No other block writes the additional elements, so they had no defined contents.
    """
    guard = check_guard(block)
    guarded = variables_in(guard.cond, function_of(block))
    if variables_of_kind(block, IterKind.REDUCE) & guarded:
        fail(block, f"expected a condition around {name_of_block(block)} that does not depend on its reduction")
    # If the guard holds in some iteration, accesses that do not depend on its variables are made anyway.
    holds_at_first = all(map(_holds_at_zero, conditions_of(block)))
    changes = guarded if holds_at_first else {loop.variable for loop in loops_of(block)}
    beyond = variables_beyond(block, changes)
    check_bounds(block, block_accesses(block), changes)
    if any(may_trap(op) for op in block.walk()):
        fail(block, f"expected {name_of_block(block)} to run without its condition, found a division")
    check_own_elements(block)
    if beyond:
        block, _ = bind_to_loops(block, beyond)
    take_out(block, guard)


def _holds_at_zero(condition: SSAValue) -> bool:
    """Return whether a condition holds in the first iteration of all loops."""
    match comparison_of(condition):
        case "slt", difference:
            return constant_of(difference) < 0 and all(isinstance(atom, BlockArgument) for atom in terms_of(difference))
        case _:
            return False
