"""Annotate loop functions whose buffers do not alias."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.tir import CallLoopsOp
from relex.dialects.tir.prim_func import NOALIAS_ATTR
from relex.dialects.walks import walk
from relex.passes.analysis.hand_written import hand_written
from relex.passes.driver.base import RelexPass


class AnnotateNoaliasPass(RelexPass):
    """
    Annotates loop functions with `tir.noalias`, unless a `tir.call` passes them buffers: `relex.call_tir` allocates the
    outputs, and callers from outside pass arrays that share no memory with results. Python checks that, and headers for
    C say so. Without the attribute, a block that writes an output may change what others read, and stays where it is.

    ```mlir
    tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
      ...
    }
    // annotate-noalias
    tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
      ...
    }
    ```
    """

    name = "annotate-noalias"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [function for function in hand_written(op) if not function.noalias]
        if not functions:
            return
        called = {inner.callee.root_reference.data for inner in walk(op) if isinstance(inner, CallLoopsOp)}
        for function in functions:
            if function.sym_name.data not in called:
                function.attributes[NOALIAS_ATTR] = UnitAttr()
