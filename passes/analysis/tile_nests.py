"""Loops that an instruction for tiles can do: products of rows and columns of words, added to sums in a buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as pairs_of
from math import copysign

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import PassError, fail, name_of
from relex.dialects.fast_math import may_reassociate
from relex.dialects.function_arguments import TENSORIZED_ATTR
from relex.dialects.index.atoms import Atom
from relex.dialects.index.expr import Index, IndexExpr, depends_on, terms_of
from relex.dialects.index.values import replace_atoms
from relex.dialects.target.processors import Processor
from relex.dialects.tir import TILE_PRODUCTS, BlockOp, ForOp, InitOp, IterKind, TileProduct
from relex.dialects.tir.accesses import Access, Element
from relex.dialects.tir.tiles import MOST_BYTES, MOST_ROWS
from relex.dialects.upstream.hints import isa
from relex.passes.analysis.dependence import block_accesses, may_alias
from relex.passes.analysis.loop_tree import (
    blocks_in,
    check_nested,
    check_serial,
    function_of,
    guard_of,
    label_of,
    loops_of,
    name_of_block,
    variables_of_kind,
)

WORD_BYTES = 4

MOST_WORDS = MOST_BYTES // WORD_BYTES
"""Words in a row of a tile."""

ABREAST = 2
"""Tiles of sums side by side, and one below the other: four, and two of each operand, are all that there are."""

LEFT, RIGHT = ABREAST**2, ABREAST**2 + ABREAST
"""The numbers of the first tiles of both operands; sums come first."""

Shapes = tuple[tuple[int, int], ...]
"""The rows of each tile, and the bytes of its rows."""


@dataclass(frozen=True)
class TileCopy:
    """A tile in a buffer."""

    tile: int
    rows: int
    words: int
    buffer: SSAValue
    element: Element
    """The first element, in terms of the loops around the tile."""

    dimension: int
    step: int
    """The rows are as many places of a dimension apart."""


@dataclass(frozen=True)
class TileNest:
    """A block that multiplies words, in loops of which the three innermost ones become tiles: over the words of a row
    of one operand, which are as many words of a column of the other one, over rows, and over columns. A loop over two
    groups of rows, such as rows of an image, may be around the last two. The loops around them, the terms, stay."""

    block: BlockOp
    by: str
    terms: Sequence[ForOp]
    words: ForOp
    groups: ForOp | None
    rows: ForOp
    columns: ForOp
    total: Access
    left: Access
    right: Access

    @classmethod
    def of(cls, loop: ForOp, by: str) -> TileNest:
        """Return the nest that begins with a loop, for an instruction; fail with the reason if it is none."""
        product = TILE_PRODUCTS.get(by) or fail(loop, f"expected one of {', '.join(TILE_PRODUCTS)}, found '{by}'")
        blocks = [*blocks_in(loop)]
        if len(blocks) != 1 or guard_of(blocks[0]) is not None:
            fail(loop, f"expected {label_of(loop)} to be around one block without a condition")
        (block,) = blocks
        loops = loops_of(block)
        nest = loops[loops.index(loop) :]
        for inner in nest:
            check_serial(inner)
        check_nested(nest)
        if len(nest) < 3:
            fail(loop, f"expected loops over words, rows and columns from {label_of(loop)} on")
        *terms, words, rows, columns = nest
        total, (left, right) = _sum_of_products(block, by, product)
        groups = None
        if terms and any(depends_on(form, words.variable) for form in total.element):
            words, groups = terms.pop(), words
        made = cls(block, by, terms, words, groups, rows, columns, total, left, right)
        made._check(product.element)
        if block.init is not None:
            made._check_init(block.init)
        return made

    def _check_init(self, init: InitOp) -> None:
        """Fail unless an init sets the sums to zeros in the first iteration of the loops of the nest."""
        name, stored = name_of_block(self.block), [op for op in init.body.block.ops if isinstance(op, memref.StoreOp)]
        if [(op.memref, Access.of(op).element) for op in stored] != [(self.total.buffer, self.total.element)]:
            fail(init, f"expected the init of {name} to store the element that {name} adds to")
        if not _is_zero(stored[0].value):
            fail(init, f"expected the init of {name} to store zeros")
        if not variables_of_kind(self.block, IterKind.REDUCE) <= {loop.variable for loop in (*self.terms, self.words)}:
            fail(init, f"expected all terms of {name} in loops from {label_of([*self.terms, self.words][0])} on")

    @property
    def begins_with_zeros(self) -> bool:
        """Whether the sums are zeros before the nest runs."""
        return self.block.init is not None

    def _check(self, element: Attribute) -> None:
        most_rows = ABREAST * MOST_ROWS if self.groups is None else MOST_ROWS
        limits = [(self.words, MOST_WORDS), (self.rows, most_rows), (self.columns, ABREAST * MOST_WORDS)]
        for loop, most in limits if self.groups is None else [*limits, (self.groups, ABREAST)]:
            if not isinstance(loop.extent, int) or not 1 <= loop.extent <= most:
                fail(loop, f"expected {label_of(loop)} to have 1 to {most} iterations")
        for access, kind in ((self.left, i32), (self.right, i32), (self.total, element)):
            if not isa(access.buffer.type, MemRefType) or access.buffer.type.element_type != kind:
                fail(self.block, f"expected {name_of(access.buffer)} to have elements of {kind}")
        function = function_of(self.block)
        for factor in (self.left.buffer, self.right.buffer):
            if may_alias(factor, self.total.buffer, function):
                fail(
                    self.block,
                    f"expected {name_of(factor)} not to share memory with the sums in {name_of(self.total.buffer)}",
                )
        for access, loop in ((self.left, self.columns), (self.right, self.rows), (self.right, self.groups)):
            if loop is not None:
                _check_apart(access, loop)
        for loop in (*self.terms, self.words):
            _check_apart(self.total, loop)
        _ = self.totals, self.operands

    @cached_property
    def totals(self) -> list[TileCopy]:
        """The tiles of sums."""
        return [*self._copies(0, ABREAST, self.total, self.rows, self.columns)]

    @cached_property
    def operands(self) -> list[TileCopy]:
        """The tiles of the operands."""
        left = self._copies(LEFT, 1, self.left, self.rows, self.words)
        return [*left, *self._copies(RIGHT, ABREAST, self.right, self.words, self.columns)]

    @property
    def products(self) -> Iterator[tuple[int, int, int]]:
        """The numbers of the tiles that are added to, and of their factors."""
        for copy in self.totals:
            row, column = divmod(copy.tile, ABREAST)
            yield copy.tile, LEFT + row, RIGHT + column

    @cached_property
    def shapes(self) -> Shapes:
        """The rows of each tile, and the bytes of its rows; small ones for tiles that are not used."""
        found = {copy.tile: (copy.rows, WORD_BYTES * copy.words) for copy in (*self.totals, *self.operands)}
        return tuple(found.get(tile, (1, WORD_BYTES)) for tile in range(RIGHT + ABREAST))

    def _copies(self, first: int, across: int, access: Access, rows: ForOp, words: ForOp) -> Iterator[TileCopy]:
        """Yield the tiles of what loops access, where `across` tiles are side by side."""
        dimension, step = self._place(access, rows)
        last, distance = self._place(access, words)
        name = name_of(access.buffer)
        if last != len(access.element) - 1 or distance != 1:
            fail(self.block, f"expected words of {name} side by side along {label_of(words)}")
        if step < 1 or (dimension == last and access is not self.left):
            fail(self.block, f"expected {label_of(rows)} to index {name} upwards, and not in the last dimension")
        inside = {loop.variable for loop in (self.words, self.rows, self.columns)}
        groups = _parts(self.groups, 1) if self.groups is not None and rows is self.rows else [(0, 1)]
        for i, ((group, _), (row, height)) in enumerate(pairs_of(groups, _parts(rows, MOST_ROWS))):
            for j, (column, width) in enumerate(_parts(words, MOST_WORDS)):
                starts: dict[Atom, Index] = {**dict.fromkeys(inside, 0), rows.variable: row, words.variable: column}
                if self.groups is not None:
                    starts[self.groups.variable] = group
                element = tuple(replace_atoms(form, starts.get) for form in access.element)
                yield TileCopy(first + across * i + j, height, width, access.buffer, element, dimension, step)

    def _place(self, access: Access, loop: ForOp) -> tuple[int, int]:
        """Return the dimension in which a loop indexes a buffer, and by which factor; fail if there are several."""
        variable = loop.variable
        places = [i for i, form in enumerate(access.element) if depends_on(form, variable)]
        factor = terms_of(access.element[places[0]]).get(variable, 0) if places else 0
        if len(places) != 1 or depends_on(access.element[places[0]] - IndexExpr.of(variable) * factor, variable):
            fail(self.block, f"expected {label_of(loop)} to index {name_of(access.buffer)} in one dimension")
        return places[0], factor


def instruction_for(kind: type[Operation], processor: Processor) -> str | None:
    """Return the instruction of a processor for products of words by an op, if it has one."""
    for name, product in TILE_PRODUCTS.items():
        is_there = product.architecture == processor.architecture and product.feature in processor.tile_features
        if is_there and product.repeats is kind:
            return name
    return None


def _sum_of_products(block: BlockOp, by: str, product: TileProduct) -> tuple[Access, Sequence[Access]]:
    """Return what a block adds to, and both factors of what it adds; fail if it does anything else."""
    accesses = [access for access in block_accesses(block) if access.op.parent is block.body.block]
    writes = [access for access in accesses if access.is_write]
    reads: dict[SSAValue, Access] = {access.op.results[0]: access for access in accesses if not access.is_write}
    adds = writes[0].op.operands[0].owner if len(writes) == 1 and len(reads) == 3 else None
    if not isinstance(adds, arith.AddiOp | arith.AddfOp):
        fail(block, f"expected {name_of_block(block)} to add to one element, and to read two others")
    if isinstance(adds, arith.AddfOp) and not may_reassociate(adds):
        fail(adds, "expected terms that may be added up in any order (reassoc)")
    owners = [value.owner for value in adds.operands]
    factors = [op for op in owners if isinstance(op, Operation) and type(op) is product.repeats]
    if len(factors) != 1 or not all(value in reads for value in factors[0].operands):
        op = product.repeats.name if product.repeats is not None else "op that loops have"
        fail(block, f"expected one '{op}' of two words in the sum, for {by}")
    olds = [reads[value] for value in adds.operands if value in reads]
    if [(old.buffer, old.element) for old in olds] != [(writes[0].buffer, writes[0].element)]:
        fail(block, f"expected {name_of_block(block)} to read the element that it adds to")
    return writes[0], [reads[value] for value in factors[0].operands]


def _is_zero(value: SSAValue) -> bool:
    match value.owner:
        case arith.ConstantOp(value=FloatAttr() | IntegerAttr() as number):
            return number.value.data == 0 and copysign(1, number.value.data) > 0
        case _:
            return False


def _check_apart(access: Access, loop: ForOp) -> None:
    if any(depends_on(form, loop.variable) for form in access.element):
        fail(loop, f"expected {label_of(loop)} not to index {name_of(access.buffer)}")


def _parts(loop: ForOp, most: int) -> list[tuple[int, int]]:
    """Return the first iteration of each tile, and their number."""
    assert isinstance(loop.extent, int)
    return [(first, min(most, loop.extent - first)) for first in range(0, loop.extent, most)]


def tensorized(loop: ForOp) -> TileNest | None:
    """Return the nest of a loop that `tensorize` was applied to; None if there is none, or if it has become another one
    since."""
    attribute = loop.attributes.get(TENSORIZED_ATTR)
    if not isinstance(attribute, StringAttr):
        return None
    try:
        return TileNest.of(loop, attribute.data)
    except PassError:
        return None
