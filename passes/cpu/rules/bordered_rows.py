"""Blocks that do one thing at the ends of a row and another inside, such as padding."""

from __future__ import annotations

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import bits_of, check_at_least, count, is_side_by_side, named, spatial_loops, uses
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.short_rows import conditions_in, depends
from relex.passes.schedule import Loop, Schedule


def bordered_rows(block: BlockOp, processor: Processor) -> Plan:
    """Write out the vectors of a row. Where each begins is then known to LLVM, and so is what holds in its lanes: only
    vectors at the ends of the row have a mask, which is a constant. If the number of elements is known only at run
    time, the vectors are in a loop, and all of them have masks.

    ```mlir
    tir.for %i, %j in (112, 114) {
      ... // y[i, j] = 1 <= j and j < 113 ? x[i, j - 1] : 0
    }
    // bordered-rows
    tir.for %i, unrolled %j0, vectorized %j1 in (112, 8, 16) {
      ... // if 16 j0 + j1 < 114: y[i, 16 j0 + j1] = ...
    }
    ```
    """
    if not processor.stores_parts:
        fail(block, "expected a CPU that stores parts of vectors as fast as whole ones")
    loops = spatial_loops(block)
    check_at_least(block, cost.MIN_ELEMENTS_IN_PIECES, count(loops), "elements")
    row = loops[-1]
    accesses = block_accesses(block)
    if not all(is_side_by_side(access, row) for access in accesses if uses(access, row)):
        fail(block, f"expected {name_of_block(block)} to access elements side by side along {label_of(row)}")
    if not any(depends(condition, row) for condition in conditions_in(block)):
        fail(block, f"expected conditions on {label_of(row)} in {name_of_block(block)}")
    bits = max(bits_of(access.buffer) for access in accesses)
    lanes = processor.lanes(bits or processor.vector_bits)
    if not isinstance(row.extent, int):
        # LLVM makes such vectors, too, but has to look for them, and does elements that are left over one by one.
        return Plan(f"vectors of {lanes} elements", lambda schedule: _schedule(schedule, named(row), lanes))
    vectors = -(-row.extent // lanes)
    if vectors > cost.MAX_COPIES:
        fail(row, f"expected {cost.MAX_COPIES} vectors or less of {lanes} iterations of {label_of(row)}")
    summary = f"{vectors} vectors of {lanes} elements"
    return Plan(summary, lambda schedule: _schedule(schedule, named(row), lanes))


def _schedule(schedule: Schedule, row: Loop, lanes: int) -> None:
    vector, lane = schedule.split(row, [None, lanes])
    if isinstance(schedule.loop_op(vector).extent, int):
        schedule.unroll(vector)
    schedule.vectorize(lane)
