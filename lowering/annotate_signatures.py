"""State in the text how functions are called from outside."""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable

from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.dialects.sizes.attributes import state_requirements
from relex.lowering.support.signatures import signatures, state_signature
from relex.passes.driver.base import RelexPass


class AnnotateSignaturesPass(RelexPass):
    """
    States the signature of every public function in the attribute `relex.signature`: its arguments and results, by
    name, shape and element type, and the requirements on their sizes, which the function states as well. Lower levels
    keep it, whose types say less: which buffers are results, for instance. A signature that is there already is
    checked.

    ```mlir
    func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<?xf32> {
      func.return %x : tensor<?xf32>
    }
    // annotate-signatures
    func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<?xf32>
        attributes {relex.signature = {inputs = [{name = "x", shape = ["n"], element_type = "f32"}],
                                       outputs = [{name = "result", shape = ["n"], element_type = "f32"}]}} {
      func.return %x : tensor<?xf32>
    }
    ```
    """

    name = "annotate-signatures"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, signature in signatures(op).items():
            function = SymbolTable.lookup_symbol(op, name)
            if function is not None and SIGNATURE_ATTR not in function.attributes:
                # The core level knows better how much memory calls need.
                state_signature(function, replace(signature, temporaries=()))
                state_requirements(function, signature.requirements)
