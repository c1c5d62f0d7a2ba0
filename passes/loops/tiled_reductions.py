"""Reductions whose sums are made side by side, in tiles that stay in vector registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType, MemRefType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.hints import isa

from relex.dialects.errors import CompileError, fail, name_of
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind
from relex.dialects.tir.accesses import variables_in
from relex.passes.loops.affine import Form
from relex.passes.loops.buffers import accesses_in, buffers_read, statement_of
from relex.passes.loops.constants import is_constant_input
from relex.passes.loops.dependences import BlockAccess, block_accesses
from relex.passes.loops.rules.rule import Plan
from relex.passes.loops.schedule import Block, Loop, Schedule
from relex.passes.loops.structure import (
    check_nested,
    check_serial,
    find_block,
    function_of,
    guard_of,
    label_of,
    loops_of,
    name_of_block,
)
from relex.passes.loops.tiles import Tile, VectorUnit, best_tile

MIN_WORK = 2**10
"""Steps of a reduction; for fewer, nothing is worth the time to compile it."""

MIN_ROWS_TO_PACK = 8
"""Rows that use an element of an operand; for fewer, it costs more to bring it into order than that saves."""

MIN_ROWS_TO_PACK_ROWS = 64
"""The same where columns stand side by side already, but the vectors that a tile reads lie far apart."""


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
        return self.access.element.index(Form.of(loop.variable))

    def has_dimension_of(self, loop: ForOp) -> bool:
        return [f for f in self.access.element if loop.variable in f.variables()] == [Form.of(loop.variable)]

    def uses(self, loop: ForOp) -> bool:
        return any(loop.variable in form.variables() for form in self.access.element)

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
class TiledReduction:
    """
    A block that adds up products, or what else, of elements of a row and of a column: `rows` and `columns` are the
    loops of a tile, `terms` those of the reduction, `outer` all others. `left` are the operands of a row, `right` is
    that of a column.
    """

    block: BlockOp
    outer: list[ForOp]
    rows: ForOp
    columns: ForOp
    terms: list[ForOp]
    left: list[Operand]
    right: Operand

    @classmethod
    def of(cls, block: BlockOp) -> TiledReduction:
        """What a block is. Fails, and says why, if it is none that can be brought to tiles."""
        loops = _loops(block)
        terms = _loops_of_reduction(block, loops)
        spatial = [loop for loop in loops if loop not in terms]
        columns = _columns(block, spatial)
        operands = _operands(block)
        right = [operand for operand in operands if operand.uses(columns)]
        if len(right) != 1:
            fail(block, f"expected one operand that {label_of(columns)} indexes, found {len(right)}")
        candidates = [loop for loop in spatial if loop is not columns and not right[0].uses(loop)]
        if not candidates:
            fail(block, f"expected a loop that uses the same elements of {name_of(right[0].access.buffer)} again")
        rows = candidates[-1]
        left = [operand for operand in operands if operand.uses(rows)]
        outer = [loop for loop in spatial if loop not in (rows, columns)]
        return cls(block, outer, rows, columns, terms, left, right[0])

    @property
    def row_count(self) -> int:
        return _extent(self.rows)

    @property
    def column_count(self) -> int:
        return _extent(self.columns)

    def tile(self, unit: VectorUnit) -> Tile:
        """The tile that suits the registers of a CPU."""
        lanes = unit.bits // _element_bits(self.block)
        return best_tile(self.row_count, self.column_count, lanes, unit.registers)

    def has_constant_columns(self) -> bool:
        """Whether `rewrite-layout` will copy the operand of the columns at compile time."""
        return is_constant_input(self.right.access.buffer) and self.right.has_dimension_of(self.columns)

    def is_unit_stride(self) -> bool:
        """Whether the elements of neighbouring columns stand side by side."""
        element = self.right.access.element
        return element[-1].terms.get(self.columns.variable) == 1 and not any(
            self.columns.variable in form.variables() for form in element[:-1]
        )

    def is_packed(self, tile: Tile) -> bool:
        """Whether the operand of the columns is copied to the order in which tiles need it."""
        if self.has_constant_columns():
            return self.column_count != tile.columns or not self.is_unit_stride()
        if self.column_count % tile.columns or not self.is_unit_stride():
            return True
        return self.row_count >= MIN_ROWS_TO_PACK_ROWS and self.right.has_dimension_of(self.columns)

    def panels(self, tile: Tile) -> Layout:
        """The operand of the columns in panels as wide as a tile: a panel after the other, the columns of one last."""
        dimension = self.right.dimension_of(self.columns)
        indices = self.right.indices
        split = indices.pop(dimension)
        exprs = (split // tile.columns, *indices, split % tile.columns)
        return Layout(self.right.number, dimension, AffineMap(self.right.rank, 0, exprs))

    def blocks(self, tile: Tile) -> list[Layout]:
        """The operands of the rows with room for all rows of the last tile."""
        layouts: list[Layout] = []
        for operand in self.left:
            dimension = operand.dimension_of(self.rows)
            indices = operand.indices
            split = indices[dimension]
            indices[dimension : dimension + 1] = [split // tile.rows, split % tile.rows]
            layouts.append(Layout(operand.number, dimension, AffineMap(operand.rank, 0, tuple(indices))))
        return layouts

    def check_worth_it(self, tile: Tile) -> None:
        """Fails if tiles would not make up for what is done for them."""
        work = prod(_extent(loop) for loop in loops_of(self.block))
        if work < MIN_WORK:
            fail(self.block, f"expected {MIN_WORK} steps or more, found {work}")
        if self.has_constant_columns():
            return
        uses = prod(_extent(loop) for loop in [*self.outer, self.rows] if not self.right.uses(loop))
        if self.is_packed(tile) and not self.is_unit_stride() and uses < MIN_ROWS_TO_PACK:
            fail(self.block, f"expected {MIN_ROWS_TO_PACK} rows or more that make up for packed columns, found {uses}")


def tile_reduction(block: BlockOp, unit: VectorUnit) -> Plan:
    """Compute a block in tiles: the sums of a tile are made side by side, and what follows them is done in the tile."""
    reduction = TiledReduction.of(block)
    tile = reduction.tile(unit)
    reduction.check_worth_it(tile)
    names = Block(function_of(block).sym_name.data, block.block_name.data)
    summary = f"{tile.rows} by {tile.vectors} vectors of {tile.lanes} elements"
    return Plan(summary, lambda schedule: _tile(schedule, names, reduction, tile))


def _tile(schedule: Schedule, block: Block, plan: TiledReduction, tile: Tile) -> None:
    outer, terms = _named(block, plan.outer), _named(block, plan.terms)
    rows, columns = _named(block, [plan.rows, plan.columns])
    has_full_rows, has_full_columns = plan.row_count % tile.rows == 0, plan.column_count % tile.columns == 0
    panels = plan.panels(tile) if plan.is_packed(tile) else None
    blocks = [] if has_full_rows else plan.blocks(tile)

    row_tile, row = schedule.split(rows, [None, tile.rows])
    column_tile, column = schedule.split(columns, [None, tile.columns])
    if panels is not None:
        _pack_columns(schedule, block, panels, tile, exact=has_full_columns)
    for layout in blocks:
        schedule.transform_layout(schedule.cache_read(block, layout.number), ("write", 0), layout.index_map)
    schedule.reorder(*outer, column_tile, row_tile, *terms, row, column)
    epilogue = _finish_in(schedule, block, row_tile)
    schedule.compact_buffer(block, 0)
    if not (has_full_rows and has_full_columns):
        schedule.unguard(block)
    init = schedule.decompose_reduction(block, terms[0])
    for part in (init, block, epilogue):
        _use_registers(schedule, part, row_tile, terms, tile)


def _extent(loop: ForOp) -> int:
    if not isinstance(loop.extent, int) or loop.extent == 0:
        fail(loop, f"expected the extent of {label_of(loop)} to be a number above 0")
    return loop.extent


def _loops(block: BlockOp) -> list[ForOp]:
    """The loops of a block that is alone in them. Fails if it is not, or if somebody has scheduled them already."""
    loops = loops_of(block)
    if block.init is None or not loops:
        fail(block, f"expected {name_of_block(block)} to be a reduction in loops")
    if guard_of(block) is not None or statement_of(block) is not loops[0]:
        fail(block, f"expected no condition around {name_of_block(block)}")
    check_nested(loops)
    for loop in loops:
        check_serial(loop)
        _extent(loop)
    return loops


def _loops_of_reduction(block: BlockOp, loops: list[ForOp]) -> list[ForOp]:
    func = function_of(block)
    driven = {arg for v in block.iter_vars if v.kind is IterKind.REDUCE for arg in variables_in(v.binding, func)}
    found = [loop for loop in loops if loop.variable in driven]
    return found or fail(block, f"expected {name_of_block(block)} to be a reduction")


def _columns(block: BlockOp, spatial: list[ForOp]) -> ForOp:
    """The loop along which results stand side by side."""
    (last,) = {access.element[-1:] for access in block_accesses(block) if access.is_write and not access.in_init} or [
        ()
    ]
    for loop in spatial:
        if last == (Form.of(loop.variable),):
            return loop
    fail(block, f"expected a loop along which {name_of_block(block)} writes elements side by side")


def _operands(block: BlockOp) -> list[Operand]:
    """What a block reads but its own results. Fails if it reads a buffer in several places, or writes several."""
    accesses = [access for access in block_accesses(block) if not access.in_init]
    if len({access.buffer for access in accesses if access.is_write}) != 1:
        fail(block, f"expected {name_of_block(block)} to write one buffer")
    operands: list[Operand] = []
    for number, buffer in enumerate(buffers_read(block)):
        reads = [access for access in accesses if access.buffer is buffer]
        if len(reads) != 1:
            fail(block, f"expected {name_of_block(block)} to read {name_of(buffer)} once a step")
        operands.append(Operand(number, reads[0]))
    return operands


def _output(block: BlockOp) -> SSAValue:
    return next(access.buffer for access in block_accesses(block) if access.is_write)


def _element_bits(block: BlockOp) -> int:
    """The size of a result. Fails for those that CPUs do not compute with as they are."""
    buffer = _output(block).type
    assert isa(buffer, MemRefType)
    bits = buffer.element_type.bitwidth if isinstance(buffer.element_type, FixedBitwidthType) else 0
    return bits if bits in (32, 64) else fail(block, f"expected results of 32 or 64 bits, found {buffer.element_type}")


def _named(block: Block, loops: list[ForOp]) -> list[Loop]:
    return [Loop(block.func, loop.label.data) for loop in loops if loop.label is not None]


def _pack_columns(schedule: Schedule, block: Block, layout: Layout, tile: Tile, *, exact: bool) -> None:
    """Copy the operand of the columns into panels, vector by vector if it fills them."""
    copy = schedule.cache_read(block, layout.number)
    schedule.transform_layout(copy, ("write", 0), layout.index_map)
    loops = schedule.get_loops(copy)
    panel, column = schedule.split(loops.pop(layout.dimension), [None, tile.columns])
    schedule.reorder(panel, *loops, column)
    if exact:
        schedule.vectorize(column)


def _finish_in(schedule: Schedule, block: Block, loop: Loop) -> Block:
    """Do what follows a block in one of its loops: the one block that goes on with its results, or a copy."""
    func = schedule.function(block.func)
    op = find_block(func, block.name)
    buffer = _output(op)
    readers = {access.block.block_name.data for access in accesses_in(func, buffer)} - {block.name}
    if isinstance(buffer.owner, AllocBufferOp) and len(readers) == 1:
        reader = Block(block.func, *readers)
        try:
            schedule.reverse_compute_at(reader, loop)
        except CompileError:
            pass  # It needs more than a tile.
        else:
            return reader
    copy = schedule.cache_write(block, 0)
    schedule.reverse_compute_at(copy, loop)
    return copy


def _use_registers(schedule: Schedule, block: Block, tile_loop: Loop, terms: Sequence[Loop], tile: Tile) -> None:
    """Write out the loops of a block in a tile, the last one as vectors."""
    loops = schedule.get_loops(block)
    *rows, columns = [loop for loop in loops[loops.index(tile_loop) + 1 :] if loop not in terms]
    vectors, lanes = schedule.split(columns, [tile.vectors, tile.lanes])
    for loop in (*rows, vectors):
        schedule.unroll(loop)
    schedule.vectorize(lanes)
