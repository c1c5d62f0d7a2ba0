"""Reductions on units that multiply matrices."""

from __future__ import annotations

from math import ceil

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.dialects.tir.tiles import MOST_ROWS
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.analysis.tile_nests import ABREAST, MOST_WORDS, instruction_for
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_axes import ReductionAxes, suitable
from relex.passes.cpu.reduction_nest import check_at_least, count, divisors, is_side_by_side
from relex.passes.cpu.register_tiles import Tile
from relex.passes.cpu.row_blocks import RowBlocks
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

    axes, tile = min(suitable(ReductionAxes.all_of(block), tiled), key=lambda choice: _waste(*choice))
    heights = tile.heights(axes.row_count) if axes.row_count is not None else [tile.rows, *cost.LOW_ROWS_OF_TILES]
    tiling = Tiling(axes, tile, heights, RowBlocks(), processor, by=by)
    summary = f"{' and '.join(map(str, heights))} rows by {tile.columns} columns at a time by {by}"
    return Plan(summary, lambda schedule: tile_loops(schedule, tiling))


def _instruction_for(block: BlockOp, processor: Processor) -> str:
    """Return the instruction for the products of a block; fail if there is none."""
    found = (instruction_for(type(op), processor) for op in block.body.block.ops)
    return next(filter(None, found), None) or fail(
        block, f"expected {name_of_block(block)} to multiply words in a way that the target has instructions for"
    )


def _tile(axes: ReductionAxes) -> Tile:
    rows = ABREAST * MOST_ROWS if axes.row_count is None else min(ABREAST * MOST_ROWS, axes.row_count)
    return Tile(rows, min(ABREAST, ceil(axes.column_count / MOST_WORDS)), MOST_WORDS)


def _waste(axes: ReductionAxes, tile: Tile) -> float:
    """Return the ratio of the elements of tiles that are computed to the ones that are needed."""
    rows = axes.row_count or cost.LIKELY_EXTENT
    return ceil(rows / MOST_ROWS) * MOST_ROWS / rows * ceil(axes.column_count / MOST_WORDS) / axes.column_count


def _check_worth_it(axes: ReductionAxes, tile: Tile) -> None:
    block, reduction = axes.reduction.block, axes.reduction
    axes.check_worth_it(tile)
    last = reduction.terms[-1]
    if axes.inside or not axes.has_known_columns or not isinstance(last.extent, int):
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
