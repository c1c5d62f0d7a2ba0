"""Apply the schedules of a module."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.dialects.errors import fail
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.tir import PrimFuncOp
from relex.passes.base import RelexPass
from relex.passes.editing.stated_sizes import state_sizes
from relex.passes.schedule import apply_primitive


class ApplySchedulePass(RelexPass):
    """
    Applies every `schedule.sequence` to its function, step by step, and removes it. A step that would change what the
    function computes, or that does not fit it, is an error at that step.

    ```mlir
    tir.prim_func @relu(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
      %zero = arith.constant 0.0 : f32
      tir.for %i @i in (16) {
        tir.block @Y (%vi: spatial<16> = %i) {
          %x = memref.load %X[%vi] : memref<16xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<16xf32>
        }
      }
    }
    schedule.sequence for @relu {
      schedule.split @i by [?, 8]
      schedule.vectorize @i_1
    }
    // apply-schedule
    tir.prim_func @relu(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
      %c8 = arith.constant 8 : index
      %zero = arith.constant 0.0 : f32
      tir.for %i_0 @i_0, vectorized %i_1 @i_1 in (2, 8) {
        %0 = arith.muli %i_0, %c8 : index
        %i = arith.addi %0, %i_1 : index
        tir.block @Y (%vi: spatial<16> = %i) {
          %x = memref.load %X[%vi] : memref<16xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<16xf32>
        }
      }
    }
    ```
    """

    name = "apply-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sequences = [o for o in op.ops if isinstance(o, SequenceOp)]
        if sequences:
            state_sizes(op)
        for sequence in sequences:
            func = SymbolTable.lookup_symbol(op, sequence.function)
            if not isinstance(func, PrimFuncOp):
                fail(sequence, f"expected {sequence.function} to be a 'tir.prim_func'")
            for step in sequence.body.block.ops:
                if isinstance(step, PrimitiveOp):
                    apply_primitive(step, func)
            sequence.detach()
            sequence.erase()
