"""Let loops ask the runtime whether they go on."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Region
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.target.machine import GOES_ON, HAS_MEMORY, LOOPS_BEGIN, LOOPS_END, PACKED_PREFIX
from relex.lowering.llvm.c_interface import call, new_function
from relex.passes.driver.base import RelexPass

_INTERNAL = llvm.LinkageAttr("internal")


class WatchLoopsPass(RelexPass):
    """
    Lets loops ask the runtime after each trip whether they go on, so that Ctrl-C ends them: the function that says yes
    becomes a declaration. Packed entries tell the runtime when calls begin and end. So does the function that asks
    whether there is memory for a buffer whose size is known only during a call. `build` runs this pass last.

    ```mlir
    llvm.func internal @relex_goes_on() -> i1 {
      %true = llvm.mlir.constant(true) : i1
      llvm.return %true : i1
    }
    // watch-loops
    llvm.func @relex_goes_on() -> i1
    llvm.func @relex_loops_begin()
    llvm.func @relex_loops_end()
    ```
    """

    name = "watch-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, llvm.FuncOp)]
        asked = {f.sym_name.data: f for f in functions if f.linkage == _INTERNAL}
        for question in [asked[name] for name in (GOES_ON, HAS_MEMORY) if name in asked]:
            properties = {**question.properties, "linkage": llvm.LinkageAttr("external")}
            Rewriter.replace_op(question, llvm.FuncOp.create(properties=properties, regions=[Region()]))
        if GOES_ON not in asked:
            return
        for name in (LOOPS_BEGIN, LOOPS_END):
            op.body.block.add_op(new_function(name, _NO_ARGUMENTS, llvm.LinkageAttr("external"), Region()))
        for entry in functions:
            block = entry.body.first_block
            if not entry.sym_name.data.startswith(PACKED_PREFIX) or block is None or block.first_op is None:
                continue
            end = block.last_op
            assert isinstance(end, llvm.ReturnOp)
            for name, place in ((LOOPS_BEGIN, block.first_op), (LOOPS_END, end)):
                Rewriter.insert_op(call(SymbolRefAttr(name), (), llvm.LLVMVoidType()), InsertPoint.before(place))


_NO_ARGUMENTS = llvm.LLVMFunctionType([], llvm.LLVMVoidType())
