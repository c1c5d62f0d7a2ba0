"""The default schedule of loop functions for the CPU of a module."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import PassError
from relex.dialects.target import get_target
from relex.dialects.tir import BlockOp, IterKind, IterKindAttr, PrimFuncOp
from relex.passes.base import RelexPass
from relex.passes.loops.schedule import Block, Schedule
from relex.passes.loops.structure import blocks_in
from relex.passes.loops.tiled_reductions import tile_reduction
from relex.passes.loops.tiles import VectorUnit


@dataclass(frozen=True)
class ScheduleCpuPass(RelexPass):
    """
    Brings reductions that use their operands again and again, such as a dense layer, to tiles that fit into the vector
    registers of the module's target. It goes by what the loops do, not by what operator they come from, and takes the
    steps that a schedule consists of.

    A block is tiled if it writes elements that stand side by side along one of its loops, the columns; if this loop
    indexes one operand; and if another loop, the rows, uses that operand's elements again. The sums of a tile of rows
    and columns are made at the same time, each in its order, so that results stay the same bit for bit; the block that
    goes on with them does so in the tile. The operand of the columns is copied to the order of the tiles, unless its
    elements stand side by side and the tiles divide the columns; tiles at the edge compute more than is stored.

    Functions that are small, have sizes known at run time only, or have been scheduled already, and targets other than
    x86-64, are left alone.

    ```mlir
    tir.for %i, %j, %k in (256, 128, 784) {
      ... // y[i, j] += x[i, k] * w[j, k]
    }
    // schedule-cpu
    %w_local = tir.alloc_buffer : memref<4x784x32xf32>
    tir.for %panel, %k, vectorized %column in (4, 784, 32) {
      ... // w_local[panel, k, column] = w[32 panel + column, k]
    }
    tir.for %panel, %tile in (4, 32) {
      %sums = tir.alloc_buffer : memref<8x32xf32>
      tir.for %k, unrolled %row, unrolled %vector, vectorized %lane in (784, 8, 2, 16) {
        ... // sums[row, 16 vector + lane] += x[8 tile + row, k] * w_local[panel, k, 16 vector + lane]
      }
      ... // y[8 tile + row, 32 panel + 16 vector + lane] = sums[row, 16 vector + lane]
    }
    ```
    """

    name = "schedule-cpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unit = VectorUnit.of(get_target(op))
        if unit is None:
            return
        for func in [f for f in op.ops if isinstance(f, PrimFuncOp)]:
            _schedule(func, unit)


def _schedule(func: PrimFuncOp, unit: VectorUnit) -> None:
    """Tile what can be tiled in a function."""
    name = func.sym_name.data
    for block in [b.block_name.data for b in blocks_in(func) if _is_reduction(b)]:
        # A step that is refused leaves those before it undone as well: they are taken on a copy.
        schedule = Schedule(ModuleOp([func.clone()]))
        try:
            tile_reduction(schedule, Block(name, block), unit)
        except PassError:
            continue
        tiled = schedule.function(name)
        tiled.detach()
        Rewriter.insert_op(tiled, InsertPoint.before(func))
        func.detach()
        func.erase()
        func = tiled


def _is_reduction(block: BlockOp) -> bool:
    return IterKindAttr(IterKind.REDUCE) in block.kinds
