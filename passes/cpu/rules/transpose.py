"""Blocks that read along one loop and write along another."""

from __future__ import annotations

from relex.dialects.errors import fail
from relex.dialects.index.expr import terms_of
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.caches import lines_in_a_set
from relex.passes.cpu.reduction_nest import (
    bits_of,
    check_at_least,
    count,
    is_side_by_side,
    named,
    position_of,
    spatial_loops,
    uses,
)
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Loop, Schedule


def transpose(block: BlockOp, processor: Processor) -> Plan:
    """Tile a transpose: write vectors, and read along their elements before going on, so that whole cache lines are
    used on both sides. Strips of tiles next to each other read other elements of the same lines while these are in the
    first-level cache.

    ```mlir
    tir.for %i, %j in (1000, 1000) {
      ... // y[i, j] = x[j, i]
    }
    // transpose
    tir.for %j0, %i0, %j1, %i1, vectorized %j2 in (5, 125, 25, 8, 8) {
      ... // y[8 i0 + i1, 200 j0 + 8 j1 + j2] = x[200 j0 + 8 j1 + j2, 8 i0 + i1]
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
    bits = bits_of(writes[0].buffer) or processor.vector_bits
    in_strip = int(cost.L1_SIZES_OF_A_STRIP * processor.l1_bytes) // processor.line_bytes
    evicted = any(_are_evicted(access, written, in_strip, bits, processor) for access in across)
    rows, lanes = _sides(read, written, bits, processor, whole_lines=evicted)
    is_near = 2 * count(loops) * bits // 8 <= cost.L3_SIZES_OF_STRIPS * processor.l3_bytes
    blocks = _blocks(written, lanes, in_strip // lanes) if is_near else 0
    names = named(read), named(written), [named(loop) for loop in loops if loop not in (read, written)]
    return Plan(f"blocks of {rows} by {lanes}", lambda schedule: _schedule(schedule, *names, (rows, lanes, blocks)))


def _loop_along(accesses: list[Access], loops: list[ForOp]) -> ForOp | None:
    """Return the innermost loop along which the elements of an access are contiguous, if there is one."""
    found = [loop for loop in loops if any(is_side_by_side(access, loop) for access in accesses)]
    return found[-1] if found else None


def _are_evicted(access: Access, loop: ForOp, in_strip: int, bits: int, processor: Processor) -> bool:
    """Return whether the lines that are read along a loop evict each other from the first-level cache, before other
    elements of them are read."""
    distance = terms_of(position).get(loop.variable, 0) if (position := position_of(access)) is not None else 0
    rows = min(in_strip, loop.extent) if isinstance(loop.extent, int) else in_strip
    return lines_in_a_set(rows, distance * bits // 8, processor) > processor.l1_ways


def _sides(read: ForOp, written: ForOp, bits: int, processor: Processor, *, whole_lines: bool) -> tuple[int, int]:
    """Return the extents of a tile along both loops: squares that are transposed in registers, if the loops are long;
    otherwise what divides them. Fail if a loop is too short."""
    lanes = processor.lanes(bits)
    square = min(lanes, cost.MAX_SIDE, max(cost.SIDE_OF_A_SQUARE, cost.MIN_BITS_OF_A_ROW // bits))
    if square >= cost.MIN_SIDE and all(_holds(loop, square) for loop in (read, written)):
        if not whole_lines or not _holds(read, cost.MAX_SIDE):
            return square, square
        widest = min(lanes, cost.MAX_SIDE)
        return cost.MAX_SIDE, widest if _holds(written, widest) else square
    return _side(read, cost.MAX_SIDE), _side(written, min(lanes, cost.MAX_SIDE))


def _holds(loop: ForOp, side: int) -> bool:
    """Return whether a loop consists of tiles with such a side, but for a small rest."""
    return not isinstance(loop.extent, int) or loop.extent % side == 0 or loop.extent >= cost.MIN_TILES * side


def _side(loop: ForOp, most: int) -> int:
    """Return the extent of a tile along a loop: the largest permitted one that divides the loop, or the most if only
    small ones do. Fail if the loop is too short."""
    extent = loop.extent
    if not isinstance(extent, int):
        return most
    if extent < cost.MIN_SIDE:
        fail(loop, f"expected {cost.MIN_SIDE} iterations of {label_of(loop)} or more, found {extent}")
    best = max((side for side in range(cost.MIN_SIDE, most + 1) if extent % side == 0), default=0)
    return best if 2 * best >= most or extent <= most else most


def _blocks(loop: ForOp, lanes: int, most: int) -> int:
    """Return how many tiles a strip has: the most that divide the tiles of the loop; 0 if all fit, or only few
    would."""
    if not isinstance(loop.extent, int) or (tiles := loop.extent // lanes) <= most:
        return 0
    return max((n for n in range((most + 1) // 2, most + 1) if tiles % n == 0), default=0)


def _schedule(schedule: Schedule, read: Loop, written: Loop, outer: list[Loop], sizes: tuple[int, int, int]) -> None:
    rows, lanes, blocks = sizes
    for loop, side in ((read, rows), (written, lanes)):
        extent = schedule.loop_op(loop).extent
        if not isinstance(extent, int) or extent % side:
            schedule.partition([loop], side)  # What fills no whole tile stays as it is.
    read_outer, read_inner = schedule.split(read, [None, rows])
    sides = [None, blocks, lanes] if blocks else [None, lanes]
    *strips, written_outer, written_inner = schedule.split(written, sides)
    schedule.reorder(*outer, *strips, read_outer, written_outer, read_inner, written_inner)
    schedule.vectorize(written_inner)
