"""Bytes that are looked up in tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i8
from xdsl.ir import Operation

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, TableLookUpOp
from relex.dialects.walks import walk_of
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.cpu.reduction_nest import check_at_least, count, named, spatial_loops
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.joined_rows import rows_to_join
from relex.passes.schedule import Loop, Schedule


def look_ups(block: BlockOp, processor: Processor) -> Plan:
    """Look up a register of bytes at once, also where what comes before or after is done in wider numbers: to permute
    the bytes of a register takes as long for few of them. Vectors are a little shorter where these fill rows that are
    side by side. LLVM would look up one by one.

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
    if not walk_of(block, TableLookUpOp):
        fail(block, f"expected {name_of_block(block)} to look up numbers in a table")
    most, joined = processor.lanes(8), rows_to_join(block, loops)
    extents = [loop.extent for loop in joined]
    lanes = _lanes(prod(size for size in extents if isinstance(size, int)), most)
    if not all(isinstance(size, int) for size in extents) or 2 * lanes < most:
        joined, lanes = joined[-1:], most
    check_at_least(block, lanes, count(joined), "bytes in a row")
    return Plan(f"vectors of {lanes} bytes", lambda schedule: _schedule(schedule, [*map(named, joined)], lanes))


def _lanes(count: int, most: int) -> int:
    """Return the length of vectors that fill a row, or 1."""
    return next((lanes for lanes in range(most, 1, -1) if count % lanes == 0), 1)


def looks_up_bytes(scope: Operation) -> bool:
    """Return whether bytes are looked up in a block or a function, of which a register has many."""
    return any(op.operand.type == i8 for op in walk_of(scope, TableLookUpOp))


def _schedule(schedule: Schedule, loops: Sequence[Loop], lanes: int) -> None:
    row = schedule.fuse(*loops) if len(loops) > 1 else loops[0]
    extent = schedule.loop_op(row).extent
    if not isinstance(extent, int) or extent % lanes:
        schedule.partition([row], lanes)  # What fills no whole vector stays as it is.
    _, lane = schedule.split(row, [None, lanes])
    schedule.vectorize(lane)
