"""A block without its condition."""

from __future__ import annotations

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule import UnguardOp
from relex.dialects.tir import BlockOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import variables_in
from relex.passes.loops.affine import form_of
from relex.passes.loops.buffers import buffers_written, check_only_writer
from relex.passes.loops.dependences import block_accesses, equal_atoms
from relex.passes.loops.indices import substitute
from relex.passes.loops.motion import check_runs_anywhere
from relex.passes.loops.schedule.table import primitive
from relex.passes.loops.structure import find_block, function_of, guard_of, label_of, loops_of, name_of_block


@primitive(UnguardOp)
def _(op: UnguardOp, func: PrimFuncOp) -> None:
    unguard(find_block(func, op.block.root_reference.data))


def unguard(block: BlockOp) -> None:
    """Remove the condition around a block whose additional runs stay in all buffers, and write elements of their own.

    Nobody else writes what the block writes: so the additional elements had no content that anybody could rely on.
    """
    guard = guard_of(block) or fail(block, f"expected a condition around {name_of_block(block)}, found none")
    func = function_of(block)
    for buffer in buffers_written(block):
        check_only_writer(func, buffer, block)
    for v in block.iter_vars:
        span = form_of(v.binding).span
        if not (0 <= span.low and isinstance(v.extent, int) and span.high < v.extent):
            fail(block, f"expected {name_of(v.variable)} of {name_of_block(block)} to stay in its range without the "
                        "condition")  # fmt: skip
        if v.kind is IterKind.REDUCE and variables_in(v.binding, func) & variables_in(guard.cond, func):
            fail(block, f"expected a condition around {name_of_block(block)} that does not depend on its reduction")
    check_runs_anywhere(block)
    _check_own_elements(block)
    block.detach()
    holder = guard.parent_block()
    assert holder is not None
    holder.insert_op_before(block, guard)
    guard.detach()
    guard.erase()
    substitute(loops_of(block)[-1])


def _check_own_elements(block: BlockOp) -> None:
    """Fails if two iterations of the loops that are not those of the reduction may write one element."""
    func = function_of(block)
    reduce = {arg for v in block.iter_vars if v.kind is IterKind.REDUCE for arg in variables_in(v.binding, func)}
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
