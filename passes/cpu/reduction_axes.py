"""What the loops of a reduction do: which go along rows, columns and terms of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.errors import PassError, diagnose, fail, name_of
from relex.dialects.index.expr import IndexExpr, values_in
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
from relex.passes.cpu.tiles import Tile, VectorUnit, best_tile

MIN_WORK = 2**10
"""Steps of a reduction; for fewer, nothing is worth the time to compile it."""

MIN_ROWS_TO_PACK = 8
"""Rows that use an element of an operand; for fewer, it costs more to bring it into order than that saves."""

MIN_ROWS_TO_PACK_ROWS = 64
"""The same where columns stand side by side already, but the vectors that a tile reads lie far apart."""

FEW_ROWS = 8
"""So few that a tile may have room for all of them several times."""

MIN_LANES = 2

MIN_SCATTERED_COLUMNS = 8
"""That are worth it where the results of a vector must be stored one by one."""

COST_OF_A_SCALAR = 1.5
"""What it takes to copy an element, or to store one of a vector, where a multiplication takes 1."""

LIKELY_EXTENT = 64
"""How often a loop may run whose extent is known at run time only."""


@dataclass(frozen=True)
class Operand:
    """What a block reads as number `number`, in one place."""

    number: int
    access: BlockAccess

    def dimension_of(self, loop: ForOp) -> int:
        """The one dimension that is indexed by a loop, and by it alone. Fails if there is none."""
        if not self.has_dimension_of(loop):
            fail(self.access.block, f"expected {name_of(self.access.buffer)} to be indexed by {label_of(loop)} alone, "
                                    "in one dimension")  # fmt: skip
        return self.access.element.index(IndexExpr.of(loop.variable))

    def has_dimension_of(self, loop: ForOp) -> bool:
        return [f for f in self.access.element if loop.variable in values_in(f)] == [IndexExpr.of(loop.variable)]

    def uses(self, loop: ForOp) -> bool:
        return uses(self.access, loop)

    @property
    def rank(self) -> int:
        return len(self.access.element)

    @property
    def indices(self) -> list[AffineExpr]:
        """What a layout is made of: each index as it is."""
        return list(map(AffineExpr.dimension, range(self.rank)))


@dataclass(frozen=True)
class Layout:
    """How the operand with a number is laid out: it is one of its dimensions that is split."""

    number: int
    dimension: int
    index_map: AffineMap


@dataclass(frozen=True)
class ReductionAxes:
    """
    A block that adds up products, or what else, of elements of a row and of a column. `rows` and `columns` are the
    loops of a tile; if there are few rows, it goes through all iterations of a loop `inside` of them as well. `terms`
    are the loops of the reduction, `outer` all others. `right` is the operand that the columns index.
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
        """What a block is, for each loop that can be that of the columns: first for that along which results stand side
        by side. Fails, and says why, if there is none."""
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
        """How many rows there are for each iteration of the loop of the rows."""
        return prod(map(_extent, self.inside))

    @property
    def row_count(self) -> int | None:
        """None if it is known at run time only."""
        return self.rows.extent * self.step if isinstance(self.rows.extent, int) else None

    @property
    def column_count(self) -> int:
        return _extent(self.columns)

    def tile(self, unit: VectorUnit) -> Tile:
        """The tile that suits the registers of a CPU."""
        most = unit.bits // result_bits(self.block, output_of(self.block))
        lanes = min(most, max(MIN_LANES, 1 << (self.column_count - 1).bit_length()))
        return best_tile(self.row_count, self.column_count, lanes, unit.registers, self.step)

    def cost(self, tile: Tile) -> float:
        """What all takes, for each term: the tiles, copies of the columns, and results that are stored one by one."""
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
        """Whether the results of neighbouring columns stand side by side."""
        return _output_element(self.block)[-1] == IndexExpr.of(self.columns.variable)

    @property
    def output_dimension(self) -> int:
        """The dimension of the result that the columns index."""
        return _output_element(self.block).index(IndexExpr.of(self.columns.variable))

    def has_full_panels(self, tile: Tile) -> bool:
        return self.column_count % tile.columns == 0

    def panels_at_once(self, tile: Tile, unit: VectorUnit) -> int:
        """How many panels, each as wide as a tile, a tile of few rows may go through at the same time."""
        count = -(-self.column_count // tile.columns)
        divisors = [n for n in range(1, count + 1) if count % n == 0]
        return max(n for n in divisors if n == 1 or replace(tile, vectors=n * tile.vectors).fits(unit.registers))

    def has_constant_columns(self) -> bool:
        """Whether `rewrite-layout` will copy the operand of the columns at compile time."""
        return is_constant_input(self.right.access.buffer) and self.right.has_dimension_of(self.columns)

    def is_unit_stride(self) -> bool:
        """Whether the elements of neighbouring columns stand side by side."""
        return is_side_by_side(self.right.access, self.columns)

    @property
    def use_count(self) -> int:
        """How often each element of the operand of the columns is used."""
        loops = [*self.outer, self.rows, *self.inside]
        return prod(_likely_extent(loop) for loop in loops if not self.right.uses(loop))

    def is_packed(self, tile: Tile) -> bool:
        """Whether the operand of the columns is copied to the order in which tiles need it."""
        if self.has_constant_columns():
            return self.column_count != tile.columns or not self.is_unit_stride()
        if not self.is_unit_stride():
            return True
        if self.column_count % tile.columns:
            # What is used once is not worth a copy: conditions keep vectors at the edge from reading further.
            return self.use_count > 1
        may_be_packed = (
            self.right.has_dimension_of(self.columns) and DYNAMIC_INDEX not in self.right.access.access.shape
        )
        return _likely_extent(self.rows) >= MIN_ROWS_TO_PACK_ROWS and may_be_packed

    def panels(self, tile: Tile) -> Layout:
        """The operand of the columns in panels as wide as a tile: a panel after the other, the columns of one last."""
        dimension = self.right.dimension_of(self.columns)
        indices = self.right.indices
        split = indices.pop(dimension)
        exprs = (split // tile.columns, *indices, split % tile.columns)
        return Layout(self.right.number, dimension, AffineMap(self.right.rank, 0, exprs))

    def check_worth_it(self, tile: Tile) -> None:
        """Fails if tiles would not make up for what is done for them."""
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
    """The indices of what a block writes."""
    found = {access.element for access in block_accesses(block) if access.is_write and not access.in_init}
    if len(found) != 1:
        fail(block, f"expected {name_of_block(block)} to write one element a step")
    return found.pop()


def _operands(reduction: Reduction) -> list[Operand]:
    """What a block reads but its own results. Fails if it reads a buffer in several places."""
    block = reduction.block
    operands: list[Operand] = []
    for number, buffer in enumerate(buffers_read(block)):
        reads = [access for access in reduction.reads if access.buffer is buffer]
        if len(reads) != 1:
            fail(block, f"expected {name_of_block(block)} to read {name_of(buffer)} once a step")
        operands.append(Operand(number, reads[0]))
    return operands


def has_constant_panels(block: BlockOp) -> bool:
    """Whether a block can be brought to tiles whose columns are in their order when the program starts."""
    try:
        return ReductionAxes.all_of(block)[0].has_constant_columns()
    except PassError:
        return False


def output_of(block: BlockOp) -> SSAValue:
    return next(access.buffer for access in block_accesses(block) if access.is_write)
