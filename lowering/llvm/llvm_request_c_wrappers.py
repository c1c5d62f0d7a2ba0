"""Request C wrappers for all functions."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from relex.dialects.function_arguments import C_INTERFACE_ATTR
from relex.passes.driver.base import RelexPass


class LlvmRequestCWrappersPass(RelexPass):
    """
    Sets `llvm.emit_c_interface` on every function, which `convert-func-to-llvm` reads.

    ```mlir
    func.func @f() { func.return }
    // llvm-request-c-wrappers
    func.func @f() attributes {llvm.emit_c_interface} { func.return }
    ```
    """

    name = "llvm-request-c-wrappers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                function.attributes[C_INTERFACE_ATTR] = UnitAttr()
