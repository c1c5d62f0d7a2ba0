"""Products with weights in bytes, whose sums are scaled and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.errors import CompileError, fail
from relex.dialects.index.expr import IndexExpr
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.buffers import buffers_read, buffers_written
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import loops_of, name_of_block
from relex.passes.analysis.scaled_sums import bytes_of_weights, scaling_block
from relex.passes.cpu import cost, reduction_nest
from relex.passes.cpu.register_tiles import heights_of_rows
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.steps import loop_of_reader, move_consumer
from relex.passes.schedule import Block, Loop, Schedule


@dataclass(frozen=True)
class ScaledSums:
    """A reduction `inner`, and the only one that reads its results, `outer`, both along the same columns."""

    inner: reduction_nest.ReductionNest
    outer: reduction_nest.ReductionNest
    rows: ForOp | None
    columns: ForOp
    lanes: int
    vectors: int
    heights: Sequence[int]

    @classmethod
    def of(cls, block: BlockOp, processor: Processor) -> ScaledSums:
        """Return a block as the inner one of such reductions; fail if it is none."""
        inner = reduction_nest.ReductionNest.of(block)
        reader = scaling_block(block)
        outer = reduction_nest.ReductionNest.of(reader)
        columns = outer.columns()
        if inner.written[-1] != IndexExpr.of(inner.columns().variable) or inner.columns().extent != columns.extent:
            fail(block, f"expected {name_of_block(block)} and {name_of_block(reader)} to have the same columns")
        reduction_nest.check_at_least(
            block, cost.MIN_STEPS, reduction_nest.count([*inner.spatial, *inner.terms]), "steps"
        )
        lanes = processor.lanes(inner.bits)
        extent = columns.extent
        if not isinstance(extent, int) or extent % lanes:
            fail(block, f"expected a multiple of {lanes} columns")
        vectors = 1 if extent % (cost.VECTORS_OF_SCALED_SUMS * lanes) else cost.VECTORS_OF_SCALED_SUMS
        most = (processor.vector_registers - cost.REGISTERS_TO_UNPACK) // vectors
        others = [loop for loop in reversed(outer.spatial) if loop is not columns]
        rows = max(others, key=lambda loop: reduction_nest.count([loop]), default=None)
        return cls(inner, outer, rows, columns, lanes, vectors, heights_of_rows(rows, most))

    @property
    def loops(self) -> Sequence[ForOp]:
        """The loops of the outer reduction, outermost first."""
        return loops_of(self.outer.block)

    @property
    def width(self) -> int:
        """The number of columns of a tile."""
        return self.lanes * self.vectors


def scaled_sums(block: BlockOp, processor: Processor) -> Plan:
    """Compute sums of products with bytes, which are unpacked in registers, for neighbouring columns at the same time;
    scale them, and add them up, while they are in registers. The bytes are packed: bytes of neighbouring columns are
    side by side, and all bytes of a tile come one after the other.

    ```mlir
    tir.for %i, %b, %j, %k in (4, 128, 4096, 32) {
      ... // total[i, b, j] += x[i, 32 b + k] * w[j, 32 b + k]
    }
    tir.for %i, %j, %b in (4, 4096, 128) {
      ... // y[i, j] += scale[j, b] * total[i, b, j]
    }
    // scaled-sums
    tir.for %panel, %b in (128, 128) {
      %sums = tir.alloc_buffer : memref<4x1x32xf32>
      tir.for %k, unrolled %i, unrolled %vector, vectorized %lane in (32, 4, 2, 16) {
        ... // sums[i, 0, 16 vector + lane] += x[i, 32 b + k] * w_local[panel, 32 b + k, 16 vector + lane]
      }
      tir.for unrolled %i, unrolled %vector, vectorized %lane in (4, 2, 16) {
        ... // y_local[i, 16 vector + lane] += scale_local[panel, b, 16 vector + lane] * sums[i, 0, 16 vector + lane]
      }
    }
    ```
    """
    sums = ScaledSums.of(block, processor)
    summary = (
        f"{' and '.join(map(str, sums.heights))} by {sums.vectors} vectors of {sums.lanes} elements, of packed bytes"
    )
    return Plan(summary, lambda schedule: _schedule(schedule, sums))


def _schedule(schedule: Schedule, sums: ScaledSums) -> None:
    inner, outer = reduction_nest.block_named(sums.inner.block), reduction_nest.block_named(sums.outer.block)
    _pack_bytes(schedule, inner, sums.width)
    *first, last = sums.heights
    for height in first:
        rest = _divided(schedule, sums, inner, outer, height)
        _tile(schedule, sums, inner, outer, height)
        inner, outer = rest
    _tile(schedule, sums, inner, outer, last)


def _divided(schedule: Schedule, sums: ScaledSums, inner: Block, outer: Block, height: int) -> tuple[Block, Block]:
    """Let the nests, and the one that reads their results, run for as many rows as are a multiple of a height. Return
    the nests for the other rows."""
    assert sums.rows is not None
    row = schedule.get_loops(outer)[sums.loops.index(sums.rows)]
    try:
        reader = loop_of_reader(schedule, outer, row)
    except CompileError:
        schedule.cache_write(outer, 0)
        reader = loop_of_reader(schedule, outer, row)
    first, second, *_ = schedule.partition([loop_of_row(schedule, inner, outer, row), row, reader], height)
    return first, second


def loop_of_row(schedule: Schedule, inner: Block, outer: Block, row: Loop) -> Loop:
    """Return the loop of a block that computes the rows that a loop of its reader reads."""
    op, reader = schedule.block_op(inner), schedule.block_op(outer)
    (buffer,) = buffers_written(op)
    variable = schedule.loop_op(row).variable
    (read,) = (access.element for access in block_accesses(reader, buffer))
    place = read.index(IndexExpr.of(variable))
    written = reduction_nest.element_written(op)[place]
    return next(reduction_nest.named(loop) for loop in loops_of(op) if IndexExpr.of(loop.variable) == written)


def _tile(schedule: Schedule, sums: ScaledSums, inner: Block, outer: Block, height: int) -> None:
    # Not before the nests are divided, which must follow each other.
    _pack_bytes(schedule, outer, sums.width)
    loops = dict(zip(sums.loops, schedule.get_loops(outer), strict=True))
    panel, vector, lane = schedule.split(loops[sums.columns], [None, sums.vectors, sums.lanes])
    rows = [loops[loop] for loop in sums.outer.spatial if loop not in (sums.columns, sums.rows)]
    row: list[Loop] = []
    if sums.rows is not None:
        tile, *row = schedule.split(loops[sums.rows], [None, height])
        rows.append(tile)
    terms = [loops[loop] for loop in sums.outer.terms]
    schedule.reorder(panel, *rows, *terms, *row, vector, lane)
    around = [panel, *rows, *terms]
    schedule.compute_at(inner, terms[-1])
    inside = [loop for loop in schedule.get_loops(inner) if loop not in around]
    numbers = inside[-len(sums.inner.terms) :]
    *others, column = inside[: -len(numbers)]
    serial = max(numbers, key=lambda loop: reduction_nest.count([schedule.loop_op(loop)]))
    schedule.reorder(serial, *(loop for loop in numbers if loop != serial), *others, column)
    schedule.compact_buffer(inner, 0)
    init = schedule.decompose_reduction(inner, serial)
    follower = move_consumer(schedule, outer, (panel, *rows)[-1])
    schedule.compact_buffer(outer, 0)
    first = schedule.decompose_reduction(outer, terms[0])
    for block in (inner, init, outer, first, follower):
        *loops_inside, column = [loop for loop in schedule.get_loops(block) if loop not in (*around, serial)]
        if column != lane:
            vectors, column = schedule.split(column, [None, sums.lanes])
            loops_inside.append(vectors)
        schedule.vectorize(column)
        for loop in loops_inside:
            schedule.unroll(loop)


def _pack_bytes(schedule: Schedule, block: Block, width: int) -> None:
    """Bring the bytes of neighbouring columns, of a tile of some width, side by side."""
    op = schedule.block_op(block)
    copy = schedule.cache_read(block, buffers_read(op).index(bytes_of_weights(op)))
    column, place = AffineExpr.dimension(0), AffineExpr.dimension(1)
    schedule.transform_layout(copy, ("write", 0), AffineMap(2, 0, (column // width, place, column % width)))
    columns, places = schedule.get_loops(copy)
    panel, lane = schedule.split(columns, [None, width])
    schedule.reorder(panel, places, lane)
    schedule.vectorize(lane)
