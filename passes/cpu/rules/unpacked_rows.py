"""Products with rows of a weight in bytes, which are unpacked in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i8
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.errors import fail
from relex.dialects.index.expr import depends_on, terms_of
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp, LoopKind
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.loop_tree import label_of, name_of_block
from relex.passes.analysis.scaled_sums import bytes_of_weights
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import (
    ReductionNest,
    block_named,
    bytes_of,
    check_at_least,
    count,
    divisors,
    is_side_by_side,
    named,
    uses,
)
from relex.passes.cpu.register_tiles import heights_of_rows
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.steps import Nest, move_consumer, parts, unroll_in_tile
from relex.passes.schedule import Block, Loop, Schedule


@dataclass(frozen=True)
class UnpackedRows:
    """A reduction whose terms are numbers in the bytes of a row of a weight for each of `columns`, and in rows of data.
    Along one of its loops, `along`, the bytes lie side by side; a vector has `lanes` of them."""

    reduction: ReductionNest
    columns: ForOp
    rows: ForOp | None
    along: ForOp
    data: Access
    lanes: int
    width: int
    together: int
    """Tiles of columns whose bytes stay in a cache, while all rows are multiplied with them."""

    heights: Sequence[int]

    @classmethod
    def of(cls, block: BlockOp, processor: Processor) -> UnpackedRows:
        """Return a block as such a reduction; fail if it is none."""
        weight, reduction = bytes_of_weights(block), ReductionNest.of(block)
        if get_element_type_or_self(weight.type) != i8:
            fail(block, f"expected {name_of_block(block)} to read a weight in bytes, found words")
        check_at_least(block, cost.MIN_STEPS, count([*reduction.spatial, *reduction.terms]), "steps")
        columns = reduction.columns()
        others = [access for access in reduction.reads if access.buffer is not weight]
        if len(others) != 1 or uses(others[0], columns):
            fail(
                block,
                f"expected {name_of_block(block)} to read one element besides the bytes, the same for all columns",
            )
        bytes_read = [access for access in reduction.reads if access.buffer is weight]
        along = max(
            (loop for loop in reduction.terms if _is_along(bytes_read, loop)),
            key=lambda loop: count([loop]),
            default=None,
        )
        if along is None:
            fail(block, f"expected a loop along which {name_of_block(block)} reads bytes side by side")
        lanes = max(n for n in divisors(along, processor.lanes(reduction.bits)) if n & (n - 1) == 0)
        check_at_least(block, cost.MIN_UNPACKED_LANES, lanes, "bytes side by side")
        width, known = max(divisors(columns, cost.UNPACKED_COLUMNS)), bytes_of(weight)
        nearby = processor.l2_bytes // cost.PARTS_OF_L2 * count([columns]) // known if known else 0
        together = max((n // width for n in divisors(columns, nearby) if n % width == 0), default=1)
        most = (processor.vector_registers - cost.REGISTERS_TO_UNPACK) // width
        rows = max(
            (loop for loop in reversed(reduction.spatial) if loop is not columns),
            key=lambda loop: count([loop]),
            default=None,
        )
        return cls(reduction, columns, rows, along, others[0], lanes, width, together, _heights(rows, most))

    @property
    def step(self) -> int:
        """The number of elements of data from one step along the bytes to the next. Fails if it is unknown."""
        *outer, last = self.data.element
        step = terms_of(last).get(self.along.variable, 0)
        if step < 1 or any(depends_on(form, self.along.variable) for form in outer):
            fail(self.reduction.block, f"expected data in steps along {label_of(self.along)}")
        return step


def _heights(rows: ForOp | None, most: int) -> list[int]:
    """Return the heights of tiles for some rows; each unpacks the bytes again."""
    if rows is None or isinstance(rows.extent, int):
        return heights_of_rows(rows, most)
    return [min(most, cost.LOW_ROWS[0]), *cost.LOW_ROWS[1:], 1]


def _is_along(accesses: Sequence[Access], loop: ForOp) -> bool:
    """Return whether something is read side by side along a loop, and all that varies along it."""
    found = [access for access in accesses if uses(access, loop)]
    return bool(found) and all(is_side_by_side(access, loop) for access in found)


def unpacked_rows(block: BlockOp, processor: Processor) -> Plan:
    """Multiply rows of data with rows of a weight in bytes, as they are: several bytes of a row become a vector of
    numbers in registers, which is multiplied with all rows of a tile. The sums of a tile are vectors, too; their
    elements are added up at the end. As many rows of the weight as fit into a part of the second-level cache are
    multiplied with all rows of data before the next ones.

    ```mlir
    tir.for %i, %j, %b, %k in (4, 4096, 128, 32) {
      ... // y[i, j] += x[i, 32 b + k] * (scale(w[j, 34 b]) * w[j, 34 b + 2 + k])
    }
    // unpacked-rows
    tir.for %j0 in (1024) {
      %sums = tir.alloc_buffer : memref<16x4x4xf32>
      tir.for %b, %k, unrolled %j1, unrolled %i, vectorized %lane in (128, 2, 4, 4, 16) {
        ... // sums[lane, i, j1] += x[i, 32 b + 16 k + lane] * (scale(...) * w[4 j0 + j1, 34 b + 2 + 16 k + lane])
      }
      tir.for unrolled %j1, unrolled %i, vectorized %lane in (4, 4, 16) {
        ... // y[i, 4 j0 + j1] += sums[lane, i, j1]
      }
    }
    ```
    """
    found = UnpackedRows.of(block, processor)
    step = found.step
    summary = f"{' and '.join(map(str, found.heights))} by {found.width}, in vectors of {found.lanes} elements"
    return Plan(summary, lambda schedule: _schedule(schedule, found, step))


@dataclass(frozen=True)
class _Nest(Nest):
    """The block, and the loops around it by their role."""

    outer: Sequence[Loop]
    rows: Loop
    columns: Loop
    terms: Sequence[Loop]
    along: Loop


def _schedule(schedule: Schedule, found: UnpackedRows, step: int) -> None:
    reduction, block = found.reduction, block_named(found.reduction.block)
    if step > 1:
        _order_data(schedule, block, found, step)
    outer = [named(loop) for loop in reduction.spatial if loop not in (found.rows, found.columns)]
    terms = [named(loop) for loop in reduction.terms if loop is not found.along]
    columns, along = named(found.columns), named(found.along)
    if found.rows is None:
        _tile(schedule, _Nest(block, outer, columns, columns, terms, along), found, None)
        return
    nest = _Nest(block, outer, named(found.rows), columns, terms, along)
    for part, height in parts(schedule, nest, lambda nest: nest.rows, found.heights):
        _tile(schedule, part, found, height)


def _order_data(schedule: Schedule, block: Block, found: UnpackedRows, step: int) -> None:
    """Copy data into an order in which the elements of a vector lie side by side."""
    copy = schedule.cache_read(block, buffers_read(found.reduction.block).index(found.data.buffer))
    *rows, place = map(AffineExpr.dimension, range(len(found.data.element)))
    size, rank = count([found.along]), len(rows) + 1
    schedule.transform_layout(copy, ("write", 0), AffineMap(rank, 0, (*rows, place // step, place % step)))
    rest = AffineExpr.dimension(rank)
    order = (*rows, place // size, rest, place % size)
    schedule.transform_layout(copy, ("write", 0), AffineMap(rank + 1, 0, order))


def _tile(schedule: Schedule, nest: _Nest, found: UnpackedRows, height: int | None) -> None:
    """Tile a nest; the height of the tile divides its rows, if it has any."""
    block = nest.block
    step, lane = schedule.split(nest.along, [None, found.lanes])
    panels, panel, column = schedule.split(nest.columns, [None, found.together, found.width])
    inner, outer, terms = [column], [*nest.outer, panels, panel], [*nest.terms, step]
    if height is not None:
        tile, row = schedule.split(nest.rows, [None, height])
        outer, inner = [*nest.outer, panels, tile, panel], [column, row]
    schedule.reorder(*outer, *terms, *inner, lane)
    epilogue = move_consumer(schedule, block, outer[-1])
    partial = schedule.rfactor(block, lane, terms[0])
    schedule.compact_buffer(block, 0)
    vectors = [Block(block.func, f"{partial.name}_init"), partial, block]
    init = schedule.decompose_reduction(block, schedule.get_loops(block)[-1])
    for part in vectors:
        schedule.vectorize(schedule.get_loops(part)[-1])
    for part in (*vectors, init, epilogue):
        loops = [loop for loop in schedule.get_loops(part) if loop not in (*outer, *terms)]
        serial = [loop for loop in loops if schedule.loop_op(loop).kind.data is LoopKind.SERIAL]
        unroll_in_tile(schedule, part, serial, partial if part in vectors else block)
    copies = found.width * (height or 1)
    for loop in reversed(terms[1:]):
        copies *= count([schedule.loop_op(loop)])
        if copies > cost.MAX_COPIES_OF_UNPACKED:
            break
        schedule.unroll(loop)
