"""Reductions of few terms, such as a window of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from relex.dialects.errors import fail
from relex.dialects.index.expr import terms_of, values_in
from relex.dialects.target.processors import Processor
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.loop_tree import guard_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import (
    ReductionNest,
    block_named,
    check_at_least,
    count,
    is_side_by_side,
    named,
    uses,
)
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.rules.extremes import is_extreme_without_instruction
from relex.passes.cpu.steps import Nest, move_consumer, parts
from relex.passes.schedule import Loop, Schedule


def stencil(block: BlockOp, processor: Processor) -> Plan:
    """Compute each result from all of its terms, in registers, before going on to the next: the code has a copy of the
    block for each term. Neighbouring results are in a vector, with a mask at the end of a row, if what they read is
    contiguous as well; otherwise, as with strides, LLVM vectorizes them. Each sum keeps its order.

    Where neighbouring rows have vectors of an operand in common, as the weights of a convolution of each channel in
    blocks of channels, some rows are computed together, a line of the window at a time: each of these vectors is loaded
    once for all of the rows, and so are vectors of data that their windows share. Where their windows share data alone,
    some rows are computed together if all that they have in common stays in registers.

    ```mlir
    tir.for %y, %x, %r, %s in (14, 14, 3, 3) {
      ... // b[y, x] += a[y + r, x + s] * w[r, s]
    }
    // stencil
    tir.for %y, %x in (14, 1) {
      %sums = tir.alloc_buffer : memref<8xf32>
      tir.for unrolled %r, unrolled %s, vectorized %lane in (3, 3, 8) {
        ... // sums[lane] += a[y + r, 8 x + lane + s] * w[r, s]
      }
      ... // b[y, 8 x + lane] = sums[lane]
    }
    ... // the last 6 columns, in vectors of 4 and 2
    ```
    """
    reduction = ReductionNest.of(block)
    loop = reduction.columns()
    check_at_least(block, cost.MIN_STEPS, count([*reduction.spatial, *reduction.terms]), "steps")
    tile = _tile(reduction, loop, processor)
    if (at_once := count(tile.terms)) > cost.MAX_COPIES:
        fail(block, f"expected {cost.MAX_COPIES} terms or less, found {at_once}")
    as_integers = is_extreme_without_instruction(block, processor)
    if not as_integers:
        check_at_least(block, cost.MIN_TERMS_OF_COLUMNS, count(reduction.terms), "terms")
    read = [access for access in reduction.reads if uses(access, loop)]
    rows = max(count([term for term in reduction.terms if _is_across(access, term, reduction.bits)]) for access in read)
    if rows > cost.MAX_TERMS_AT_ONCE:
        fail(block, f"expected {cost.MAX_TERMS_AT_ONCE} rows or less that are read at the same time, found {rows}")
    check_at_least(block, cost.MIN_COLUMNS_OF_A_STENCIL, count([loop]), "columns")
    # Vectors with a mask would load other elements than those side by side one by one.
    has_masks = processor.stores_parts and all(is_side_by_side(access, loop) for access in read)
    vectors = _vectors(loop, processor.lanes(reduction.bits), has_masks=has_masks)
    together = f" of {' and '.join(map(str, tile.heights))} rows" if tile.heights != (1,) else ""
    summary = f"{at_once} terms{together} at a time, in vectors of {' and '.join(map(str, vectors))} elements"
    return Plan(summary, lambda schedule: _schedule(schedule, reduction, loop, vectors, tile, as_integers))


@dataclass(frozen=True)
class _Tile:
    """Rows of results that are computed together, the innermost terms of each at a time."""

    terms: Sequence[ForOp]
    """These terms."""
    heights: Sequence[int] = (1,)
    """The numbers of rows in a tile: in all of them, or in all but the last one, and in the last one."""
    goes_down: bool = False
    """Whether rows have vectors of an operand in common: then all of them come before the next columns."""


@dataclass(frozen=True)
class _Nest(Nest):
    """A block, and the loops around it by their role."""

    outer: Sequence[Loop]
    columns: Loop
    terms: Sequence[Loop]


def _is_across(access: Access, loop: ForOp, bits: int) -> bool:
    """Return whether a loop goes from row to row of an operand, where rows are far apart."""
    shape = access.shape
    steps = (prod(shape[d + 1 :]) for d, form in enumerate(access.element) if loop.variable in values_in(form))
    return any(step < 0 or step * bits // 8 >= cost.FAR_APART for step in steps)


def _tile(reduction: ReductionNest, columns: ForOp, processor: Processor) -> _Tile:
    """Return the tile for a reduction: several rows if they have vectors of an operand in common, such as the weights
    of some channels, or if their windows overlap."""
    rows = [loop for loop in reduction.spatial if loop is not columns][-1:]
    goes_down = any(uses(access, columns) and not uses(access, row) for access in reduction.reads for row in rows)
    terms = reduction.terms
    if not goes_down and not any(_overlap(access, row, terms) for access in reduction.reads for row in rows):
        return _Tile(terms)
    (row,) = rows
    line = next((terms[i:] for i in reversed(range(len(terms))) if count(terms[i:]) > 1), terms)
    if goes_down:
        # A tile has a sum and a vector of data for each row.
        most = min(cost.MAX_COPIES // count(line), (processor.vector_registers - 2) // 2)
    else:
        # It has the weights, a sum for each row, a line of data that each row but the last passes to the next, and a
        # vector more.
        has_weights = any(not uses(access, columns) for access in reduction.reads)
        free = processor.vector_registers - has_weights * count(terms) + count(line) - 1
        most = min(cost.MAX_COPIES_OF_OVERLAPPING_ROWS // count(terms), free // (1 + count(line)))
    if not isinstance(row.extent, int) or most < 2:
        return _Tile(terms, goes_down=goes_down)
    return _Tile(line if goes_down else terms, _heights(row.extent, most), goes_down)


def _overlap(access: Access, row: ForOp, terms: Sequence[ForOp]) -> bool:
    """Return whether neighbouring rows read common elements: a window is longer than the step from row to row."""
    for form in access.element:
        factors = terms_of(form)
        window = sum(abs(factors.get(term.variable, 0)) * (count([term]) - 1) for term in terms)
        if 0 < abs(factors.get(row.variable, 0)) <= window:
            return True
    return False


def _heights(rows: int, most: int) -> Sequence[int]:
    """Return the heights of tiles for some rows: a divisor of their number, or nearly equal parts of it."""
    best = max(height for height in range(1, most + 1) if rows % height == 0)
    if 2 * best > min(most, rows):
        return (best,)
    height = -(-rows // -(-rows // most))
    return (height, rows % height)


def _vectors(loop: ForOp, lanes: int, *, has_masks: bool) -> list[int]:
    """Return the lengths of vectors, longest first, that together fill a row without a mask. If the length of the row
    is only known at run time, all vectors may have a mask, which is less code."""
    if not isinstance(loop.extent, int):
        return [lanes] if has_masks else [lanes, 1]
    lengths = [lanes >> i for i in range(lanes.bit_length())]
    return [length for length in lengths if (loop.extent >= length if length == lanes else loop.extent & length)]


def _schedule(
    schedule: Schedule, reduction: ReductionNest, loop: ForOp, vectors: Sequence[int], tile: _Tile, as_integers: bool
) -> None:
    block = block_named(reduction.block)
    outer = [named(other) for other in reduction.spatial if other is not loop]
    if as_integers:
        if not isinstance(reduction.result.owner, AllocBufferOp):
            schedule.cache_write(block, 0)
        schedule.order_as_integers(block)
    whole = _Nest(block, outer, named(loop), list(map(named, reduction.terms)))
    for columns, lanes in parts(schedule, whole, lambda nest: nest.columns, vectors):
        for rows, height in parts(schedule, columns, lambda nest: nest.outer[-1], tile.heights):
            _schedule_part(schedule, rows, lanes, height, tile)


def _schedule_part(schedule: Schedule, nest: _Nest, lanes: int, height: int, tile: _Tile) -> None:
    vector, lane = schedule.split(nest.columns, [None, lanes])
    outer, rows = list(nest.outer), list[Loop]()
    if height > 1:
        outer[-1], *rows = schedule.split(outer[-1], [None, height])
    around = [*outer[:-1], vector, outer[-1]] if tile.goes_down else [*outer, vector]
    schedule.reorder(*around, *nest.terms, *rows, lane)
    consumer = move_consumer(schedule, nest.block, around[-1])
    schedule.compact_buffer(nest.block, 0)
    init = schedule.decompose_reduction(nest.block, nest.terms[0])
    if guard_of(schedule.block_op(init)) is not None:
        schedule.unguard(init)  # Otherwise, each vector waits for those before it, whose lanes it would keep.
    for term in nest.terms[-len(tile.terms) :]:
        schedule.unroll(term)
    for user in (init, nest.block, consumer):
        *_, inner = loops = schedule.get_loops(user)
        if rows:
            schedule.unroll(loops[-2])
        schedule.vectorize(inner) if lanes > 1 else schedule.unroll(inner)
