"""Conversion of ops on tiles to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i8

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.errors import fail
from relex.dialects.target.features import has_feature_of, module_target
from relex.dialects.tir import ConfigureTilesOp, LoadTileOp, MultiplyTilesOp, ReleaseTilesOp, StoreTileOp, ZeroTileOp
from relex.dialects.tir.tiles import MoveTileOp
from relex.lowering.conversion import Conversion, ConversionTable
from relex.lowering.llvm.buffers import MemRefOperand, as_value, product
from relex.lowering.llvm.intrinsics import call_intrinsic
from relex.lowering.llvm.types import PTR, constant

TILES_TO_LLVM = ConversionTable("convert-tiles-to-llvm")
"""Conversion rules for the ops of `tir` on tiles."""


@TILES_TO_LLVM.rule(ConfigureTilesOp)
def convert_configure(op: ConfigureTilesOp, conversion: Conversion) -> None:
    """Convert to `ldtilecfg`, which reads the shapes from memory."""
    if not has_feature_of(module_target(conversion.module), "x86_64", "amx-tile"):
        fail(op, "expected a target with tiles (amx-tile)")
    data = configuration(op.pairs)
    name = f"relex.tiles.{'.'.join(f'{rows}x{size}' for rows, size in op.pairs)}"
    value = DenseIntOrFPElementsAttr.from_list(TensorType(i8, [len(data)]), list(data))
    storage = llvm.LLVMArrayType(len(data), i8)
    conversion.declare(name, lambda: llvm.GlobalOp(storage, name, "private", constant=True, value=value))
    address = conversion.add(llvm.AddressOfOp(name, PTR)).result
    conversion.add(call_intrinsic("llvm.x86.ldtilecfg", [address], []))
    conversion.replace()


def configuration(shapes: Sequence[tuple[int, int]]) -> bytes:
    """Return the 64 bytes from which a processor loads shapes: the number 1 of the palette, which has eight tiles, from
    place 16 on the bytes of the rows of each in 16 bits, and from place 48 on the numbers of rows."""
    data = bytearray(64)
    data[0] = 1
    for tile, (rows, size) in enumerate(shapes):
        data[16 + 2 * tile : 18 + 2 * tile] = size.to_bytes(2, "little")
        data[48 + tile] = rows
    return bytes(data)


@TILES_TO_LLVM.rule(ReleaseTilesOp)
def convert_release(op: ReleaseTilesOp, conversion: Conversion) -> None:
    """Convert to `tilerelease`."""
    conversion.add(call_intrinsic("llvm.x86.tilerelease", [], []))
    conversion.replace()


@TILES_TO_LLVM.rule(ZeroTileOp)
def convert_zero(op: ZeroTileOp, conversion: Conversion) -> None:
    """Convert to `tilezero`."""
    conversion.add(call_intrinsic("llvm.x86.tilezero", [constant(conversion, op.tile.value.data, i8)], []))
    conversion.replace()


@TILES_TO_LLVM.rule(LoadTileOp, StoreTileOp)
def convert_move(op: MoveTileOp, conversion: Conversion) -> None:
    """Convert to `tileloadd` or `tilestored`, with the distance of the rows in bytes."""
    buffer = MemRefOperand(op, conversion, op.buffer)
    if buffer.static_strides[-1] != 1:
        fail(op, f"expected contiguous elements in the last dimension, found {buffer.kind}")
    step = op.step.value.data * size_in_bytes(buffer.kind.element_type)
    distance = as_value(conversion, product(conversion, buffer.strides[op.dimension.value.data], step))
    pointer = buffer.pointer(op.indices)
    name = "llvm.x86.tileloadd64" if isinstance(op, LoadTileOp) else "llvm.x86.tilestored64"
    tile = constant(conversion, op.tile.value.data, i8)
    conversion.add(call_intrinsic(name, [tile, pointer, distance], []))
    conversion.replace()


@TILES_TO_LLVM.rule(MultiplyTilesOp)
def convert_multiply(op: MultiplyTilesOp, conversion: Conversion) -> None:
    """Convert to the instruction that the op names."""
    instruction = op.product
    if not has_feature_of(module_target(conversion.module), instruction.architecture, instruction.feature):
        fail(op, f"expected a target with '{op.by.data}' ({instruction.feature})")
    tiles = [constant(conversion, number.value.data, i8) for number in (op.tile, op.lhs, op.rhs)]
    conversion.add(call_intrinsic(instruction.intrinsic, tiles, []))
    conversion.replace()
