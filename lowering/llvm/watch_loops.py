"""Let loops ask the runtime whether they go on."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i1, i32
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.target import machine
from relex.lowering.llvm.c_interface import call, declaration, new_function
from relex.lowering.llvm.types import MONOTONIC
from relex.passes.driver.base import RelexPass

_INTERNAL = llvm.LinkageAttr("internal")


class WatchLoopsPass(RelexPass):
    """
    Lets loops look after each trip whether they may have to stop, and ask the runtime then, so that Ctrl-C ends them.
    Where there is no reason to stop, that is a load, and all that a loop carries stays in registers. Packed entries
    tell the runtime when calls begin and end. The function that asks whether there is memory for a buffer whose size is
    known only during a call becomes a declaration. `build` runs this pass last.

    ```mlir
    llvm.func internal @relex_goes_on() -> i1 {
      %true = llvm.mlir.constant(true) : i1
      llvm.return %true : i1
    }
    // watch-loops
    llvm.mlir.global external @relex_reasons_to_stop() : i32
    llvm.func @relex_may_go_on() -> i1 attributes {passthrough = ["cold"]}
    llvm.func internal @relex_goes_on() -> i1 attributes {passthrough = ["alwaysinline"]} {
      %0 = llvm.mlir.addressof @relex_reasons_to_stop : !llvm.ptr
      %1 = llvm.load %0 atomic monotonic {alignment = 4 : i32} : !llvm.ptr -> i32
      %2 = llvm.mlir.constant(0 : i32) : i32
      %3 = llvm.icmp "eq" %1, %2 : i32
      llvm.cond_br %3, ^yes, ^ask
    ^yes:
      llvm.return %3 : i1
    ^ask:
      %4 = llvm.call @relex_may_go_on() : () -> i1
      llvm.return %4 : i1
    }
    llvm.func @relex_loops_begin()
    llvm.func @relex_loops_end()
    ```
    """

    name = "watch-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, llvm.FuncOp)]
        asked = {f.sym_name.data: f for f in functions if f.linkage == _INTERNAL and len(f.body.blocks) == 1}
        if machine.HAS_MEMORY in asked:
            properties = {**asked[machine.HAS_MEMORY].properties, "linkage": llvm.LinkageAttr("external")}
            Rewriter.replace_op(
                asked[machine.HAS_MEMORY], llvm.FuncOp.create(properties=properties, regions=[Region()])
            )
        if machine.GOES_ON not in asked:
            return
        _look(asked[machine.GOES_ON], op)
        for name in (machine.LOOPS_BEGIN, machine.LOOPS_END):
            op.body.block.add_op(new_function(name, _NO_ARGUMENTS, llvm.LinkageAttr("external"), Region()))
        for entry in functions:
            block = entry.body.first_block
            if not entry.sym_name.data.startswith(machine.PACKED_PREFIX) or block is None or block.first_op is None:
                continue
            end = block.last_op
            assert isinstance(end, llvm.ReturnOp)
            for name, place in ((machine.LOOPS_BEGIN, block.first_op), (machine.LOOPS_END, end)):
                Rewriter.insert_op(call(SymbolRefAttr(name), (), llvm.LLVMVoidType()), InsertPoint.before(place))


def _look(goes_on: llvm.FuncOp, module: ModuleOp) -> None:
    """Let a function look whether there is a reason to stop, and ask the runtime only then."""
    question = declaration(machine.MAY_GO_ON, [], i1)
    question.attributes["passthrough"] = ArrayAttr([StringAttr("cold")])
    goes_on.attributes["passthrough"] = ArrayAttr([StringAttr("alwaysinline")])
    module.body.block.add_ops([llvm.GlobalOp(i32, machine.REASONS, "external"), question])
    entry, yes, ask = Block(), Block(), Block()
    address = llvm.AddressOfOp(machine.REASONS, llvm.LLVMPointerType())
    reasons = llvm.LoadOp(address, i32, 4, MONOTONIC)
    none = llvm.ConstantOp(IntegerAttr(0, i32), i32)
    is_quiet = llvm.ICmpOp(reasons.dereferenced_value, none.result, IntegerAttr(0, 64))
    entry.add_ops([address, reasons, none, is_quiet, llvm.CondBrOp(is_quiet.res, yes, (), ask, ())])
    yes.add_op(llvm.ReturnOp(is_quiet.res))
    answer = call(SymbolRefAttr(machine.MAY_GO_ON), (), i1)
    ask.add_ops([answer, llvm.ReturnOp(answer.results[0])])
    body = Region([entry, yes, ask])
    goes_on.detach_region(goes_on.body)
    goes_on.add_region(body)


_NO_ARGUMENTS = llvm.LLVMFunctionType([], llvm.LLVMVoidType())
