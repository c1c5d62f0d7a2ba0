"""The loops of a reduction as rows, columns and terms of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.errors import PassError, diagnose, fail, name_of
from relex.dialects.index.expr import IndexExpr, values_in
from relex.dialects.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.passes.analysis.buffers import buffers_read
from relex.passes.analysis.constant_inputs import is_constant_input
from relex.passes.analysis.dependence import BlockAccess, Element, block_accesses
from relex.passes.analysis.loop_tree import (
    label_of,
    loops_of,
    name_of_block,
)
from relex.passes.cpu.nests import Reduction, is_side_by_side, result_bits, uses
from relex.passes.cpu.tiles import Tile, best_tile

MIN_WORK = 2**10
"""Minimum number of steps of a reduction; with fewer, no schedule is worth its compile time."""

MIN_ROWS_TO_PACK = 8
"""Minimum number of rows that use an element of an operand; with fewer, packing costs more than it saves."""

MIN_ROWS_TO_PACK_ROWS = 64
"""`MIN_ROWS_TO_PACK` if the columns are contiguous already, but the vectors that a tile reads lie far apart."""

FEW_ROWS = 8
"""Number of rows up to which a tile may have room for all of them several times."""

MIN_LANES = 2

MIN_SCATTERED_COLUMNS = 8
"""Minimum number of columns if the results of a vector must be stored one by one."""

COST_OF_A_SCALAR = 1.5
"""Cost of copying an element, or of storing an element of a vector, in multiplications."""

LIKELY_EXTENT = 64
"""The assumed extent of a loop whose extent is only known at run time."""


@dataclass(frozen=True)
class Operand:
    """An operand of a block: number `number` of the buffers that it reads, with its only access."""

    number: int
    access: BlockAccess

    def dimension_of(self, loop: ForOp) -> int:
        """Return the one dimension whose index is the variable of a loop; fail if other indices use the loop."""
        if not self.has_dimension_of(loop):
            fail(self.access.block, f"expected {name_of(self.access.buffer)} to be indexed by {label_of(loop)} alone, "
                                    "in one dimension")  # fmt: skip
        return self.access.element.index(IndexExpr.of(loop.variable))

    def has_dimension_of(self, loop: ForOp) -> bool:
        """Return whether there is such a dimension."""
        return [f for f in self.access.element if loop.variable in values_in(f)] == [IndexExpr.of(loop.variable)]

    def uses(self, loop: ForOp) -> bool:
        """Return whether the element that is read depends on a loop."""
        return uses(self.access, loop)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.access.element)

    @property
    def indices(self) -> list[AffineExpr]:
        """The indices of the identity layout."""
        return list(map(AffineExpr.dimension, range(self.rank)))


@dataclass(frozen=True)
class Layout:
    """The layout of the operand number `number`, in which one dimension is split."""

    number: int
    dimension: int
    index_map: AffineMap


@dataclass(frozen=True)
class ReductionAxes:
    """
    A reduction of products, or other combinations, of an element of a row and an element of a column.

    `rows` and `columns` are the loops that are tiled; if there are few rows, a tile also covers all iterations of the
    loops `inside`. `terms` are the loops of the reduction, `outer` all others. `right` is the operand that the columns
    index.
    """

    block: BlockOp
    outer: Sequence[ForOp]
    rows: ForOp
    inside: Sequence[ForOp]
    columns: ForOp
    terms: Sequence[ForOp]
    right: Operand

    @classmethod
    def all_of(cls, block: BlockOp) -> list[ReductionAxes]:
        """Return the views of a block as such a reduction, one for each loop that can be the columns, starting with the
        loop along which the results are contiguous. Fail with the reason if there is none."""
        reduction = Reduction.of(block)
        spatial, terms = reduction.spatial, reduction.terms
        for loop in (*spatial, *terms):
            if loop.extent == 0:
                fail(loop, f"expected {label_of(loop)} to have iterations")
        operands = _operands(reduction)
        last = _output_element(block)[-1:]
        found: list[ReductionAxes] = []
        problems: list[PassError] = []
        for columns in sorted(reversed(spatial), key=lambda loop: last != (IndexExpr.of(loop.variable),)):
            try:
                found.append(cls._of(block, columns, spatial, terms, operands))
            except PassError as e:
                problems.append(e)
        if found:
            return found
        raise problems[0] if problems else PassError(diagnose(block, f"expected {name_of_block(block)} in more loops"))

    @classmethod
    def _of(
        cls,
        block: BlockOp,
        columns: ForOp,
        spatial: Sequence[ForOp],
        terms: Sequence[ForOp],
        operands: Sequence[Operand],
    ) -> ReductionAxes:
        if IndexExpr.of(columns.variable) not in _output_element(block):
            fail(block, f"expected {name_of_block(block)} to write elements along {label_of(columns)}")
        right = [operand for operand in operands if operand.uses(columns)]
        if len(right) != 1:
            fail(block, f"expected one operand that {label_of(columns)} indexes, found {len(right)}")
        again = [loop for loop in spatial if loop is not columns and not right[0].uses(loop)]
        if not again:
            fail(block, f"expected a loop that uses the same elements of {name_of(right[0].access.buffer)} again")
        *others, rows = again
        inside: list[ForOp] = []
        if others and isinstance(rows.extent, int) and rows.extent <= FEW_ROWS:
            inside, rows = [rows], others[-1]
        outer = [loop for loop in spatial if loop not in (rows, columns, *inside)]
        return cls(block, outer, rows, inside, columns, terms, right[0])

    @property
    def step(self) -> int:
        """The number of rows in each iteration of the row loop."""
        return prod(map(_extent, self.inside))

    @property
    def row_count(self) -> int | None:
        """The number of rows; None if it is only known at run time."""
        return self.rows.extent * self.step if isinstance(self.rows.extent, int) else None

    @property
    def column_count(self) -> int:
        """The number of columns."""
        return _extent(self.columns)

    def tile(self, processor: Processor) -> Tile:
        """Return the tile that suits the registers of a CPU."""
        most = processor.lanes(result_bits(self.block, output_of(self.block)))
        lanes = min(most, max(MIN_LANES, 1 << (self.column_count - 1).bit_length()))
        return best_tile(self.row_count, self.column_count, lanes, processor.vector_registers, self.step)

    def cost(self, tile: Tile) -> float:
        """Return the total cost per term: tiles, packing of the columns, and results that are stored one by one."""
        around = prod(map(_likely_extent, self.outer))
        rows = self.row_count or LIKELY_EXTENT * self.step
        total = around * tile.cost(rows, self.column_count)
        if self.is_packed(tile) and not self.has_constant_columns():
            copied = prod(_likely_extent(loop) for loop in self.outer if self.right.uses(loop))
            total += COST_OF_A_SCALAR * copied * self.column_count / (tile.lanes if self.is_unit_stride() else 1)
        if not self.is_stored_in_vectors:
            terms = prod(map(_likely_extent, self.terms))
            total += COST_OF_A_SCALAR * around * rows * self.column_count / terms
        return total

    @property
    def is_stored_in_vectors(self) -> bool:
        """Whether the results of neighbouring columns are contiguous."""
        return _output_element(self.block)[-1] == IndexExpr.of(self.columns.variable)

    @property
    def output_dimension(self) -> int:
        """The dimension of the result that the columns index."""
        return _output_element(self.block).index(IndexExpr.of(self.columns.variable))

    def has_full_panels(self, tile: Tile) -> bool:
        """Return whether tiles divide the columns evenly."""
        return self.column_count % tile.columns == 0

    def panels_at_once(self, tile: Tile, processor: Processor) -> int:
        """Return the number of panels, each as wide as a tile, that a tile of few rows may process at the same time."""
        count = -(-self.column_count // tile.columns)
        divisors = [n for n in range(1, count + 1) if count % n == 0]
        return max(
            n for n in divisors if n == 1 or replace(tile, vectors=n * tile.vectors).fits(processor.vector_registers)
        )

    def has_constant_columns(self) -> bool:
        """Return whether `rewrite-layout` will pack the operand of the columns at compile time."""
        return is_constant_input(self.right.access.buffer) and self.right.has_dimension_of(self.columns)

    def is_unit_stride(self) -> bool:
        """Return whether the elements of neighbouring columns are contiguous."""
        return is_side_by_side(self.right.access, self.columns)

    @property
    def use_count(self) -> int:
        """The number of times that each element of the operand of the columns is used."""
        loops = [*self.outer, self.rows, *self.inside]
        return prod(_likely_extent(loop) for loop in loops if not self.right.uses(loop))

    def is_packed(self, tile: Tile) -> bool:
        """Return whether the operand of the columns is packed into the order in which tiles read it."""
        if self.has_constant_columns():
            return self.column_count != tile.columns or not self.is_unit_stride()
        if not self.is_unit_stride():
            return True
        if self.column_count % tile.columns:
            # A single use is not worth packing: guards keep the vectors at the edge in bounds.
            return self.use_count > 1
        may_be_packed = (
            self.right.has_dimension_of(self.columns) and DYNAMIC_INDEX not in self.right.access.access.shape
        )
        return _likely_extent(self.rows) >= MIN_ROWS_TO_PACK_ROWS and may_be_packed

    def panels(self, tile: Tile) -> Layout:
        """Return the packed layout of the operand of the columns: panels as wide as a tile, their columns innermost."""
        dimension = self.right.dimension_of(self.columns)
        indices = self.right.indices
        split = indices.pop(dimension)
        exprs = (split // tile.columns, *indices, split % tile.columns)
        return Layout(self.right.number, dimension, AffineMap(self.right.rank, 0, exprs))

    def check_worth_it(self, tile: Tile) -> None:
        """Fail if tiles would not make up for the work that prepares them."""
        work = prod(map(_likely_extent, loops_of(self.block)))
        if work < MIN_WORK:
            fail(self.block, f"expected {MIN_WORK} steps or more, found {work}")
        if not self.is_stored_in_vectors and self.column_count < MIN_SCATTERED_COLUMNS:
            fail(self.block, f"expected a loop along which {name_of_block(self.block)} writes elements side by side")
        if not self.is_packed(tile):
            return
        self.right.dimension_of(self.columns)
        if self.has_constant_columns():
            return
        count = self.use_count
        if not self.is_unit_stride() and count < MIN_ROWS_TO_PACK:
            fail(self.block, f"expected {MIN_ROWS_TO_PACK} rows or more that make up for packed columns, found {count}")


def _likely_extent(loop: ForOp) -> int:
    return loop.extent if isinstance(loop.extent, int) else LIKELY_EXTENT


def _extent(loop: ForOp) -> int:
    if not isinstance(loop.extent, int):
        fail(loop, f"expected the extent of {label_of(loop)} to be known at compile time")
    return loop.extent


def _output_element(block: BlockOp) -> Element:
    """Return the indices of the element that a block writes."""
    found = {access.element for access in block_accesses(block) if access.is_write and not access.in_init}
    if len(found) != 1:
        fail(block, f"expected {name_of_block(block)} to write one element a step")
    return found.pop()


def _operands(reduction: Reduction) -> list[Operand]:
    """Return the operands of a block, without its own results. Fail if a buffer is read in several places."""
    block = reduction.block
    operands: list[Operand] = []
    for number, buffer in enumerate(buffers_read(block)):
        reads = [access for access in reduction.reads if access.buffer is buffer]
        if len(reads) != 1:
            fail(block, f"expected {name_of_block(block)} to read {name_of(buffer)} once a step")
        operands.append(Operand(number, reads[0]))
    return operands


def has_constant_panels(block: BlockOp) -> bool:
    """Return whether a block can be tiled with columns that are packed at compile time."""
    try:
        return ReductionAxes.all_of(block)[0].has_constant_columns()
    except PassError:
        return False


def output_of(block: BlockOp) -> SSAValue:
    """Return the buffer that a block writes."""
    return next(access.buffer for access in block_accesses(block) if access.is_write)
