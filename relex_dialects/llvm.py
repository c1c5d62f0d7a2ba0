"""The `llvm` dialect with the ops that xDSL's has not got yet.

They look and mean what MLIR's ops of the same names do. A context has one dialect of a name, so `LLVM` here is xDSL's
dialect and these ops together.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.ir import Dialect
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


_EXTRA_OPS = (FPToSIOp, FPToUIOp, UIToFPOp)
_KNOWN_NAMES = {op.name for op in llvm.LLVM.operations}

LLVM = Dialect(
    "llvm",
    [*llvm.LLVM.operations, *(op for op in _EXTRA_OPS if op.name not in _KNOWN_NAMES)],
    [*llvm.LLVM.attributes],
)
