"""
The loop dialect.

A `tir.prim_func` computes buffers from buffers by loop nests around blocks. Inside, scalars are computed by `arith` and
`math`, and buffers, which are `memref`s of identity layout, are read and written by `memref.load` and `memref.store`.
"""

from xdsl.ir import Dialect

from relex.dialects.tir.blocks import BlockOp, InitOp, IterKind, IterKindAttr, IterVar, loops_around
from relex.dialects.tir.dot4 import Dot2iOp, Dot2Op, Dot4Op
from relex.dialects.tir.look_up import TableLookUpOp, table_of
from relex.dialects.tir.loops import ForOp, LoopKind, LoopKindAttr
from relex.dialects.tir.op_pattern import OP_PATTERN_ATTR, OpPattern
from relex.dialects.tir.prim_func import NOALIAS_ATTR, AllocBufferOp, BufferConstr, CallLoopsOp, PrimFuncOp
from relex.dialects.tir.tiles import (
    TILE_PRODUCTS,
    ConfigureTilesOp,
    LoadTileOp,
    MultiplyTilesOp,
    ReleaseTilesOp,
    StoreTileOp,
    TileProduct,
    ZeroTileOp,
)

Tir = Dialect(
    "tir",
    [
        AllocBufferOp,
        BlockOp,
        CallLoopsOp,
        ConfigureTilesOp,
        Dot2Op,
        Dot2iOp,
        Dot4Op,
        ForOp,
        InitOp,
        LoadTileOp,
        MultiplyTilesOp,
        PrimFuncOp,
        ReleaseTilesOp,
        StoreTileOp,
        TableLookUpOp,
        ZeroTileOp,
    ],
    [IterKindAttr, LoopKindAttr],
)

__all__ = [
    "NOALIAS_ATTR",
    "OP_PATTERN_ATTR",
    "TILE_PRODUCTS",
    "AllocBufferOp",
    "BlockOp",
    "BufferConstr",
    "CallLoopsOp",
    "ConfigureTilesOp",
    "Dot2Op",
    "Dot2iOp",
    "Dot4Op",
    "ForOp",
    "InitOp",
    "IterKind",
    "IterKindAttr",
    "IterVar",
    "LoadTileOp",
    "LoopKind",
    "LoopKindAttr",
    "MultiplyTilesOp",
    "OpPattern",
    "PrimFuncOp",
    "ReleaseTilesOp",
    "StoreTileOp",
    "TableLookUpOp",
    "TileProduct",
    "Tir",
    "ZeroTileOp",
    "loops_around",
    "table_of",
]


def __dir__() -> list[str]:
    return __all__
