"""`unguard`: remove the guard of a block."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import constant_of, span_of, terms_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.blocks import UnguardOp
from relex.dialects.tir import BlockOp, IterKind, IterVar
from relex.dialects.tir.accesses import variables_in
from relex.passes.analysis.buffers import buffers_written, check_only_writer
from relex.passes.analysis.dependence import block_accesses, equal_atoms
from relex.passes.analysis.loop_tree import (
    check_conditions,
    comparison_of,
    conditions_of,
    function_of,
    guard_of,
    label_of,
    loops_of,
    may_trap,
    name_of_block,
    variables_of_kind,
)
from relex.passes.editing.index_arithmetic import substitute
from relex.passes.schedule.code_motion import check_unshared_outputs
from relex.passes.schedule.rebind import bind_to_loops, is_bound_to_loops
from relex.passes.schedule.table import primitive


@primitive(UnguardOp)
def unguard(block: BlockOp) -> None:
    """Remove the guard of a block whose additional iterations stay in bounds, and write elements of their own.

    No other block writes the buffers that the block writes, so the additional elements had no defined contents.
    """
    guard = guard_of(block) or fail(block, f"expected a condition around {name_of_block(block)}, found none")
    func = function_of(block)
    for buffer in buffers_written(block):
        check_only_writer(func, buffer, block)
    check_conditions(block)
    check_unshared_outputs(block)
    guarded = variables_in(guard.cond, func)
    if variables_of_kind(block, IterKind.REDUCE) & guarded:
        fail(block, f"expected a condition around {name_of_block(block)} that does not depend on its reduction")
    # If the guard holds in some iteration, accesses that do not depend on its variables are made anyway.
    holds_at_first = all(map(_holds_at_zero, conditions_of(block)))
    changes = guarded if holds_at_first else {loop.variable for loop in loops_of(block)}
    beyond = [v.variable for v in block.iter_vars if not _stays_in_range(v, changes)]
    if beyond and not is_bound_to_loops(block, beyond):
        variable = f"{name_of(beyond[0])} of {name_of_block(block)}"
        fail(block, f"expected {variable} to be a sum of loops, or to stay in its range without the condition")
    _check_bounds(block, changes)
    _check_own_elements(block)
    if beyond:
        block, _ = bind_to_loops(block, beyond)
    block.detach()
    holder = guard.parent_block()
    assert holder is not None
    holder.insert_op_before(block, guard)
    Rewriter.erase_op(guard)
    substitute(loops_of(block)[-1])


def _holds_at_zero(condition: SSAValue) -> bool:
    """Return whether a condition holds in the first iteration of all loops."""
    match comparison_of(condition):
        case "slt", difference:
            return constant_of(difference) < 0 and all(isinstance(atom, BlockArgument) for atom in terms_of(difference))
        case _:
            return False


def _stays_in_range(v: IterVar, changes: AbstractSet[SSAValue]) -> bool:
    form = index_of(v.binding)
    span = span_of(form)
    if changes.isdisjoint(values_in(form)):
        return True
    return 0 <= span.low and isinstance(v.extent, int) and span.high < v.extent


def _check_bounds(block: BlockOp, changes: AbstractSet[SSAValue]) -> None:
    """Fail unless a block stays in bounds and cannot trap when the loops of `changes` run beyond the guard."""
    for access in block_accesses(block):
        for form, size in zip(access.element, access.access.shape, strict=True):
            if not changes.isdisjoint(values_in(form)) and not (0 <= span_of(form).low and span_of(form).high < size):
                fail(block, f"expected {name_of_block(block)} to stay in {name_of(access.buffer)} without its "
                            "condition")  # fmt: skip
    if any(may_trap(op) for op in block.walk()):
        fail(block, f"expected {name_of_block(block)} to run without its condition, found a division")


def _check_own_elements(block: BlockOp) -> None:
    """Fail if two iterations of the spatial loops may write the same element."""
    reduce = variables_of_kind(block, IterKind.REDUCE)
    loops = loops_of(block)
    if not loops:
        fail(block, f"expected {name_of_block(block)} to stand in a loop")
    for access in block_accesses(block):
        if not access.is_write:
            continue
        private = {loop.variable for loop in loops if loop.is_ancestor(access.buffer.owner)}
        same = equal_atoms([(index, index) for index in access.element], loops[0], private)
        for loop in loops:
            if loop.variable not in same | reduce and loop.extent != 1:
                fail(block, f"expected {name_of_block(block)} to write other elements in each iteration of "
                            f"{label_of(loop)}")  # fmt: skip
