"""Reductions of short rows."""

from __future__ import annotations

from relex.dialects.errors import fail, name_of
from relex.dialects.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.analysis.reductions import combiner_of
from relex.passes.cpu.nests import Reduction, block_named, count, is_side_by_side, named, uses
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Schedule

MIN_TERMS, MAX_TERMS = 16, 512
"""Number of terms of a row: LLVM unrolls fewer, and with more, adding up the elements of vectors at the end of each row
does not matter."""

MIN_ROWS = 8
"""Minimum number of rows that are added up to one result."""


def partial_rows(block: BlockOp, processor: Processor) -> Plan:
    """Add up rows to a single row, and its elements at the end. LLVM vectorizes both.

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
    reduction = Reduction.of(block)
    combiner_of(block)
    *rows, last = reduction.terms
    for access in reduction.reads:
        if not is_side_by_side(access, last):
            fail(block, f"expected terms of {name_of(access.buffer)} that lie side by side along {label_of(last)}")
        if any(not uses(access, loop) and loop.extent != 1 for loop in reduction.spatial):
            fail(block, f"expected {name_of_block(block)} to use each element of {name_of(access.buffer)} once")
    if not MIN_TERMS <= (terms := count([last])) <= MAX_TERMS:
        fail(block, f"expected from {MIN_TERMS} to {MAX_TERMS} terms in a row, found {terms}")
    if (found := count(rows)) < MIN_ROWS:
        fail(block, f"expected {MIN_ROWS} rows or more, found {found}")
    return Plan(f"sums of rows of {terms} terms", lambda schedule: _schedule(schedule, reduction))


def _schedule(schedule: Schedule, reduction: Reduction) -> None:
    first, *_, last = map(named, reduction.terms)
    schedule.rfactor(block_named(reduction.block), last, first)
