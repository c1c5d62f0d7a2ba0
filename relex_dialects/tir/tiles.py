"""Tiles: the two-dimensional registers of a unit that multiplies matrices, and the instructions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from relex.dialects.dtypes import size_in_bytes, takes_whole_bytes
from relex.dialects.table import Table
from relex.dialects.tir.dot4 import Dot2Op, Dot4Op
from relex.dialects.upstream.hints import isa

TILES = 8
"""The number of tiles."""

MOST_ROWS, MOST_BYTES = 16, 64
"""The most rows of a tile, and the most bytes of a row."""


@dataclass(frozen=True)
class TileProduct:
    """An instruction that multiplies the words in the rows of a tile with the words in the columns of another one, as
    its ISA calls it. What a product of words is, the interpreter says: `relex.reference.interpreter.tiles`."""

    intrinsic: str
    architecture: str
    feature: str
    """LLVM's names of the architecture, and of the feature of the processors that have the instruction."""

    element: Attribute
    """The type of the sums."""

    repeats: type[Operation] | None = None
    """The op for a product of two words, if loops have one."""


TILE_PRODUCTS = Table[str, TileProduct]("tile products")
"""The instructions by name. Open: `TILE_PRODUCTS.add(TileProduct(...), "name")` adds one."""

for _name, _repeats in {"tdpbssd": None, "tdpbsud": None, "tdpbusd": Dot4Op, "tdpbuud": None}.items():
    TILE_PRODUCTS.add(TileProduct(f"llvm.x86.{_name}", "x86_64", "amx-int8", i32, _repeats), _name)
TILE_PRODUCTS.add(TileProduct("llvm.x86.tdpbf16ps", "x86_64", "amx-bf16", f32, Dot2Op), "tdpbf16ps")


class StateOp(IRDLOperation):
    """An op that reads or writes tiles, which later ones use: they keep their order."""

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class ConfigureTilesOp(StateOp):
    """
    Sets the shapes of the tiles, each a number of rows and a number of bytes of a row, and fills them with zeros. The
    shapes are in a row; tiles without a shape are not used.

    ```mlir
    tir.configure_tiles [16, 64, 16, 64, 16, 64]
    ```
    """

    name = "tir.configure_tiles"

    shapes = prop_def(DenseArrayBase.constr(i64))

    assembly_format = "$shapes attr-dict"

    def __init__(self, shapes: Sequence[tuple[int, int]]):
        numbers = [number for shape in shapes for number in shape]
        super().__init__(properties={"shapes": DenseArrayBase.from_list(i64, numbers)})

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The rows of each tile, and the bytes of its rows."""
        numbers = list(map(int, self.shapes.iter_values()))
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def verify_(self) -> None:
        if len(self.shapes) % 2 or len(self.shapes) > 2 * TILES:
            raise VerifyException(f"expected two numbers for each of {TILES} tiles at most, found {len(self.shapes)}")
        for rows, size in self.pairs:
            if not 1 <= rows <= MOST_ROWS or not 1 <= size <= MOST_BYTES or size % 4:
                raise VerifyException(
                    f"expected 1 to {MOST_ROWS} rows of 4 to {MOST_BYTES} bytes, in words, found {rows} by {size}"
                )


@irdl_op_definition
class ReleaseTilesOp(StateOp):
    """
    Ends the use of tiles until they are configured again: the processor no longer keeps their contents.

    ```mlir
    tir.release_tiles
    ```
    """

    name = "tir.release_tiles"

    assembly_format = "attr-dict"


class TileOp(StateOp):
    """An op on a tile, given by its number."""

    tile = prop_def(IntegerAttr.constr(i64))

    def verify_(self) -> None:
        _verify_number(self.tile)


@irdl_op_definition
class ZeroTileOp(TileOp):
    """
    Fills a tile with zeros.

    ```mlir
    tir.zero_tile 0
    ```
    """

    name = "tir.zero_tile"

    assembly_format = "$tile attr-dict"

    def __init__(self, tile: int):
        super().__init__(properties={"tile": IntegerAttr(tile, i64)})


class MoveTileOp(TileOp):
    """An op that copies a tile from or to a buffer. The bytes of a row are contiguous, from the element at the indices
    on; the rows are `step` places of a dimension apart."""

    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    dimension = prop_def(IntegerAttr.constr(i64))
    step = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$tile `,` $buffer `[` $indices `]` `rows` $dimension `step` $step attr-dict `:` type($buffer)"

    def __init__(self, tile: int, buffer: SSAValue, indices: Sequence[SSAValue], dimension: int, step: int = 1):
        numbers = {"tile": tile, "dimension": dimension, "step": step}
        super().__init__(
            operands=[buffer, indices],
            properties={name: IntegerAttr(number, i64) for name, number in numbers.items()},
        )

    def verify_(self) -> None:
        super().verify_()
        kind = self.buffer.type
        assert isa(kind, MemRefType)
        if (rank := kind.get_num_dims()) != len(self.indices):
            raise VerifyException(f"expected {rank} indices, one for each dimension, found {len(self.indices)}")
        if self.dimension.value.data not in range(rank):
            raise VerifyException(f"expected rows along one of {rank} dimensions, found {self.dimension.value.data}")
        if self.step.value.data < 1:
            raise VerifyException(f"expected rows 1 place apart or more, found {self.step.value.data}")
        if not takes_whole_bytes(kind.element_type) or MOST_BYTES % size_in_bytes(kind.element_type):
            raise VerifyException(f"expected elements that fill bytes and rows, found {kind.element_type}")


@irdl_op_definition
class LoadTileOp(MoveTileOp):
    """
    Fills a tile from a buffer.

    ```mlir
    tir.load_tile 4, %x[%i, %k] rows 0 step 1 : memref<64x32xi32>
    ```
    """

    name = "tir.load_tile"


@irdl_op_definition
class StoreTileOp(MoveTileOp):
    """
    Copies a tile to a buffer.

    ```mlir
    tir.store_tile 0, %y[%i, %j] rows 0 step 1 : memref<64x32xi32>
    ```
    """

    name = "tir.store_tile"


@irdl_op_definition
class MultiplyTilesOp(TileOp):
    """
    Adds the product of two tiles to a third one, by an instruction of `TILE_PRODUCTS`: the words in rows of the first
    one with the words in columns of the second one.

    ```mlir
    tir.multiply_tiles "tdpbusd" 0, 4, 6
    ```
    """

    name = "tir.multiply_tiles"

    by = prop_def(StringAttr)
    lhs = prop_def(IntegerAttr.constr(i64))
    rhs = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$by $tile `,` $lhs `,` $rhs attr-dict"

    def __init__(self, by: str, tile: int, lhs: int, rhs: int):
        numbers = {"tile": tile, "lhs": lhs, "rhs": rhs}
        super().__init__(
            properties={"by": StringAttr(by), **{name: IntegerAttr(number, i64) for name, number in numbers.items()}}
        )

    @property
    def product(self) -> TileProduct:
        """The instruction."""
        return TILE_PRODUCTS[self.by.data]

    def verify_(self) -> None:
        super().verify_()
        _verify_number(self.lhs)
        _verify_number(self.rhs)
        if self.by.data not in TILE_PRODUCTS:
            raise VerifyException(f"expected one of {', '.join(TILE_PRODUCTS)}, found '{self.by.data}'")
        if len({self.tile, self.lhs, self.rhs}) < 3:
            raise VerifyException("expected three tiles that differ")


def _verify_number(tile: IntegerAttr) -> None:
    if tile.value.data not in range(TILES):
        raise VerifyException(f"expected a tile from 0 to {TILES - 1}, found {tile.value.data}")
