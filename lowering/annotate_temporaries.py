"""State in the text how much memory calls of functions need."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.sizes import names_in
from relex.lowering.memory.needs import MemoryNeeds
from relex.lowering.support.signatures import expect_signature, state_signature, stated_signature
from relex.passes.driver.base import RelexPass


class AnnotateTemporariesPass(RelexPass):
    """
    Adds to the signature of every function how many bytes a call allocates: the largest of `temporaries`, which are
    expressions of sizes. A number that is there already is checked.

    ```mlir
    func.func @main(%x: memref<?xf32> {relex.dims = ["n"]})
        attributes {relex.signature = {inputs = [{name = "x", shape = ["n"], element_type = "f32"}], outputs = []}} {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %y = memref.alloc(%n) : memref<?xf32>
      func.return
    }
    // annotate-temporaries
    func.func @main(%x: memref<?xf32> {relex.dims = ["n"]})
        attributes {relex.signature = {inputs = [{name = "x", shape = ["n"], element_type = "f32"}], outputs = [],
                                       temporaries = ["4 * n"]}} {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?xf32>
      %y = memref.alloc(%n) : memref<?xf32>
      func.return
    }
    ```
    """

    name = "annotate-temporaries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        needs = MemoryNeeds(op)
        for function in op.ops:
            if not isinstance(function, func.FuncOp) or not function.body.blocks:
                continue
            signature = stated_signature(function, function.sym_name.data)
            if signature is None:
                continue
            known = signature.names.keys()
            told = tuple(size for size in needs.of(function.sym_name.data) if known >= set(names_in(size)))
            needed = replace(signature, temporaries=told)
            if signature.temporaries:
                expect_signature(function, needed, signature)
            state_signature(function, needed)
