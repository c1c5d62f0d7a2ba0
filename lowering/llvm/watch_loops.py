"""Let loops ask the runtime whether they go on."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region
from xdsl.rewriter import Rewriter

from relex.dialects.target.machine import GOES_ON
from relex.passes.driver.base import RelexPass

_INTERNAL = llvm.LinkageAttr("internal")


class WatchLoopsPass(RelexPass):
    """
    Lets loops ask the runtime after each trip whether they go on, so that Ctrl-C ends them: the function that says yes
    becomes a declaration. `build` runs this pass last.

    ```mlir
    llvm.func internal @relex_goes_on() -> i1 {
      %true = llvm.mlir.constant(true) : i1
      llvm.return %true : i1
    }
    // watch-loops
    llvm.func @relex_goes_on() -> i1
    ```
    """

    name = "watch-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if (
                isinstance(function, llvm.FuncOp)
                and function.sym_name.data == GOES_ON
                and function.linkage == _INTERNAL
            ):
                properties = {**function.properties, "linkage": llvm.LinkageAttr("external")}
                declaration = llvm.FuncOp.create(properties=properties, regions=[Region()])
                declaration.location = function.location
                Rewriter.replace_op(function, declaration)
