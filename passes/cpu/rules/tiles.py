"""Reductions in tiles of accumulators that stay in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.reduction_order import order_matters
from relex.passes.cpu import cost
from relex.passes.cpu.packing import copy_rows, pack_columns, pack_panels
from relex.passes.cpu.reduction_axes import ReductionAxes, suitable
from relex.passes.cpu.reduction_nest import block_named, bytes_of, named, uses
from relex.passes.cpu.register_tiles import Tile
from relex.passes.cpu.row_blocks import RowBlocks, row_blocks
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.look_ups import looks_up_bytes
from relex.passes.cpu.skipping import skip_padding
from relex.passes.cpu.steps import (
    Nest,
    can_follow,
    dispatch,
    followers_of,
    move_consumer,
    move_followers,
    multiply_tiles,
    part,
    parts,
    put_columns_inside,
    put_columns_last,
    split_reader,
    unroll_in_tile,
)
from relex.passes.schedule import Block, Loop, Schedule


def tiles(block: BlockOp, processor: Processor) -> Plan:
    """
    Tile a reduction: a tile of rows and columns accumulates its sums side by side, each in its order, with the consumer
    of the block as its epilogue.

    Applies to:

    * blocks in which one loop, the columns, indexes a single operand, and another one, the rows, reuses the elements of
      that operand. Columns are best where neighbouring results are contiguous; convolutions of narrow images have
      channels as columns instead;
    * even a single row, if the operand of the columns is a constant in every call: then `rewrite-layout` packs it at
      compile time;
    * numbers of rows and of columns that are only known at run time, too.

    What it does:

    * Packing: the operand of the columns is copied into the order of the tiles, unless its elements are contiguous and
      the tiles divide the columns, or each element is used once. Where tiles divide the columns, each panel is packed
      right before all rows use it, while it is still in a cache; several together if columns are contiguous. Large
      packed operands are prefetched.
    * Columns at the edge: with packing, full tiles compute more than is stored; without, a guard keeps them in bounds.
      If the number of columns is dynamic, contiguous ones at the edge are done in narrow tiles with a guard; others are
      packed panel by panel, and what is left over stays as it is.
    * Rows left over by tiles of one height are done in lower tiles. Low tiles of convolutions add up each sum in parts,
      if that keeps the units busy and the order does not matter; matrix products keep the order, so that a row has the
      same result among any number of others.
    * Caches: rows of an operand that is too large for a cache are done in blocks, all columns of a block before the
      next one; rows that would evict each other from the first-level cache are copied (`row_blocks.py`).
    * Padding: products with the zeros of a padded copy are skipped where a whole tile multiplies zeros, and at the ends
      of rows, if a tile has whole rows of an image (`skipping.py`).

    Example:

    ```mlir
    tir.for %i, %j, %k in (256, 128, 784) {
      ... // y[i, j] += x[i, k] * w[j, k]
    }
    // tiles
    tir.for %panel, %k, vectorized %column in (4, 784, 32) {
      ... // w_local[panel, k, column] = w[32 panel + column, k]
    }
    tir.for %panel, %tile in (4, 32) {
      %sums = tir.alloc_buffer : memref<8x32xf32>
      tir.for %k, unrolled %row, unrolled %vector, vectorized %lane in (784, 8, 2, 16) {
        ... // sums[row, 16 vector + lane] += x[8 tile + row, k] * w_local[panel, k, 16 vector + lane]
      }
      ... // y[8 tile + row, 32 panel + 16 vector + lane] = sums[row, 16 vector + lane]
    }
    ```
    """

    def tiled(axes: ReductionAxes) -> tuple[ReductionAxes, Tile]:
        tile = axes.tile(processor)
        axes.check_worth_it(tile)
        return axes, tile

    choices = suitable(ReductionAxes.all_of(block), tiled)
    axes, tile = min(choices, key=lambda choice: choice[0].cost_of_a_result(choice[1], processor))
    blocks = row_blocks(axes, tile, processor)
    heights = blocks.heights(tile, axes)
    summary = f"{' and '.join(map(str, heights))} by {tile.vectors} vectors of {tile.lanes} elements"
    if blocks.tiles:
        summary += f", in blocks of {blocks.tiles * tile.rows} rows"
    tiling = Tiling(axes, tile, heights, blocks, processor)
    return Plan(summary, lambda schedule: tile_loops(schedule, tiling))


@dataclass(frozen=True)
class Tiling:
    """The tile for the largest part of a reduction, the heights of all tiles, and the blocks of rows for the first."""

    axes: ReductionAxes
    tile: Tile
    heights: Sequence[int]
    blocks: RowBlocks
    processor: Processor
    has_few_rows: bool = False
    """Whether rows are too few to make up for packing columns."""

    by: str | None = None
    """The instruction of a matrix unit that computes the sums, in its tiles; None for vectors."""

    @property
    def is_packed(self) -> bool:
        """Whether the operand of the columns is packed."""
        return not self.has_few_rows and self.axes.is_packed(self.tile)

    @property
    def registers(self) -> int:
        """The number of vector registers."""
        return self.processor.vector_registers

    @property
    def panels_at_once(self) -> int:
        """The number of panels that a tile processes at the same time."""
        return 1 if self.by is not None else self.axes.panels_at_once(self.tile, self.registers)

    @property
    def partial_sums(self) -> int:
        """The number of parts of each sum of a tile that is lower than the first ones: as many as keep the units busy,
        if the registers hold them."""
        if self.tile.rows == self.heights[0] or self.panels_at_once > 1 or self.by is not None:
            return 1
        all_parts = self.tile
        while all_parts.rows * all_parts.vectors < cost.LATENCY:
            more = replace(all_parts, rows=2 * all_parts.rows)
            if not more.fits(self.registers):
                break
            all_parts = more
        return all_parts.rows // self.tile.rows


@dataclass(frozen=True)
class _Nest(Nest):
    """A block, and the loops around it by their role."""

    outer: Sequence[Loop]
    rows: Loop
    inside: Sequence[Loop]
    panels: Loop
    columns: Loop
    terms: Sequence[Loop]


def tile_loops(schedule: Schedule, tiling: Tiling) -> None:
    """Take the steps of the rule."""
    axes = tiling.axes
    block = block_named(axes.reduction.block)
    groups = axes.outer_for(tiling.processor), axes.inside, axes.reduction.terms
    outer, inside, terms = (list(map(named, loops)) for loops in groups)
    split_reader(schedule, block)
    columns = named(axes.columns)
    followers = followers_of(schedule, block) if tiling.by is not None else ()
    nest = _Nest(block, outer, named(axes.rows), inside, columns, columns, terms, followers=followers)
    if axes.has_known_columns:
        _tile_columns(schedule, nest, tiling)
    else:
        _tile_open_columns(schedule, nest, tiling)


def _tile_open_columns(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    """Tile a nest for the columns that fill panels, whose number is known only at run time, and then, if they are
    contiguous, for those that are left over, in narrower tiles, the narrowest ones with a guard."""
    axes, tile = tiling.axes, tiling.tile
    rest = part(schedule, nest, nest.columns, tile.columns)
    if axes.is_unit_stride:
        narrower = cost.VECTORS_OF_A_NARROW_TILE
        for vectors in (narrower, 1) if tile.vectors > narrower else (1,):
            edge, narrow = rest, replace(tile, vectors=vectors)
            if vectors > 1:
                rest = part(schedule, edge, edge.columns, narrow.columns)
            heights = _narrow_heights(narrow, tiling)
            _tile_columns(schedule, edge, replace(tiling, tile=narrow, heights=heights, blocks=RowBlocks()))
        _tile_few_rows(schedule, nest, tiling)
    if axes.is_packed(tile) and can_follow(schedule, nest.block, [*nest.outer, nest.rows]):
        _tile_panels(schedule, nest, tiling)
    else:
        _tile_columns(schedule, nest, tiling)


def _narrow_heights(tile: Tile, tiling: Tiling) -> Sequence[int]:
    """Return the heights of narrow tiles: a single one, if one that keeps the units busy divides the rows."""
    rows, step = tiling.axes.row_count, tiling.axes.step
    heights = tile.heights(rows, step)
    if rows is None:
        return list(dict.fromkeys((*heights[1:2], heights[-1])))  # Few vectors of two rows would leave units idle.
    even = [height for height in range(step, cost.MAX_ROWS + 1, step) if rows % height == 0]
    highest = max((height for height in even if replace(tile, rows=height).fits(tiling.registers)), default=0)
    return [highest] if highest * tile.vectors >= cost.LATENCY or highest == rows else heights[-2:]


def _tile_few_rows(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    """If the number of rows is known only at run time, make a second version of a nest for rows that do not make up for
    packing columns. Those that fill no tile are done one by one, in wide tiles."""
    axes = tiling.axes
    if axes.row_count is not None:
        return
    least = cost.TILES_TO_PACK_A_PANEL * tiling.tile.rows // axes.step
    few = dispatch(schedule, nest, nest.columns, nest.rows, least)
    low = replace(tiling, heights=tiling.heights[1:] or tiling.heights, blocks=RowBlocks(), has_few_rows=True)
    if axes.has_known_columns:
        _tile_columns(schedule, few, low)
        return
    *higher, last = low.heights
    for height in higher:
        rest = part(schedule, few, few.rows, height // axes.step)
        _tile_columns(schedule, few, replace(low, heights=[height]))
        few = rest
    wide = replace(tiling.tile, rows=last, vectors=cost.MAX_VECTORS)
    if wide.fits(tiling.registers):
        rest = part(schedule, few, few.columns, wide.columns)
        _tile_columns(schedule, few, replace(low, tile=wide, heights=[last]))
        few = rest
    _tile_columns(schedule, few, replace(low, heights=[last]))


def _tile_columns(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    """Tile a nest whose columns are one loop, in parts for the rows that fill tiles of each height."""
    axes, tile = tiling.axes, tiling.tile
    is_packed = tiling.is_packed and axes.has_known_columns
    by_panel = is_packed and axes.packs_panels(tile) and not tiling.blocks.tiles
    if by_panel and can_follow(schedule, nest.block, [nest.rows]):
        if axes.is_unit_stride:
            _tile_few_rows(schedule, nest, tiling)
        _tile_panels(schedule, nest, tiling)
        return
    panels, columns = schedule.split(nest.columns, [None, tile.columns])
    nest = replace(nest, panels=panels, columns=columns)
    if tiling.is_packed and not axes.has_known_columns and not axes.is_unit_stride:
        # The columns would be packed again for rows that are left over: these stay as they are.
        height, *lower = tiling.heights
        if lower:
            part(schedule, nest, nest.rows, height // axes.step)
        _tile_nest(schedule, nest, replace(tiling, tile=replace(tile, rows=height), blocks=RowBlocks()))
        return
    if is_packed:
        pack_columns(schedule, nest.block, axes, tile, tiling.processor)
    *first, last = tiling.heights
    for height in first:
        rest = part(schedule, nest, nest.rows, height // axes.step * max(1, tiling.blocks.tiles))
        _tile_nest(schedule, nest, replace(tiling, tile=replace(tile, rows=height)))
        tiling, nest = replace(tiling, blocks=RowBlocks()), rest
    _tile_nest(schedule, nest, replace(tiling, tile=replace(tile, rows=last)))


def _tile_panels(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    """Tile a nest panel by panel: each is packed, and used by all rows before the next one."""
    axes = tiling.axes
    together = axes.panels_together(tiling.tile, tiling.processor)
    sizes = [None, together, tiling.tile.columns] if together > 1 else [None, tiling.tile.columns]
    groups, *panels, columns = schedule.split(nest.columns, sizes)
    nest = replace(nest, panels=panels[0] if panels else groups, columns=columns)
    schedule.reorder(*nest.outer, groups, *panels, nest.rows, *nest.terms, *nest.inside, nest.columns)
    if tiling.blocks.stride:
        copy_rows(schedule, nest.block, nest.outer, axes, tiling.tile, tiling.blocks.stride)
    move_consumer(schedule, nest.block, nest.panels)
    schedule.compact_buffer(nest.block, 0)
    pack_panels(schedule, nest.block, axes, tiling.tile, tiling.processor, groups, together)
    for rows, height in parts(schedule, nest, lambda nest: nest.rows, tiling.heights, axes.step):
        _tile_in_panel(schedule, rows, replace(tiling, tile=replace(tiling.tile, rows=height)))


def _tile_in_panel(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    axes, tile = tiling.axes, tiling.tile
    row_tile, row = schedule.split(nest.rows, [None, tile.rows // axes.step])
    schedule.reorder(row_tile, *nest.terms, row, *nest.inside, nest.columns)
    epilogue = move_consumer(schedule, nest.block, row_tile)
    schedule.compact_buffer(nest.block, 0)
    users = [epilogue, *move_followers(schedule, nest.followers, row_tile)]
    if tiling.by is None:
        users.append(schedule.decompose_reduction(nest.block, nest.terms[0]))
    for user in users:
        _use_registers(schedule, user, nest, row_tile, tiling)
    _compute_sums(schedule, replace(nest, rows=row), [nest.block], row_tile, tiling)


def _tile_nest(schedule: Schedule, nest: _Nest, tiling: Tiling) -> None:
    """Tile a nest; the height of the tile divides its rows."""
    axes, tile = tiling.axes, tiling.tile
    height = tile.rows // axes.step
    sizes = [None, tiling.blocks.tiles, height] if tiling.blocks.tiles else [None, height]
    *blocks, row_tile, row = schedule.split(nest.rows, sizes)
    panels, *inner = [nest.panels]
    if (at_once := tiling.panels_at_once) > 1:
        panels, *inner = schedule.split(nest.panels, [None, at_once])
    outer = [*nest.outer, *blocks]
    nest, partial = _in_partial_sums(schedule, nest, tiling)
    terms = nest.terms if partial is None else [*nest.terms, partial]
    schedule.reorder(*outer, panels, row_tile, *terms, row, *nest.inside, *inner, nest.columns)
    if tiling.blocks.stride:
        copy_rows(schedule, nest.block, outer, axes, tile, tiling.blocks.stride)
    if tiling.is_packed and not axes.has_known_columns and not axes.is_unit_stride:
        pack_panels(schedule, nest.block, axes, tile, tiling.processor, panels)
    epilogue = move_consumer(schedule, nest.block, row_tile)
    schedule.compact_buffer(nest.block, 0)
    if not axes.is_stored_in_vectors:
        put_columns_last(schedule, nest.block, axes.output_dimension)
    put_columns_inside(schedule, nest.block, epilogue, row_tile)
    if tiling.is_packed and not axes.has_full_panels(tile):
        schedule.unguard(nest.block)
    added = nest.block if partial is None else schedule.rfactor(nest.block, partial, nest.terms[0])
    users = [epilogue, *move_followers(schedule, nest.followers, row_tile)]
    if tiling.by is None:
        loops = schedule.get_loops(nest.block)
        users.append(schedule.decompose_reduction(nest.block, loops[loops.index(row_tile) + 1]))
    for user in users:
        _use_registers(schedule, user, nest, row_tile, tiling)
    # Partial sums are initialized, computed and added up.
    users = (added,) if partial is None else (Block(added.func, f"{added.name}_init"), added, nest.block)
    if tiling.by is None:
        _prefetch(schedule, added, nest.terms, tiling)
    _compute_sums(schedule, replace(nest, block=added, rows=row), users, row_tile, tiling)


def _compute_sums(schedule: Schedule, nest: _Nest, users: Sequence[Block], row_tile: Loop, tiling: Tiling) -> None:
    """Let blocks compute the sums of a tile in vector registers, or in tiles of a matrix unit."""
    if tiling.by is None:
        for user in users:
            _use_registers(schedule, user, nest, row_tile, tiling)
        skip_padding(schedule, nest.block)
        return
    multiply_tiles(schedule, nest.terms, [nest.rows, *nest.inside], nest.columns, tiling.by)


def _in_partial_sums(schedule: Schedule, nest: _Nest, tiling: Tiling) -> tuple[_Nest, Loop | None]:
    """Divide the terms of sums of a low tile among partial sums, enough of them to keep the units busy, if the sums go
    over several loops, as in convolutions, and may be added up in any order. Return the loop over the partial
    sums as well, None if there are none."""
    count = tiling.partial_sums
    if count == 1 or len(nest.terms) == 1 or order_matters(schedule.block_op(nest.block)):
        return nest, None
    extents = [schedule.loop_op(loop).extent for loop in nest.terms]
    *_, last = (-1, *(i for i, extent in enumerate(extents) if isinstance(extent, int) and extent % count == 0))
    if last < 0:
        return nest, None
    step, partial = schedule.split(nest.terms[last], [None, count])
    return replace(nest, terms=[*nest.terms[:last], step, *nest.terms[last + 1 :]]), partial


def _prefetch(schedule: Schedule, block: Block, terms: Sequence[Loop], tiling: Tiling) -> None:
    """Prefetch the packed operand of the columns where the first of the tiles that use a panel would have to wait for
    it: it does not fit into the second-level cache, or other functions have left little of it there."""
    axes, tile, processor = tiling.axes, tiling.tile, tiling.processor
    size, row = bytes_of(axes.right.buffer) or 0, tile.columns * axes.reduction.bits // 8
    least = cost.L2_SIZES_TO_PREFETCH if axes.has_constant_columns else 1
    if not (tiling.is_packed or axes.has_constant_columns) or size < least * processor.l2_bytes:
        return
    if tile.rows < cost.MIN_ROWS_TO_PREFETCH or row < processor.line_bytes:
        return
    op, index = schedule.block_op(block), buffers_read(axes.reduction.block).index(axes.right.buffer)
    reads = block_accesses(op, buffers_read(op)[index])
    along = [loop for loop in terms if any(uses(access, schedule.loop_op(loop)) for access in reads)]
    for innermost in along[-1:]:
        schedule.prefetch(block, index, innermost, cost.PREFETCHED_BYTES // row)


def _use_registers(schedule: Schedule, block: Block, nest: _Nest, tile_loop: Loop, tiling: Tiling) -> None:
    """Let a block process a tile of a nest's results in vectors, all of them at constant places. One that looks up
    bytes does so for as many columns at once as are a power of two, which takes as long as for few of them; of vectors
    of other lengths LLVM would look up one byte after the other."""
    loops = schedule.get_loops(block)
    inside = [loop for loop in loops[loops.index(tile_loop) + 1 :] if loop not in nest.terms]
    if not inside:
        return  # It consumes a single result.
    *rows, columns = inside
    tile = tiling.tile
    lanes = tile.columns & -tile.columns if looks_up_bytes(schedule.block_op(block)) else tile.lanes
    if schedule.loop_op(columns).extent != lanes:
        vectors, columns = schedule.split(columns, [None, lanes])
        rows.append(vectors)
    if tiling.by is None:  # Otherwise the sums are in memory.
        unroll_in_tile(schedule, block, rows, nest.block)
    schedule.vectorize(columns)
