"""Reductions with contiguous terms, such as dot products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, inf, lcm, prod

from xdsl.dialects import arith

from relex.dialects.errors import fail
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp, LoopKind
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffers import only_reader
from relex.passes.analysis.loop_tree import label_of, loops_of, name_of_block
from relex.passes.analysis.reduction_order import combiner_of
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_axes import has_constant_panels
from relex.passes.cpu.reduction_nest import (
    ReductionNest,
    block_named,
    bytes_of,
    check_at_least,
    count,
    divisors,
    named,
    uses,
)
from relex.passes.cpu.rule import Plan
from relex.passes.cpu.steps import move_reader, unroll_in_tile
from relex.passes.schedule import Block, Loop, Schedule


@dataclass(frozen=True)
class DotKernel:
    """A reduction whose terms are contiguous along `lanes`, the innermost of its loops."""

    reduction: ReductionNest
    lanes: ForOp
    processor: Processor

    @classmethod
    def of(cls, block: BlockOp, processor: Processor) -> DotKernel:
        """Return a block as such a reduction; fail if it is none."""
        reduction = ReductionNest.of(block)
        combiner_of(block)
        lanes = reduction.terms[-1]
        reduction.check_side_by_side(lanes)
        if not any(uses(access, lanes) for access in reduction.reads):
            fail(block, f"expected {name_of_block(block)} to read something along {label_of(lanes)}")
        return cls(reduction, lanes, processor)

    @property
    def length(self) -> int:
        """The number of terms in a vector."""
        return self.processor.lanes(self.reduction.bits)

    def check_worth_it(self) -> None:
        """Fail if there is too little work for vectors, or so much that it pays to pack the operands first."""
        block, reduction = self.reduction.block, self.reduction
        check_at_least(block, cost.MIN_VECTORS_OF_TERMS * self.length, count([self.lanes]), "terms")
        check_at_least(block, cost.MIN_STEPS, count([*reduction.spatial, *reduction.terms]), "steps")
        if has_constant_panels(block):
            fail(block, "expected operands that are no constants, which tiles get in their order at no cost")
        if self.least_uses >= cost.MIN_USES_FOR_TILES:
            fail(block, f"expected an operand whose elements are used less than {cost.MIN_USES_FOR_TILES} times")

    @property
    def least_uses(self) -> int:
        """The number of uses of each element of the operand that is reused least."""
        return min(map(self._uses_of, self.reduction.reads))

    def _uses_of(self, access: Access) -> int:
        return count([loop for loop in self.reduction.spatial if not uses(access, loop)])

    def tile(self) -> DotTile:
        """Return the number of results to compute at the same time, given the registers of a CPU."""
        registers = self.processor.vector_registers
        tiles = [tile for tile in self._tiles() if tile.sums + tile.streams < registers]
        if self.least_uses > 1 and all(tile.results == 1 for tile in tiles):
            # Rows of one operand, the one with more of them, may stay in memory until they are multiplied.
            tiles = [tile for tile in self._tiles(slack=1) if tile.sums + tile.streams // 2 < registers]
            if all(tile.results == 1 for tile in tiles):
                fail(self.reduction.block, "expected sizes that can be divided into tiles")
        return min(tiles, key=lambda tile: (tile.cost, tile.streams, tile.far / tile.sums, -tile.sums))

    def _tiles(self, slack: int = -1) -> Iterator[DotTile]:
        """Yield single results, and tiles that read as many rows as they have results, and some more, at most."""
        large = cost.L1_SIZES_NEARBY * self.processor.l1_bytes
        operands = [access for access in self.reduction.reads if uses(access, self.lanes)]
        for sizes in product(*(divisors(loop, cost.MAX_SUMS_ALONG_A_LOOP) for loop in self.reduction.spatial)):
            rows = [self._rows(access, sizes) for access in operands]
            far = sum(count for count, access in zip(rows, operands, strict=True) if _size(access) > large)
            is_single = prod(sizes) == 1
            if sum(rows) > cost.MAX_STREAMS or (sum(rows) > prod(sizes) + slack and not is_single):
                continue
            for vectors in cost.VECTORS_OF_A_SUM if is_single and self._fills_all_vectors() else (1,):
                yield DotTile(sizes, vectors, self.length, sum(rows), far * vectors, self._waste(vectors * self.length))

    def in_order(self, tile: DotTile) -> list[tuple[ForOp, int]]:
        """Return the spatial loops in the order in which they run, each with its size in a tile. An operand that comes
        from afar is read once, if the others stay in the second-level cache meanwhile."""
        loops = list(zip(self.reduction.spatial, tile.sizes, strict=True))
        nearby = cost.L2_SIZES_FROM_AFAR * self.processor.l2_bytes
        *others, largest = sorted(self.reduction.reads, key=_size)
        if _size(largest) <= self.processor.l3_bytes or any(_size(access) > nearby for access in others):
            return loops
        return sorted(loops, key=lambda pair: not uses(largest, pair[0]))

    def columns_at_once(self, loop: ForOp, size: int) -> int:
        """Return how many results along a loop, of which a tile has `size`, their consumer takes at once: where they
        are neighbours, as many as fill vectors of `lanes_of_reader` elements."""
        if only_reader(self.reduction.block) is None or not self.reduction.is_along_columns(loop):
            return size
        together = lcm(size, self.lanes_of_reader(loop))
        return together if together in divisors(loop, together) else size

    def lanes_of_reader(self, columns: ForOp) -> int:
        """Return how many neighbouring results divide all of them and fit into a vector."""
        return gcd(columns.extent, self.length) if isinstance(columns.extent, int) else 1

    def _fills_all_vectors(self) -> bool:
        extent = self.lanes.extent
        return isinstance(extent, int) and extent % (cost.VECTORS_OF_A_SUM[-1] * self.length) == 0

    def _rows(self, access: Access, sizes: Sequence[int]) -> int:
        """Return the number of rows of an operand that a tile reads."""
        columns = zip(sizes, self.reduction.spatial, strict=True)
        return prod(size for size, loop in columns if uses(access, loop))

    def _waste(self, step: int) -> float:
        """Return the relative cost of terms that do not fill all vectors."""
        extent = self.lanes.extent
        if not isinstance(extent, int):
            return cost.COST_OF_A_MASK
        return -(-extent // step) * step / extent * (cost.COST_OF_A_MASK if extent % step else 1)


def _size(access: Access) -> float:
    """Return the size of a buffer in bytes; infinity if it is unknown."""
    size = bytes_of(access.buffer)
    return inf if size is None else size


@dataclass(frozen=True)
class DotTile:
    """A number of results along each spatial loop, each accumulated in `vectors` vectors of `lanes` elements."""

    sizes: tuple[int, ...]
    vectors: int
    lanes: int
    streams: int
    """Rows of operands that are read."""

    far: int
    """Vectors of large operands that are read per step."""

    waste: float
    """The cost factor of terms that do not fill all vectors."""

    @property
    def results(self) -> int:
        """The number of results."""
        return prod(self.sizes)

    @property
    def sums(self) -> int:
        """The number of vector accumulators."""
        return self.results * self.vectors

    @property
    def cost(self) -> float:
        """The cost of a term: two multiplications, or two loads, start in each cycle. Few accumulators waste cycles."""
        loads = self.streams * self.vectors
        return max(self.sums + 1, loads, self.far * cost.COST_FROM_AFAR, cost.LATENCY) / self.sums * self.waste


LEFT_TO_LLVM = (arith.AddfOp, arith.MulfOp, arith.AddiOp)
"""Combiners that LLVM vectorizes as well, one sum after the other."""


def dot_kernel(block: BlockOp, processor: Processor) -> Plan:
    """Accumulate vectors of terms, for several results at the same time, and add up the elements of the vectors at the
    end.

    ```mlir
    tir.for %i, %j, %k in (16, 128, 784) {
      ... // y[i, j] += x[i, k] * w[j, k]
    }
    // dot-kernel
    tir.for %i0, %j0 in (4, 32) {
      %sums = tir.alloc_buffer : memref<4x4x16xf32>
      tir.for %k, unrolled %i1, unrolled %j1, vectorized %lane in (49, 4, 4, 16) {
        ... // sums[i1, j1, lane] += x[4 i0 + i1, 16 k + lane] * w[4 j0 + j1, 16 k + lane]
      }
      tir.for unrolled %i1, unrolled %j1, vectorized %lane in (4, 4, 16) {
        ... // y[4 i0 + i1, 4 j0 + j1] += sums[i1, j1, lane]
      }
    }
    ```

    What consumes the results does so in vectors, after as many tiles as fill them.
    """
    kernel = DotKernel.of(block, processor)
    kernel.check_worth_it()
    tile = kernel.tile()
    if tile.results == 1 and (isinstance(combiner_of(block), LEFT_TO_LLVM) or tile.sums < cost.LATENCY):
        return Plan("left to LLVM, which makes vectors of a single sum as well", None)
    sides = " by ".join(map(str, tile.sizes)) if tile.results > 1 else "one"
    summary = f"{sides} at a time, in {tile.vectors * tile.lanes} partial results each"
    return Plan(summary, lambda schedule: _schedule(schedule, kernel, tile))


def _schedule(schedule: Schedule, kernel: DotKernel, tile: DotTile) -> None:
    reduction = kernel.reduction
    block = block_named(reduction.block)
    step, lane = schedule.split(named(kernel.lanes), [None, tile.vectors * tile.lanes])
    terms = [*map(named, reduction.terms[:-1]), step]
    outer: list[Loop] = []
    tiles: list[Loop] = []
    inner: list[Loop] = []
    for loop, size in kernel.in_order(tile):
        tiles_at_once = kernel.columns_at_once(loop, size) // size
        sizes = [None, *(n for n in (tiles_at_once, size) if n > 1)]
        first, *parts = schedule.split(named(loop), sizes) if len(sizes) > 1 else [named(loop)]
        outer.append(first)
        tiles += [parts.pop(0)] if tiles_at_once > 1 else []
        inner += parts
    schedule.reorder(*outer, *tiles, *terms, *inner, lane)
    epilogue = move_reader(schedule, block, outer[-1]) if outer else None
    partial = schedule.rfactor(block, lane, terms[0])
    if epilogue:
        schedule.compact_buffer(block, 0)
    vectors = [Block(block.func, f"{partial.name}_init"), partial, block]
    init = schedule.decompose_reduction(block, schedule.get_loops(block)[-1])
    for part in vectors:
        schedule.vectorize(schedule.get_loops(part)[-1])
    if epilogue and tiles:
        lanes = kernel.lanes_of_reader(reduction.columns())
        *_, columns = schedule.split(schedule.get_loops(epilogue)[-1], [None, lanes])
        schedule.vectorize(columns)
        epilogue = None
    in_tiles = [*((part, partial) for part in vectors), *((part, block) for part in (init, epilogue) if part)]
    for part, producer in in_tiles:
        loops = _serial_loops(schedule, part)
        unroll_in_tile(schedule, part, [loop for loop in loops if loop not in (*outer, *tiles, *terms)], producer)


def _serial_loops(schedule: Schedule, block: Block) -> list[Loop]:
    loops = loops_of(schedule.block_op(block))
    return [named(loop) for loop in loops if loop.kind.data is LoopKind.SERIAL]
