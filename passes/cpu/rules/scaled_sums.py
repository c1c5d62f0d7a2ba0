"""Products with weights in bytes, whose sums are scaled and added up."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.index.expr import IndexExpr
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import ReductionNest, bits_of, block_named, check_at_least, count, named
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.steps import move_consumer, only_reader
from relex.passes.schedule import Loop, Schedule


@dataclass(frozen=True)
class ScaledSums:
    """A reduction `inner`, and the only one that reads its results, `outer`, both along the same columns."""

    inner: ReductionNest
    outer: ReductionNest
    rows: ForOp | None
    columns: ForOp
    lanes: int
    vectors: int
    height: int

    @classmethod
    def of(cls, block: BlockOp, processor: Processor) -> ScaledSums:
        """Return a block as the inner one of such reductions; fail if it is none."""
        inner = ReductionNest.of(block)
        check_one_of_bytes(block)
        reader = only_reader(block)
        if reader is None or reader.init is None:
            fail(block, f"expected one reduction that reads what {name_of_block(block)} computes")
        outer = ReductionNest.of(reader)
        check_one_of_bytes(reader)
        columns = outer.columns()
        if inner.written[-1] != IndexExpr.of(inner.columns().variable) or inner.columns().extent != columns.extent:
            fail(block, f"expected {name_of_block(block)} and {name_of_block(reader)} to have the same columns")
        check_at_least(block, cost.MIN_STEPS, count([*inner.spatial, *inner.terms]), "steps")
        lanes = processor.lanes(inner.bits)
        extent = columns.extent
        if not isinstance(extent, int) or extent % lanes:
            fail(block, f"expected a multiple of {lanes} columns")
        others = [loop for loop in outer.spatial if loop is not columns]
        rows = max(others, key=lambda loop: count([loop]), default=None)
        vectors = 1 if extent % (cost.VECTORS_OF_SCALED_SUMS * lanes) else cost.VECTORS_OF_SCALED_SUMS
        most = (processor.vector_registers - cost.REGISTERS_TO_UNPACK) // vectors
        height = max((n for n in range(1, most + 1) if count([rows]) % n == 0), default=1) if rows else 1
        return cls(inner, outer, rows, columns, lanes, vectors, height)

    @property
    def width(self) -> int:
        """The number of columns of a tile."""
        return self.lanes * self.vectors


def rank_of(buffer: SSAValue) -> int:
    """Return the number of dimensions of a buffer."""
    assert isa(buffer.type, MemRefType)
    return len(buffer.type.get_shape())


def check_one_of_bytes(block: BlockOp) -> None:
    """Fail unless a block reads one buffer of bytes, a matrix."""
    found = [buffer for buffer in buffers_read(block) if bits_of(buffer) == 8]
    if len(found) != 1 or rank_of(found[0]) != 2:
        fail(block, f"expected {name_of_block(block)} to read one matrix of bytes, found {len(found)} buffers of bytes")


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
    summary = f"{sums.height} by {sums.vectors} vectors of {sums.lanes} elements, of packed bytes"
    return Plan(summary, lambda schedule: _schedule(schedule, sums))


def _schedule(schedule: Schedule, sums: ScaledSums) -> None:
    inner, outer = block_named(sums.inner.block), block_named(sums.outer.block)
    for nest in (sums.inner, sums.outer):
        _pack_bytes(schedule, nest, sums.width)
    panel, vector, lane = schedule.split(named(sums.columns), [None, sums.vectors, sums.lanes])
    rows = [named(loop) for loop in sums.outer.spatial if loop not in (sums.columns, sums.rows)]
    row: list[Loop] = []
    if sums.rows is not None:
        tile, *row = schedule.split(named(sums.rows), [None, sums.height])
        rows.append(tile)
    terms = [named(loop) for loop in sums.outer.terms]
    schedule.reorder(panel, *rows, *terms, *row, vector, lane)
    around = [panel, *rows, *terms]
    schedule.compute_at(inner, terms[-1])
    inside = [loop for loop in schedule.get_loops(inner) if loop not in around]
    numbers = inside[-len(sums.inner.terms) :]
    *others, column = inside[: -len(numbers)]
    serial = max(numbers, key=lambda loop: count([schedule.loop_op(loop)]))
    schedule.reorder(serial, *(loop for loop in numbers if loop != serial), *others, column)
    schedule.compact_buffer(inner, 0)
    init = schedule.decompose_reduction(inner, serial)
    follower = move_consumer(schedule, outer, (panel, *rows)[-1])
    schedule.compact_buffer(outer, 0)
    first = schedule.decompose_reduction(outer, terms[0])
    for block in (inner, init, outer, first, follower):
        loops = [loop for loop in schedule.get_loops(block) if loop not in (*around, serial)]
        *loops, column = loops
        if column != lane:
            vectors, column = schedule.split(column, [None, sums.lanes])
            loops.append(vectors)
        schedule.vectorize(column)
        for loop in loops:
            schedule.unroll(loop)


def _pack_bytes(schedule: Schedule, nest: ReductionNest, width: int) -> None:
    """Bring the bytes of neighbouring columns, of a tile of some width, side by side."""
    buffers = buffers_read(nest.block)
    (index,) = (i for i, buffer in enumerate(buffers) if bits_of(buffer) == 8)
    copy = schedule.cache_read(block_named(nest.block), index)
    column, place = AffineExpr.dimension(0), AffineExpr.dimension(1)
    schedule.transform_layout(copy, ("write", 0), AffineMap(2, 0, (column // width, place, column % width)))
    columns, places = schedule.get_loops(copy)
    panel, lane = schedule.split(columns, [None, width])
    schedule.reorder(panel, places, lane)
    schedule.vectorize(lane)
