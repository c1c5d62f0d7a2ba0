"""
The loop dialect.

A `tir.prim_func` computes buffers from buffers by loop nests around blocks. Inside, scalars are computed by `arith` and
`math`, and buffers, which are `memref`s of identity layout, are read and written by `memref.load` and `memref.store`.
"""

from xdsl.ir import Dialect

from relex.dialects.tir.blocks import BlockOp, InitOp, IterKind, IterKindAttr, IterVar, loops_around
from relex.dialects.tir.dot4 import Dot4Op
from relex.dialects.tir.look_up import TableLookUpOp, table_of
from relex.dialects.tir.loops import ForOp, LoopKind, LoopKindAttr
from relex.dialects.tir.op_pattern import OP_PATTERN_ATTR, OpPattern
from relex.dialects.tir.prim_func import NOALIAS_ATTR, AllocBufferOp, BufferConstr, CallLoopsOp, PrimFuncOp

Tir = Dialect(
    "tir",
    [AllocBufferOp, BlockOp, CallLoopsOp, Dot4Op, ForOp, InitOp, PrimFuncOp, TableLookUpOp],
    [IterKindAttr, LoopKindAttr],
)

__all__ = [
    "NOALIAS_ATTR",
    "OP_PATTERN_ATTR",
    "AllocBufferOp",
    "BlockOp",
    "BufferConstr",
    "CallLoopsOp",
    "Dot4Op",
    "ForOp",
    "InitOp",
    "IterKind",
    "IterKindAttr",
    "IterVar",
    "LoopKind",
    "LoopKindAttr",
    "OpPattern",
    "PrimFuncOp",
    "TableLookUpOp",
    "Tir",
    "loops_around",
    "table_of",
]


def __dir__() -> list[str]:
    return __all__
