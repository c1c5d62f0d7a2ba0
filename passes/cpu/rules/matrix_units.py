"""Reductions on units that multiply matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.dialects.tir.tiles import MOST_ROWS
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.analysis.tile_nests import ABREAST, MOST_WORDS, instruction_for
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_axes import ReductionAxes, suitable
from relex.passes.cpu.reduction_nest import check_at_least, count, divisors, is_side_by_side, uses
from relex.passes.cpu.register_tiles import Tile
from relex.passes.cpu.row_blocks import blocks_for_tiles
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.tiles import Tiling, tile_loops


def matrix_units(block: BlockOp, processor: Processor) -> Plan:
    """
    Tile a reduction of products of words for a unit that multiplies matrices, where the target has one: as the rule
    `tiles` does, in tiles of 32 rows and 32 columns that are computed by an instruction for 16 rows and columns. The
    rows that are left over have lower tiles; columns at the edge are padded. Words of a row of the left operand, along
    the last terms, are contiguous.

    ```mlir
    tir.for %i, %j, %k in (256, 128, 64) {
      ... // y[i, j] += dot4(x[i, k], w[k, j])
    }
    // matrix-units, after the columns are packed
    tir.for %panel, %tile in (4, 8) {
      %sums = tir.alloc_buffer : memref<32x32xi32>
      tir.for %k, %word, %row, %column in (4, 16, 32, 32) {
        ... // sums[row, column] += dot4(x[32 tile + row, 16 k + word], w_local[panel, 16 k + word, column])
      } {relex.tensorized = "tdpbusd"}
      ... // y[32 tile + row, 32 panel + column] = sums[row, column]
    }
    ```
    """
    by = _instruction_for(block, processor)

    def tiled(axes: ReductionAxes) -> tuple[ReductionAxes, Tile]:
        tile = _tile(axes)
        _check_worth_it(axes, tile)
        return axes, tile

    views = [view for axes in ReductionAxes.all_of(block) for view in _views(axes)]
    axes, tile = min(suitable(views, tiled), key=lambda choice: _cycles(*choice))
    blocks = blocks_for_tiles(axes, tile, processor)
    heights = [tile.rows, *cost.LOW_ROWS_OF_TILES] if axes.row_count is None else blocks.heights(tile, axes)
    tiling = Tiling(axes, tile, heights, blocks, processor, by=by)
    summary = f"{' and '.join(map(str, heights))} rows by {tile.columns} columns at a time by {by}"
    return Plan(summary, lambda schedule: tile_loops(schedule, tiling))


def _instruction_for(block: BlockOp, processor: Processor) -> str:
    """Return the instruction for the products of a block; fail if there is none."""
    found = (instruction_for(type(op), processor) for op in block.body.block.ops)
    return next(filter(None, found), None) or fail(
        block, f"expected {name_of_block(block)} to multiply words in a way that the target has instructions for"
    )


def _views(axes: ReductionAxes) -> Iterator[ReductionAxes]:
    """Yield the view of a reduction, and one in which a tile has the rows of two iterations of a loop around them, such
    as two rows of an image."""
    if axes.inside:
        return
    yield axes
    around = [loop for loop in axes.outer if not uses(axes.right, loop) and isinstance(loop.extent, int)]
    if around and isinstance(axes.rows.extent, int) and axes.rows.extent <= MOST_ROWS:
        outer = [loop for loop in axes.outer if loop is not around[-1]]
        yield replace(axes, outer=outer, rows=around[-1], inside=[axes.rows])


def _tile(axes: ReductionAxes) -> Tile:
    most = ABREAST * (axes.step if axes.inside else MOST_ROWS)
    rows = most if axes.row_count is None else min(most, axes.row_count)
    return Tile(rows, min(ABREAST, ceil(axes.column_count / MOST_WORDS)), MOST_WORDS)


def _cycles(axes: ReductionAxes, tile: Tile) -> float:
    """Return the cycles for the words of tiles, for each result: an instruction takes one for each row, and the next
    one that adds to the same sums waits for it."""
    rows = axes.row_count or cost.LIKELY_EXTENT
    full, rest = divmod(rows, tile.rows)
    heights = [tile.rows] * full + [rest] * (rest > 0)
    cycles = sum(max(cost.LATENCY_OF_TILES, height * tile.vectors) for height in heights)
    return cycles / rows * ceil(axes.column_count / tile.columns) / axes.column_count


def _check_worth_it(axes: ReductionAxes, tile: Tile) -> None:
    block, reduction = axes.reduction.block, axes.reduction
    axes.check_worth_it(tile)
    last = reduction.terms[-1]
    if not axes.has_known_columns or not isinstance(last.extent, int):
        fail(block, f"expected {label_of(axes.columns)} and {label_of(last)} to have known numbers of iterations")
    check_at_least(block, cost.MIN_WORDS_OF_A_TILE, divisors(last, MOST_WORDS)[-1], "words at a time")
    check_at_least(block, cost.MIN_ROWS_OF_A_TILE, tile.rows, "rows")
    check_at_least(block, cost.MIN_COLUMNS_OF_A_TILE, axes.column_count, "columns")
    check_at_least(
        block, cost.MIN_STEPS_IN_TILES, count([*reduction.spatial, *reduction.terms], cost.LIKELY_EXTENT), "steps"
    )
    if not axes.is_packed(tile) and not axes.has_full_panels(tile):
        fail(block, "expected columns that fill tiles, or are used often enough to be packed")
    others = [access for access in reduction.reads if access is not axes.right]
    if not all(is_side_by_side(access, last) for access in others):
        fail(block, f"expected words side by side along {label_of(last)}")
