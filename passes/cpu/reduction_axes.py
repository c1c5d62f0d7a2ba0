"""The loops of a reduction as rows, columns and reduction axes of its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf, prod
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block

from relex.dialects.errors import PassError, fail, name_of
from relex.dialects.index.expr import IndexExpr, values_in
from relex.dialects.target.processors import Processor
from relex.dialects.tir import AllocBufferOp, BlockOp, Dot2iOp, Dot4Op, ForOp
from relex.dialects.tir.accesses import Access
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.buffers import accesses_in, buffers_read
from relex.passes.analysis.constant_inputs import is_constant_input
from relex.passes.analysis.loop_tree import function_of, label_of, loops_of, name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.caches import lines_in_a_set
from relex.passes.cpu.reduction_nest import ReductionNest, bytes_of, check_at_least, count, is_side_by_side, uses
from relex.passes.cpu.register_tiles import Tile, best_tile
from relex.passes.schedule.compute_inline import elementwise_store

CandidateT = TypeVar("CandidateT")
FoundT = TypeVar("FoundT")


@dataclass(frozen=True)
class ReductionAxes:
    """
    A reduction of products, or other combinations, of an element of a row and an element of a column.

    `rows` and `columns` are the loops that are tiled; if there are few rows, a tile also covers all iterations of the
    loops `inside`. `outer` are all others but the terms. `right` is the operand that the columns index. The costs of
    many tiles are computed, so that everything that follows from the loops is computed once: they do not change.
    """

    reduction: ReductionNest
    outer: Sequence[ForOp]
    rows: ForOp
    inside: Sequence[ForOp]
    columns: ForOp
    right: Access

    @classmethod
    def all_of(cls, block: BlockOp) -> list[ReductionAxes]:
        """Return the views of a block as such a reduction, one or two for each loop that can be the columns, starting
        with the loop along which the results are contiguous. Fail with the reason if there is none."""
        reduction = ReductionNest.of(block)
        for loop in (*reduction.spatial, *reduction.terms):
            if loop.extent == 0:
                fail(loop, f"expected {label_of(loop)} to have iterations")
        for buffer in buffers_read(block):
            if sum(access.buffer is buffer for access in reduction.reads) > 1:
                fail(block, f"expected {name_of_block(block)} to read {name_of(buffer)} once a step")
        last = reduction.written[-1:]
        if not reduction.spatial:
            fail(block, f"expected {name_of_block(block)} in more loops")
        order = sorted(reversed(reduction.spatial), key=lambda loop: last != (IndexExpr.of(loop.variable),))
        return list(chain.from_iterable(suitable(order, lambda columns: cls._of(reduction, columns))))

    @classmethod
    def _of(cls, reduction: ReductionNest, columns: ForOp) -> Sequence[ReductionAxes]:
        block = reduction.block
        if IndexExpr.of(columns.variable) not in reduction.written:
            fail(block, f"expected {name_of_block(block)} to write elements along {label_of(columns)}")
        operands = [access for access in reduction.reads if uses(access, columns)]
        if len(operands) != 1:
            fail(block, f"expected one operand that {label_of(columns)} indexes, found {len(operands)}")
        (right,) = operands
        again = [loop for loop in reduction.spatial if loop is not columns and not uses(right, loop)]
        if not again:
            fail(block, f"expected a loop that uses the same elements of {name_of(right.buffer)} again")
        *others, rows = again
        views = [(rows, list[ForOp]())]
        if others and isinstance(rows.extent, int) and rows.extent <= cost.FEW_ROWS:
            views.insert(0, (others[-1], [rows]))
        loops = [loop for loop in reduction.spatial if loop is not columns]
        return [
            cls(reduction, [loop for loop in loops if loop not in (rows, *inside)], rows, inside, columns, right)
            for rows, inside in views
        ]

    @cached_property
    def step(self) -> int:
        """The number of rows in each iteration of the row loop."""
        return count(self.inside)

    @cached_property
    def row_count(self) -> int | None:
        """The number of rows; None if it is only known at run time."""
        return self.rows.extent * self.step if isinstance(self.rows.extent, int) else None

    @cached_property
    def column_count(self) -> int:
        """The number of columns; if it is only known at run time, a likely one, which fills panels."""
        return count([self.columns], cost.LIKELY_SIZE)

    @cached_property
    def has_known_columns(self) -> bool:
        """Whether the number of columns is known at compile time."""
        return isinstance(self.columns.extent, int)

    @cached_property
    def dimension(self) -> int | None:
        """The dimension of their operand that the columns alone index, in no other dimension; None if there is none."""
        column, element = self.columns.variable, self.right.element
        is_alone = [index for index in element if column in values_in(index)] == [IndexExpr.of(column)]
        return element.index(IndexExpr.of(column)) if is_alone else None

    @cached_property
    def left(self) -> Access | None:
        """The only other operand, if its rows are contiguous along the terms, and indexed by the rows in one dimension;
        otherwise None."""
        lefts = [access for access in self.reduction.reads if access.buffer is not self.right.buffer]
        if len(lefts) != 1 or len(self.reduction.terms) != 1 or self.inside:
            return None
        (left,), (terms,), row = lefts, self.reduction.terms, self.rows.variable
        by_rows = [index for index in left.element if row in values_in(index)]
        return left if by_rows == [IndexExpr.of(row)] and left.element[-1] == IndexExpr.of(terms.variable) else None

    @cached_property
    def left_dimension(self) -> int:
        """The dimension of the left operand that the rows index."""
        assert self.left is not None
        return self.left.element.index(IndexExpr.of(self.rows.variable))

    @cached_property
    def output_dimension(self) -> int:
        """The dimension of the result that the columns index."""
        return self.reduction.written.index(IndexExpr.of(self.columns.variable))

    @cached_property
    def is_stored_in_vectors(self) -> bool:
        """Whether the results of neighbouring columns are contiguous."""
        return self.reduction.written[-1] == IndexExpr.of(self.columns.variable)

    @cached_property
    def is_unit_stride(self) -> bool:
        """Whether the elements of neighbouring columns are contiguous."""
        return is_side_by_side(self.right, self.columns)

    @cached_property
    def has_constant_columns(self) -> bool:
        """Whether `rewrite-layout` will pack the operand of the columns at compile time."""
        return is_constant_input(self.right.buffer) and self.dimension is not None

    @cached_property
    def producer(self) -> BlockOp | None:
        """The block that computes the operand of the columns element by element, for this reduction alone, so that it
        can be computed into a packed copy; None if there is none."""
        if not isinstance(self.right.buffer.owner, AllocBufferOp):
            return None
        block = self.reduction.block
        try:
            writers = {access.block for access in accesses_in(function_of(block), self.right.buffer)} - {block}
            producer = writers.pop() if len(writers) == 1 else None
            if producer is not None:
                elementwise_store(producer)
        except PassError:
            return None
        return producer

    @cached_property
    def use_count(self) -> int:
        """The number of times that each element of the operand of the columns is used."""
        loops = [*self.outer, self.rows, *self.inside]
        return count([loop for loop in loops if not uses(self.right, loop)], cost.LIKELY_EXTENT)

    def outer_for(self, processor: Processor) -> Sequence[ForOp]:
        """Return the outer loops in the order in which tiles are computed. An operand of the columns that stays in the
        second-level cache is read as a whole for each part of the other operands, which then come from memory once; so
        is one that does not, if more would come from beyond that cache otherwise."""
        loops = [loop for loop in (*self.outer, self.columns, *self.reduction.terms) if uses(self.right, loop)]
        size = count(loops, cost.LIKELY_EXTENT) * self.reduction.bits // 8
        near = cost.L2_SIZES_FROM_AFAR * processor.l2_bytes
        others = [access for access in self.reduction.reads if access is not self.right]
        again = [loop for loop in self.outer if not any(uses(access, loop) for access in others)]
        if size > near:
            parts = [loop for loop in self.outer if loop not in again and not uses(self.right, loop)]
            other = sum(bytes_of(access.buffer) or 0 for access in others)
            if other <= near or size * count(parts) + other >= other * count(again) + size:
                return self.outer
        return sorted(self.outer, key=lambda loop: loop in again)

    def tile(self, processor: Processor) -> Tile:
        """Return the cheapest tile that fits into the registers of a processor."""
        most = processor.lanes(self.reduction.bits)
        lanes = min(most, max(cost.MIN_LANES, 1 << (self.column_count - 1).bit_length()))
        registers = processor.vector_registers
        return best_tile(
            self.row_count, self.column_count, lanes, registers, self.step, lambda tile: self.cost(tile, processor)
        )

    def cost_of_a_result(self, tile: Tile, processor: Processor) -> float:
        """Return the cost per term of one of the results, for views that count a loop of unknown extent differently."""
        cost_of_a_result = self.cost(tile, processor) / self._around / self._rows / self.column_count
        return cost_of_a_result if self.has_known_columns else cost.COST_OF_DYNAMIC_COLUMNS * cost_of_a_result

    def cost(self, tile: Tile, processor: Processor) -> float:
        """Return the total cost per term: tiles, packing of the columns, and results that are stored one by one."""
        around, rows, terms = self._around, self._rows, self._terms
        panel = terms * tile.columns * self.reduction.bits // 8
        load = 1 if panel <= cost.L1_SIZES_OF_A_PANEL * processor.l1_bytes else cost.COST_OF_L2
        is_in_pieces = self._piece_of_rows <= processor.line_bytes
        element = cost.COST_OF_AN_ELEMENT_OF_A_PIECE if is_in_pieces else 1
        products = tile.cost(self.row_count, self.column_count, load, element)
        total = around * (products if self.row_count else rows * products)
        if self.row_count is not None and not self.has_known_columns and self.row_count % tile.rows:
            total *= 1 + cost.COST_OF_ROWS_LEFT_OVER
        if self._has_scattered_rows and not self.has_constant_columns:
            total *= cost.COST_OF_SCATTERED_ROWS
        if self.has_constant_columns and self._has_scattered_terms:
            total *= cost.COST_OF_SCATTERED_TERMS
        if self._may_evict_rows(tile, processor):
            total *= cost.COST_OF_EVICTED_ROWS
        if self._multiplies_bytes and not (self.is_packed(tile) or self.has_full_panels(tile)):
            total *= cost.COST_OF_GUARDS
        if self.is_packed(tile) and not self.has_constant_columns:
            rest = self.column_count % tile.columns
            stores = rest + (self.column_count - rest) / tile.lanes if self.is_unit_stride else self.column_count
            # A packed copy of what the function computes would be as large as all of it, and keep its loops apart.
            is_in_squares = self.is_packed_in_squares(tile, processor) and isinstance(self.right.buffer.owner, Block)
            total += (cost.of_a_square(tile.lanes) if is_in_squares else cost.COST_OF_A_SCALAR) * self._copied * stores
        if not self.is_stored_in_vectors:
            store = cost.COST_OF_A_STORE_TO_L2 if self._evicts_results(tile, processor) else cost.COST_OF_A_SCALAR_STORE
            total += store * around * rows * self.column_count / terms
        return total

    def _may_evict_rows(self, tile: Tile, processor: Processor) -> bool:
        """Return whether rows of the left operand may be a power of two apart, and numerous enough to evict each other
        from the first-level cache; `row_blocks` copies only those whose distance is known."""
        return self.is_unit_stride and self.has_open_rows and tile.rows >= processor.l1_ways

    def _evicts_results(self, tile: Tile, processor: Processor) -> bool:
        """Return whether the results of a vector, which are stored one by one, are so far apart that the lines that
        they are on evict each other from the first-level cache before the next results on them."""
        kind = self.reduction.result.type
        assert isa(kind, MemRefType)
        inside = kind.get_shape()[self.output_dimension + 1 :]
        if DYNAMIC_INDEX in inside:
            return False
        distance = prod(inside) * self.reduction.bits // 8
        columns = min(tile.columns, self.column_count)
        return lines_in_a_set(columns, distance, processor) >= processor.l1_ways

    @cached_property
    def _has_scattered_rows(self) -> bool:
        """Whether the elements of a row of another operand are not contiguous."""
        return any(not is_side_by_side(access, self.reduction.terms[-1]) for access in self._row_operands)

    @cached_property
    def _row_operands(self) -> Sequence[Access]:
        """The accesses to other operands that depend on the rows."""
        return [access for access in self.reduction.reads if access is not self.right and uses(access, self.rows)]

    @cached_property
    def _piece_of_rows(self) -> float:
        """The size in bytes of the pieces that rows of another operand consist of, if these are contiguous only along
        the last of several loops of the terms, and not near each other; otherwise infinite."""
        *others, last = self.reduction.terms
        is_in_pieces = any(is_side_by_side(a, last) and not is_side_by_side(a, self.rows) for a in self._row_operands)
        return count([last]) * self.reduction.bits // 8 if others and is_in_pieces else inf

    @cached_property
    def _has_scattered_terms(self) -> bool:
        """Whether terms of a column are not next to each other in packed columns, which keep other dimensions as they
        are: a loop around tiles indexes a dimension after the dimensions of the terms."""
        loops = [loop for loop in (*self.outer, *self.reduction.terms) if uses(self.right, loop)]
        order = [loop for index in self.right.element for loop in loops if loop.variable in values_in(index)]
        return any(loop in self.outer for loop in order[-1:])

    @cached_property
    def has_open_rows(self) -> bool:
        """Whether the distance between the rows of the left operand is only known at run time."""
        left = self.left
        return left is not None and DYNAMIC_INDEX in left.shape[self.left_dimension + 1 :]

    @cached_property
    def _multiplies_bytes(self) -> bool:
        return any(isinstance(op, Dot2iOp | Dot4Op) for op in self.reduction.block.body.block.ops)

    @cached_property
    def _around(self) -> int:
        return count(self.outer, cost.LIKELY_EXTENT)

    @cached_property
    def _rows(self) -> int:
        return self.row_count or cost.LIKELY_EXTENT * self.step

    @cached_property
    def _terms(self) -> int:
        return count(self.reduction.terms, cost.LIKELY_EXTENT)

    @cached_property
    def _copied(self) -> int:
        """The number of parts of the operand of the columns, one for each iteration of the outer loops that index
        it."""
        return count([loop for loop in self.outer if uses(self.right, loop)], cost.LIKELY_EXTENT)

    def has_full_panels(self, tile: Tile) -> bool:
        """Return whether tiles divide the columns evenly, or columns that they do not divide have separate tiles."""
        return not self.has_known_columns or self.column_count % tile.columns == 0

    def panels_at_once(self, tile: Tile, registers: int) -> int:
        """Return the number of panels, each as wide as a tile, that a tile of few rows may process at the same time."""
        if not self.has_known_columns:
            return 1
        panels = -(-self.column_count // tile.columns)
        divisors = [n for n in range(1, panels + 1) if panels % n == 0]
        return max(n for n in divisors if n == 1 or replace(tile, vectors=n * tile.vectors).fits(registers))

    def is_packed(self, tile: Tile) -> bool:
        """Return whether the operand of the columns is packed into the order in which tiles read it."""
        if self.has_constant_columns:
            return self.column_count != tile.columns or not self.is_unit_stride
        if not self.is_unit_stride:
            return True
        if not self.has_full_panels(tile):
            # A single use is not worth packing: guards keep the vectors at the edge in bounds.
            return self.use_count > 1 and self.dimension is not None
        if not self.has_known_columns:
            is_many = self.row_count is None or self.row_count >= cost.TILES_TO_PACK_A_PANEL * tile.rows
            return self.dimension is not None and self.has_open_rows and is_many and not self.inside
        may_be_packed = self.dimension is not None and DYNAMIC_INDEX not in self.right.shape
        are_many = count([self.rows], cost.LIKELY_EXTENT) >= cost.MIN_ROWS_TO_PACK_CONTIGUOUS
        return may_be_packed and (are_many or self.producer is not None)

    def is_packed_in_squares(self, tile: Tile, processor: Processor) -> bool:
        """Return whether columns are packed by transposing squares of elements: elements of a column are contiguous
        along the last terms, whose number is known, and fill vectors."""
        bits, terms = self.reduction.bits, self.reduction.terms[-1]
        return (
            not self.is_unit_stride
            and is_side_by_side(self.right, terms)
            and isinstance(terms.extent, int)
            and terms.extent >= tile.lanes
            and (self.has_full_panels(tile) or self.column_count > tile.columns)
            and not self.has_constant_columns
            and bits in (32, 64)
            and tile.lanes == processor.lanes(bits) > 1
        )

    def packs_panels(self, tile: Tile) -> bool:
        """Return whether columns of a known number are packed panel by panel, each right before it is used: then it is
        still in a cache. A panel that several iterations of outer loops use is packed before them instead, and so
        are panels that are too few for threads to share."""
        return (
            self.has_known_columns
            and self.is_packed(tile)
            and self.is_stored_in_vectors
            and not self.has_constant_columns
            and self.has_full_panels(tile)
            and self.column_count >= cost.ENOUGH_PARTS * tile.columns
            and all(uses(self.right, loop) for loop in self.outer)
        )

    def panels_together(self, tile: Tile, processor: Processor) -> int:
        """Return the number of panels that are packed at the same time, right before they are used: where columns are
        contiguous, more of each page that a row of the operand is on is used. They stay in the second-level cache, and
        leave enough parts for threads."""
        if not self.has_known_columns or not self.is_unit_stride:
            return 1
        panels = self.column_count // tile.columns
        size = self._terms * tile.columns * self.reduction.bits // 8
        fitting = int(cost.L2_SIZES_OF_PANELS * processor.l2_bytes) // size
        most = max(1, min(cost.PANELS_TOGETHER, fitting, panels // cost.ENOUGH_PARTS))
        return max(n for n in range(1, most + 1) if panels % n == 0)

    def check_worth_it(self, tile: Tile) -> None:
        """Fail if tiles would not make up for the work that prepares them."""
        block = self.reduction.block
        check_at_least(block, cost.MIN_STEPS, count(loops_of(block), cost.LIKELY_EXTENT), "steps")
        are_many = self.has_known_columns and self.column_count >= cost.MIN_SCATTERED_COLUMNS
        if not self.is_stored_in_vectors and not are_many:
            fail(block, f"expected a loop along which {name_of_block(block)} writes elements side by side")
        if not self.is_packed(tile):
            return
        if self.dimension is None:
            name, label = name_of(self.right.buffer), label_of(self.columns)
            fail(block, f"expected {name} to be indexed by {label} alone, in one dimension")
        if not self.has_constant_columns and not self.is_unit_stride:
            check_at_least(block, cost.MIN_USES_TO_PACK, self.use_count, "uses that make up for packed columns")


def suitable(candidates: Iterable[CandidateT], make: Callable[[CandidateT], FoundT]) -> list[FoundT]:
    """Return what `make` returns for the candidates that it accepts. If there is none, fail as it did for the first."""
    found: list[FoundT] = []
    problems: list[PassError] = []
    for candidate in candidates:
        try:
            found.append(make(candidate))
        except PassError as e:
            problems.append(e)
    if not found:
        raise problems[0]
    return found


def has_constant_panels(block: BlockOp) -> bool:
    """Return whether a block can be tiled with columns that are packed at compile time."""
    try:
        return ReductionAxes.all_of(block)[0].has_constant_columns
    except PassError:
        return False
