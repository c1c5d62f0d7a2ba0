"""Short rows, as vectors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith

from relex.dialects.errors import fail
from relex.dialects.index.expr import values_in
from relex.dialects.target.processors import Processor
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp
from relex.dialects.tir.accesses import in_loops
from relex.dialects.walks import walk_of
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in, function_of, label_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import check_at_least, count, is_side_by_side, named, spatial_loops, uses
from relex.passes.cpu.rule import Plan


def short_rows(block: BlockOp, processor: Processor) -> Plan:
    """Make a vector of each row, so that a condition on where the row is, as of padding, is decided once for all of it.
    Rows without conditions become vectors, too, where no other blocks may share their loops. LLVM makes vectors of
    longer rows itself.

    ```mlir
    tir.for %i, %j in (114, 16) {
      ... // y[i, j] = 1 <= i and i < 113 ? x[i - 1, j] : 0
    }
    // short-rows
    tir.for %i, vectorized %j in (114, 16) {
      ... // y[i, j] = 1 <= i and i < 113 ? x[i - 1, j] : 0
    }
    ```
    """
    loops = spatial_loops(block)
    if any(isinstance(op, AllocBufferOp) for op in block.walk()):
        fail(block, f"expected {name_of_block(block)} to have no local buffers, which a vector would share")
    check_at_least(block, cost.MIN_STEPS, count(loops), "elements")
    row = short_row(loops)
    if not all(is_side_by_side(access, row) for access in block_accesses(block) if uses(access, row)):
        fail(block, f"expected {name_of_block(block)} to access elements side by side along {label_of(row)}")
    conditions = conditions_in(block)
    if any(depends(condition, row) for condition in conditions):
        fail(block, f"expected no conditions on {label_of(row)} in {name_of_block(block)}")
    if not conditions:
        check_alone(block)
        check_at_least(block, cost.MIN_SIDE, count([row]), f"iterations of {label_of(row)}")
    return Plan(f"vectors of {row.extent} elements", lambda schedule: schedule.vectorize(named(row)))


def short_row(loops: Sequence[ForOp]) -> ForOp:
    """Return the innermost loop; fail unless it is short."""
    row = loops[-1]
    if not 1 < count([row]) <= cost.MAX_ROW_AS_A_VECTOR:
        fail(row, f"expected from 2 to {cost.MAX_ROW_AS_A_VECTOR} iterations of {label_of(row)}, found {row.extent}")
    return row


def check_alone(block: BlockOp) -> None:
    """Fail if other blocks of the function may share the loops of a block: that is worth more than vectors."""
    if [*blocks_in(function_of(block))] != [block]:
        fail(block, f"expected {name_of_block(block)} to be alone: other blocks may share its loops")


def conditions_in(block: BlockOp) -> list[arith.CmpiOp]:
    """Return the comparisons of integers in a block."""
    return walk_of(block, arith.CmpiOp)


def depends(condition: arith.CmpiOp, loop: ForOp) -> bool:
    """Return whether a condition differs from iteration to iteration of a loop."""
    return any(loop.variable in values_in(form) for form in in_loops(condition.operands))
