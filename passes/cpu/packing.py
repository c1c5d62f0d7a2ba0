"""Operands of a matrix product that are copied into the order in which tiles read them."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.index.expr import Index, terms_of, values_in
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.loop_tree import loops_of
from relex.passes.cpu import cost
from relex.passes.cpu.caches import lines_in_a_set
from relex.passes.cpu.reduction_axes import ReductionAxes
from relex.passes.cpu.reduction_nest import block_named, count, element_written, named
from relex.passes.cpu.register_tiles import Tile
from relex.passes.schedule import Block, Loop, Schedule


def pack_columns(schedule: Schedule, block: Block, axes: ReductionAxes, tile: Tile, processor: Processor) -> None:
    """Pack the operand of the columns into panels as wide as a tile, their columns innermost, with vector stores for
    full panels. Elements that terms read at a distance, as in transposed convolutions, become contiguous."""
    copy = _copied(schedule, block, axes)
    dimension, rank = axes.dimension, len(axes.right.element)
    assert dimension is not None
    indices = list(map(AffineExpr.dimension, range(rank)))
    split = indices.pop(dimension)
    phases = _phases(axes)
    first = [index % phases[index] for index in indices if index in phases]
    inside = [index // phases[index] if index in phases else index for index in indices]
    layout = AffineMap(rank, 0, (*first, split // tile.columns, *inside, split % tile.columns))
    schedule.transform_layout(copy, ("write", 0), layout)
    loops = schedule.get_loops(copy)
    column = loops.pop(dimension)
    # `rewrite-layout` computes one copy at compile time, not one in parts.
    if not axes.has_full_panels(tile) and not axes.has_constant_columns:
        if axes.column_count < tile.columns:
            _pack_partly(schedule, copy, dimension, axes, tile)
            return
        (rest,) = schedule.partition([column], tile.columns)
        _pack_partly(schedule, rest, dimension, axes, tile)
    panel, column = schedule.split(column, [None, tile.columns])
    if axes.is_packed_in_squares(tile, processor):
        _in_squares(schedule, [panel, *loops], loops[-1], column, tile.lanes)
        return
    inner: list[Loop] = []
    if axes.is_unit_stride and not axes.has_constant_columns:
        together = _panels_together(axes, tile, processor)
        panel, *inner = schedule.split(panel, [None, together]) if together > 1 else [panel]
    schedule.reorder(panel, *loops, *inner, column)
    if axes.has_full_panels(tile) or not axes.has_constant_columns:
        schedule.vectorize(column)


def _copied(schedule: Schedule, block: Block, axes: ReductionAxes) -> Block:
    """Let a block read a copy of the operand of the columns. One that the function computes element by element is
    computed into the copy."""
    copy = schedule.cache_read(block, buffers_read(axes.reduction.block).index(axes.right.buffer))
    if axes.producer is not None:
        schedule.compute_inline(block_named(axes.producer))
    return copy


def _pack_partly(schedule: Schedule, copy: Block, dimension: int, axes: ReductionAxes, tile: Tile) -> None:
    """Pack columns that do not fill a panel, and zeros in place of the others: tiles multiply them as well, which may
    take a hundred times as long for what is left in the memory."""
    loops = schedule.get_loops(copy)
    panel, column = schedule.split(loops.pop(dimension), [None, tile.columns])
    schedule.zero_fill(copy)
    schedule.reorder(panel, *loops, column)
    if axes.is_unit_stride:
        schedule.vectorize(column)


def _panels_together(axes: ReductionAxes, tile: Tile, processor: Processor) -> int:
    """Return the number of full panels of contiguous columns that are packed at the same time: all of them if their
    number has no suitable divisor, and the lines that they are written to do not evict each other."""
    panels, terms = axes.column_count // tile.columns, count(axes.reduction.terms, cost.LIKELY_EXTENT)
    distance = terms * tile.columns * axes.reduction.bits // 8
    together = gcd(panels, cost.PANELS_TOGETHER)
    is_free = lines_in_a_set(panels, distance, processor) <= processor.l1_ways // 2
    return panels if together == 1 and is_free else together


def _phases(axes: ReductionAxes) -> dict[AffineExpr, int]:
    """Return the dimensions of the operand of the columns of which terms read every n-th element, with these n if they
    divide the size."""
    steps = (_step(index, axes.reduction.terms) for index in axes.right.element)
    found = enumerate(zip(steps, axes.right.shape, strict=True))
    return {AffineExpr.dimension(i): n for i, (n, size) in found if n > 1 and size != DYNAMIC_INDEX and size % n == 0}


def _step(index: Index, terms: Sequence[ForOp]) -> int:
    """Return the distance of the elements that terms read in a dimension; 0 if it is the same one."""
    factors = terms_of(index)
    return gcd(*(factors.get(loop.variable, 0) for loop in terms))


def pack_panels(
    schedule: Schedule,
    block: Block,
    axes: ReductionAxes,
    tile: Tile,
    processor: Processor,
    panels: Loop,
    together: int = 1,
) -> None:
    """Pack the columns of a panel, or of several together, in a loop. As many columns are read at the same time as a
    set of the first-level cache has lines of, since they may be any distance apart, or as many as a square that is
    transposed in registers has."""
    copy = _copied(schedule, block, axes)
    schedule.compute_at(copy, panels)
    schedule.compact_buffer(copy, 0)
    dimension, rank = axes.dimension, len(axes.right.element)
    assert dimension is not None
    op = schedule.block_op(copy)
    (column,) = _along(op, dimension)
    terms = _along(op, rank - 1)
    indices = list(map(AffineExpr.dimension, range(rank)))
    place = indices.pop(dimension)
    width = tile.columns
    split = (place // width, *indices, place % width) if together > 1 else (*indices, place)
    schedule.transform_layout(copy, ("write", 0), AffineMap(rank, 0, split))
    loops = schedule.get_loops(copy)
    inner = [loop for loop in loops[loops.index(panels) + 1 :] if loop != column]
    if together > 1:
        panel, column = schedule.split(column, [None, width])
        inner.append(panel)
    # Nests that follow in the same loop read the copy: terms that fill no square cannot be copied after all others.
    if axes.is_packed_in_squares(tile, processor) and count([schedule.loop_op(terms[0])]) % tile.lanes == 0:
        _in_squares(schedule, inner, terms[0], column, tile.lanes)
        return
    if not axes.is_unit_stride:
        outer, column = schedule.split(column, [None, gcd(tile.columns, processor.l1_ways)])
        inner = [outer, *inner]
    schedule.reorder(*inner, column)
    schedule.vectorize(column)


def _along(block: BlockOp, dimension: int) -> list[Loop]:
    """Return the loops that index a dimension of what a block writes."""
    inside = set(values_in(element_written(block)[dimension]))
    return [named(loop) for loop in loops_of(block) if loop.variable in inside]


def _in_squares(schedule: Schedule, inner: Sequence[Loop], terms: Loop, column: Loop, lanes: int) -> None:
    """Order the loops of a copy so that it transposes squares of elements in registers. Terms that fill none are copied
    one by one."""
    if count([schedule.loop_op(terms)]) % lanes:
        schedule.partition([terms], lanes)
    square, term = schedule.split(terms, [None, lanes])
    group, lane = schedule.split(column, [None, lanes])
    schedule.reorder(*(loop for loop in inner if loop != terms), group, square, term, lane)
    schedule.vectorize(lane)


def copy_rows(
    schedule: Schedule, block: Block, outer: Sequence[Loop], axes: ReductionAxes, tile: Tile, stride: int
) -> None:
    """Copy the rows of the left operand, in the innermost of some loops if there are any, to a distance from each other
    at which the first-level cache holds a line of each."""
    left = axes.left
    assert left is not None
    copy = schedule.cache_read(block, buffers_read(axes.reduction.block).index(left.buffer))
    if outer:
        schedule.compute_at(copy, outer[-1])
        schedule.compact_buffer(copy, 0)
    rank = len(left.element)
    row, term = AffineExpr.dimension(axes.left_dimension), AffineExpr.dimension(rank - 1)
    schedule.transform_layout(copy, ("write", 0), AffineMap(rank, 0, (row, term % stride)))
    length = gcd(count(axes.reduction.terms), cost.MAX_COPIED_AT_ONCE)
    if length >= tile.lanes:
        _, terms = schedule.split(schedule.get_loops(copy)[-1], [None, length])
        schedule.vectorize(terms)
