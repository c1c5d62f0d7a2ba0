"""Annotate loop functions with their op patterns."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.tir import PrimFuncOp
from relex.dialects.tir.op_pattern import set_op_pattern
from relex.passes.analysis.op_patterns import stated_pattern
from relex.passes.driver.base import RelexPass


class AnnotateOpPatternPass(RelexPass):
    """
    Annotates each loop function with the op pattern that `fuse-ops` goes by: `elementwise`, `broadcast`, `injective`,
    `reduction`, `out-elementwise-fusable` or `opaque`. The pattern follows from the blocks, whatever the loops around
    them, so hand-written and scheduled functions have one too. A function that is annotated already keeps its pattern:
    `opaque` keeps it out of every fusion, as it does functions that have their schedule.

    ```mlir
    tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
      %zero = arith.constant 0.0 : f32
      tir.for %i in (8) {
        tir.block @Y (%vi: spatial<8> = %i) {
          %x = memref.load %X[%vi] : memref<8xf32>
          %y = arith.maximumf %x, %zero : f32
          memref.store %y, %Y[%vi] : memref<8xf32>
        }
      }
    }
    // annotate-op-pattern
    tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.op_pattern = "elementwise"} {
      ...
    }
    ```
    """

    name = "annotate-op-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, PrimFuncOp):
                set_op_pattern(function, stated_pattern(function))
