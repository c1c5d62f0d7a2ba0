"""Conditions of blocks: what has to hold for a block to run without its guard."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import span_of, values_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import BlockOp, IterKind, IterVar
from relex.passes.analysis.buffers import accesses_in
from relex.passes.analysis.dependence import BlockAccess, Element, block_accesses, equal_atoms
from relex.passes.analysis.loop_tree import (
    check_conditions,
    function_of,
    guard_of,
    label_of,
    loops_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.editing.index_arithmetic import substitute
from relex.passes.schedule.code_motion import check_unshared_outputs
from relex.passes.schedule.rebind import is_bound_to_loops


def check_guard(block: BlockOp) -> scf.IfOp:
    """Return the guard of a block. Fail if there is none, or if elements beyond it may have defined contents, because
    other blocks write them, or an input has them."""
    guard = guard_of(block) or fail(block, f"expected a condition around {name_of_block(block)}, found none")
    for access in block_accesses(block):
        if access.is_write:
            _check_apart(access)
    check_conditions(block)
    check_unshared_outputs(block)
    return guard


def _check_apart(write: BlockAccess) -> None:
    """Fail if another block may write the same elements as a block does without its guard."""
    for other in accesses_in(function_of(write.block), write.buffer):
        if other.is_write and other.block is not write.block and _may_meet(write.element, other.element):
            fail(write.block, f"expected {name_of_block(write.block)} alone to write its elements of "
                              f"{name_of(write.buffer)}, found {name_of_block(other.block)} as well")  # fmt: skip


def _may_meet(one: Element, other: Element) -> bool:
    """Return whether elements may be the same one in some iterations, guarded or not."""
    return all(span_of(i).meets(span_of(j)) for i, j in zip(one, other, strict=True))


def variables_beyond(block: BlockOp, changes: AbstractSet[SSAValue]) -> list[BlockArgument]:
    """Return the variables of a block that leave their range when the loops of `changes` run beyond the guard. Fail
    unless variables of loops can replace them."""
    beyond = [v.variable for v in block.iter_vars if not _stays_in_range(v, changes)]
    if beyond and not is_bound_to_loops(block, beyond):
        variable = f"{name_of(beyond[0])} of {name_of_block(block)}"
        fail(block, f"expected {variable} to be a sum of loops, or to stay in its range without the condition")
    return beyond


def _stays_in_range(v: IterVar, changes: AbstractSet[SSAValue]) -> bool:
    form = index_of(v.binding)
    span = span_of(form)
    if changes.isdisjoint(values_in(form)):
        return True
    return 0 <= span.low and isinstance(v.extent, int) and span.high < v.extent


def check_bounds(block: BlockOp, accesses: Sequence[BlockAccess], changes: AbstractSet[SSAValue]) -> None:
    """Fail unless accesses stay in bounds when the loops of `changes` run beyond the guard."""
    for access in accesses:
        for form, size in zip(access.element, access.access.shape, strict=True):
            if not changes.isdisjoint(values_in(form)) and not (0 <= span_of(form).low and span_of(form).high < size):
                fail(block, f"expected {name_of_block(block)} to stay in {name_of(access.buffer)} without its "
                            "condition")  # fmt: skip


def check_own_elements(block: BlockOp) -> None:
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


def take_out(block: BlockOp, guard: scf.IfOp) -> None:
    """Put a block in the place of its guard."""
    block.detach()
    holder = guard.parent_block()
    assert holder is not None
    holder.insert_op_before(block, guard)
    Rewriter.erase_op(guard)
    substitute(loops_of(block)[-1])
