"""Blocks of rows: the part of an operand that a CPU keeps in a cache while all panels of the other one pass by."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from relex.dialects.target.processors import Processor
from relex.passes.analysis.loop_tree import function_of
from relex.passes.cpu import cost
from relex.passes.cpu.caches import lines_in_a_set
from relex.passes.cpu.reduction_axes import ReductionAxes
from relex.passes.cpu.reduction_nest import count
from relex.passes.cpu.register_tiles import Tile


@dataclass(frozen=True)
class RowBlocks:
    """
    The rows of an operand in blocks of some tiles, and whether they are copied.

    A tile reads one element of each of its rows at a time. Rows whose distance is a power of two share sets of the
    first-level cache, and evict each other: then they are copied, so that they are `stride` elements apart. A number of
    rows that is only known at run time is never divided into blocks.
    """

    tiles: int = 0
    """The number of tiles in a block; 0 if all rows are one block."""

    stride: int = 0
    """The distance of neighbouring rows of the copy, in elements; 0 if there is none."""

    def heights(self, tile: Tile, axes: ReductionAxes) -> list[int]:
        """Return the heights of tiles for the rows of a reduction: of those in blocks, and then of those for the
        remainder."""
        rows = axes.row_count
        if rows is None:
            return tile.heights(rows, axes.step, cost.LOW_ROWS_IN_LOOPS if axes.outer else cost.LOW_ROWS)
        if not self.tiles:
            return tile.heights(rows, axes.step)
        return [tile.rows, *tile.heights(rows % (self.tiles * tile.rows))]


def row_blocks(axes: ReductionAxes, tile: Tile, processor: Processor) -> RowBlocks:
    """Return the blocks for the rows of a reduction that is computed in tiles."""
    left, rows = axes.left, axes.row_count
    if left is None or axes.has_open_rows:
        return RowBlocks()
    if not function_of(axes.reduction.block).noalias:
        return RowBlocks()  # A copy might miss what the result overwrites.
    size, terms = axes.reduction.bits // 8, count(axes.reduction.terms)
    distance = prod(left.shape[axes.left_dimension + 1 :]) * size
    panels = -(-axes.column_count // tile.columns)
    is_copied = lines_in_a_set(tile.rows, distance, processor) >= processor.l1_ways
    if panels < (cost.MIN_PANELS_FOR_COPIES if is_copied else cost.MIN_PANELS_FOR_BLOCKS):
        return RowBlocks()
    stride = _spread(tile.rows, terms, size, processor) if is_copied else 0
    if rows is None:
        return RowBlocks(0, stride)  # Blocks would leave over rows that are not copied, all of them if they are few.
    if rows * terms * size <= (cost.L2_SIZES_OF_ALL_ROWS * processor.l2_bytes if is_copied else processor.l3_bytes):
        return RowBlocks(0, stride)
    fitting = int(cost.L3_SIZES_OF_A_BLOCK * processor.l3_bytes) // (tile.rows * (stride or terms) * size)
    return RowBlocks(tiles_in_a_block(rows // tile.rows, fitting), stride)


def blocks_for_tiles(axes: ReductionAxes, tile: Tile, processor: Processor) -> RowBlocks:
    """Return the blocks for the rows of a reduction that is computed in tiles of a matrix unit: these take an operand
    so fast that it has to be in the second-level cache, and columns may come from farther away once for several
    tiles."""
    rows, size = axes.row_count, tile.rows * count(axes.reduction.terms) * axes.reduction.bits // 8
    if axes.left is None or axes.has_open_rows or rows is None or rows // tile.rows * size <= processor.l2_bytes:
        return RowBlocks()
    fitting, panels = processor.l2_bytes // size, -(-axes.column_count // tile.columns)
    if min(fitting, panels) < 2:
        return RowBlocks()
    terms, element = count(axes.reduction.terms), axes.reduction.bits // 8
    distance = prod(axes.left.shape[axes.left_dimension + 1 :]) * element
    collides = lines_in_a_set(tile.rows, distance, processor) >= processor.l1_ways
    is_copied = collides and panels >= cost.MIN_PANELS_FOR_COPIES and function_of(axes.reduction.block).noalias
    stride = _spread(tile.rows, terms, element, processor) if is_copied else 0
    return RowBlocks(tiles_in_a_block(rows // tile.rows, fitting), stride)


def _spread(rows: int, terms: int, size: int, processor: Processor) -> int:
    """Return a distance of rows, in elements, at which as few lines as possible share a set."""
    line = processor.line_bytes // size
    first = -(-terms // line) * line
    return min((first, first + line), key=lambda stride: lines_in_a_set(rows, stride * size, processor))


def tiles_in_a_block(tiles: int, fitting: int) -> int:
    """Return the number of tiles in a block if `fitting` fit, or up to half of that, so that few are left over; 0 if
    all of them are one block."""
    most = max(min(fitting, tiles // cost.ENOUGH_BLOCKS), cost.MIN_TILES_IN_A_BLOCK)
    return min(range(most, most // 2 - 1, -1), key=lambda count: tiles % count) if tiles > most else 0
