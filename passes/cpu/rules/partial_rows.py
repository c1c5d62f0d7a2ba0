"""Reductions of short rows."""

from __future__ import annotations

from relex.dialects.errors import fail, name_of
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.analysis.buffers import accesses_in, buffers_written
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.analysis.reduction_order import combiner_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import ReductionNest, block_named, check_at_least, count, named, uses
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.extremes import is_extreme_without_instruction
from relex.passes.schedule import Schedule


def partial_rows(block: BlockOp, processor: Processor) -> Plan:
    """Add up rows to a single row, and its elements at the end. LLVM vectorizes both; a short row is a vector.

    ```mlir
    tir.for %j, %n, %h, %w in (32, 8, 28, 28) {
      ... // y[j] += x[n, j, h, w]
    }
    // partial-rows
    tir.for %j in (32) {
      %row = tir.alloc_buffer : memref<28xf32>
      tir.for %n, %h, %w in (8, 28, 28) {
        ... // row[w] += x[n, j, h, w]
      }
      tir.for %w in (28) {
        ... // y[j] += row[w]
      }
    }
    ```
    """
    reduction = ReductionNest.of(block)
    combiner_of(block)
    *rows, last = reduction.terms
    reduction.check_side_by_side(last)
    for access in reduction.reads:
        if any(not uses(access, loop) and loop.extent != 1 for loop in (*reduction.spatial, last)):
            fail(block, f"expected {name_of_block(block)} to use each element of {name_of(access.buffer)} once")
    least, most = cost.TERMS_OF_A_ROW
    if not least <= (terms := count([last])) <= most:
        fail(block, f"expected from {least} to {most} terms in a row, found {terms}")
    is_short = _is_short(reduction)
    check_at_least(block, cost.MIN_SHORT_ROWS_TO_ADD if is_short else cost.MIN_ROWS_TO_ADD, count(rows), "rows")
    if is_extreme_without_instruction(block, processor):
        least = 3 * processor.lanes(reduction.bits) // 4 if is_short else cost.LONG_ROW_TO_COMPARE
        check_at_least(block, least, terms, "terms in a row")
    return Plan(f"sums of rows of {terms} terms", lambda schedule: _schedule(schedule, reduction))


def _is_short(reduction: ReductionNest) -> bool:
    return count(reduction.terms[-1:]) < cost.TERMS_OF_A_LONG_ROW


def _schedule(schedule: Schedule, reduction: ReductionNest) -> None:
    first, *_, last = map(named, reduction.terms)
    partial = schedule.rfactor(block_named(reduction.block), last, first)
    if not _is_short(reduction):
        return
    (row,) = buffers_written(schedule.block_op(partial))
    accesses = accesses_in(schedule.function(partial.func), row)
    writers = {access.block: None for access in accesses if access.is_write}
    for block in map(block_named, writers):
        schedule.vectorize(schedule.get_loops(block)[-1])
