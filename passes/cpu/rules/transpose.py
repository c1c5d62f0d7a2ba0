"""Blocks that read along one loop and write along another."""

from __future__ import annotations

from relex.dialects.errors import fail
from relex.dialects.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.dependence import BlockAccess, block_accesses
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reductions import bits_of, check_at_least, count, is_side_by_side, named, spatial_loops, uses
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Loop, Schedule


def transpose(block: BlockOp, processor: Processor) -> Plan:
    """Tile a transpose: write vectors, and read along their elements before going on, so that whole cache lines are
    used on both sides.

    ```mlir
    tir.for %i, %j in (1024, 1024) {
      ... // y[i, j] = x[j, i]
    }
    // transpose
    tir.for %i0, %j0, %i1, vectorized %j1 in (64, 64, 16, 16) {
      ... // y[16 i0 + i1, 16 j0 + j1] = x[16 j0 + j1, 16 i0 + i1]
    }
    ```
    """
    loops = spatial_loops(block)
    accesses = block_accesses(block)
    writes = [access for access in accesses if access.is_write]
    written = _loop_along(writes, loops)
    if written is None or len(writes) != 1:
        fail(block, f"expected a loop along which {name_of_block(block)} writes elements side by side")
    across = [access for access in accesses if uses(access, written) and not is_side_by_side(access, written)]
    read = _loop_along(across, loops)
    if read is None:
        fail(block, f"expected a loop other than {label_of(written)} along which elements are read side by side")
    check_at_least(block, cost.MIN_ELEMENTS_TO_TRANSPOSE, count(loops), "elements")
    lanes = processor.lanes(bits_of(writes[0].buffer) or processor.vector_bits)
    lanes = _side(written, min(lanes, cost.MAX_SIDE))
    rows = _side(read, cost.MAX_SIDE)
    names = named(read), named(written), [named(loop) for loop in loops if loop not in (read, written)]
    return Plan(f"blocks of {rows} by {lanes}", lambda schedule: _schedule(schedule, *names, rows, lanes))


def _loop_along(accesses: list[BlockAccess], loops: list[ForOp]) -> ForOp | None:
    """Return the innermost loop along which the elements of an access are contiguous, if there is one."""
    found = [loop for loop in loops if any(is_side_by_side(access, loop) for access in accesses)]
    return found[-1] if found else None


def _side(loop: ForOp, most: int) -> int:
    """Return the extent of a tile along a loop: the largest permitted one that divides the loop, a power of two if it
    is not much smaller, since those fill vectors, or the most if only small ones do. Fail if the loop is too short."""
    extent = loop.extent
    if not isinstance(extent, int):
        return most
    if extent < cost.MIN_SIDE:
        fail(loop, f"expected {cost.MIN_SIDE} iterations of {label_of(loop)} or more, found {extent}")
    sides = [side for side in range(cost.MIN_SIDE, most + 1) if extent % side == 0]
    powers = [side for side in sides if 2 * side >= most and side.bit_count() == 1]
    best = max(powers or sides, default=0)
    return best if 2 * best >= most or extent <= most else most


def _schedule(schedule: Schedule, read: Loop, written: Loop, outer: list[Loop], rows: int, lanes: int) -> None:
    for loop, side in ((read, rows), (written, lanes)):
        extent = schedule.loop_op(loop).extent
        if not isinstance(extent, int) or extent % side:
            schedule.partition([loop], side)  # What fills no whole tile stays as it is.
    blocks = [schedule.split(loop, [None, side]) for loop, side in ((read, rows), (written, lanes))]
    (read_outer, read_inner), (written_outer, written_inner) = blocks
    schedule.reorder(*outer, read_outer, written_outer, read_inner, written_inner)
    schedule.vectorize(written_inner)
