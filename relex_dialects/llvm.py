"""Ops of the `llvm` dialect that xDSL's does not have.

They look and mean what MLIR's ops of the same names do. A context has one dialect of a name, which is xDSL's;
`load_missing_ops` adds these to it.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.irdl import irdl_op_definition


@irdl_op_definition
class FPToSIOp(llvm.GenericCastOp):
    """
    Float to signed integer, rounding towards zero. Poison when the value does not fit.

    ```mlir
    %1 = llvm.fptosi %0 : f32 to i32
    ```
    """

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(llvm.GenericCastOp):
    """
    Float to unsigned integer, rounding towards zero. Poison when the value does not fit.

    ```mlir
    %1 = llvm.fptoui %0 : f32 to i32
    ```
    """

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(llvm.GenericCastOp):
    """
    Unsigned integer to float.

    ```mlir
    %1 = llvm.uitofp %0 : i32 to f32
    ```
    """

    name = "llvm.uitofp"


MISSING_OPS = {op.name: op for op in (FPToSIOp, FPToUIOp, UIToFPOp)}


def load_missing_ops(context: Context) -> None:
    """Make a context that knows xDSL's `llvm` dialect parse the ops of this module, too."""
    for name, op in MISSING_OPS.items():
        if context.get_optional_op(name) is None:
            context.load_op(op)
