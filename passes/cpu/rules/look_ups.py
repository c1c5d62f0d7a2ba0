"""Bytes that are looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, LookUpOp
from relex.dialects.walks import walk_of
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.cpu.reduction_nest import check_at_least, count, named, spatial_loops
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.joined_rows import rows_to_join
from relex.passes.schedule import Loop, Schedule


def look_ups(block: BlockOp, processor: Processor) -> Plan:
    """Look up a register of bytes at once, also where what comes before or after is done in wider numbers: to permute
    the bytes of a register takes as long for few of them. LLVM would look up one by one.

    ```mlir
    tir.for %c, %i in (64, 100) {
      ... // y[c, i] = table[x[c, i]]
    }
    // look-ups
    tir.for %p, vectorized %lane in (100, 64) {
      ... // y[(64 p + lane) // 100, (64 p + lane) % 100] = table[x[(64 p + lane) // 100, (64 p + lane) % 100]]
    }
    ```
    """
    loops = spatial_loops(block)
    if not walk_of(block, LookUpOp):
        fail(block, f"expected {name_of_block(block)} to look up numbers in a table")
    lanes, joined = processor.lanes(8), rows_to_join(block, loops)
    check_at_least(block, lanes, count(joined), "bytes in a row")
    return Plan(f"vectors of {lanes} bytes", lambda schedule: _schedule(schedule, [*map(named, joined)], lanes))


def _schedule(schedule: Schedule, loops: Sequence[Loop], lanes: int) -> None:
    row = schedule.fuse(*loops) if len(loops) > 1 else loops[0]
    extent = schedule.loop_op(row).extent
    if not isinstance(extent, int) or extent % lanes:
        schedule.partition([row], lanes)  # What fills no whole vector stays as it is.
    _, lane = schedule.split(row, [None, lanes])
    schedule.vectorize(lane)
