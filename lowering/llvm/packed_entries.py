"""Packed entries: a uniform way to call any function, with a pointer to a frame.

A frame is an array of 64-bit words: the arguments of the function, in the order of the calling convention, then its
results. A buffer takes the words of its descriptor; a value smaller than a word is stored at its start.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.builder import Builder
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import SymbolTable

from relex.dialects.errors import fail
from relex.dialects.machine import PACKED_PREFIX
from relex.lowering.llvm.c_interface import call, extract, new_function
from relex.lowering.llvm.types import PTR


def add_packed_entries(module: ModuleOp, functions: Iterable[str]) -> None:
    """Add entries `_relex_packed_NAME` for the named functions of a module of the LLVM dialect.

    ```mlir
    llvm.func @f(%x: i64, %y: f32) -> f32 { ... }
    // add_packed_entries(module, ["f"])
    llvm.func @_relex_packed_f(%frame: !llvm.ptr) {
      %0 = llvm.load %frame : !llvm.ptr -> i64
      %1 = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %2 = llvm.load %1 : !llvm.ptr -> f32
      %3 = llvm.call @f(%0, %2) : (i64, f32) -> f32
      %4 = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.store %3, %4 : f32, !llvm.ptr
      llvm.return
    }
    ```
    """
    for name in functions:
        function = SymbolTable.lookup_symbol(module, name)
        if not isinstance(function, llvm.FuncOp):
            fail(module, f"expected a function of the LLVM dialect named '{name}', found none")
        module.body.block.add_op(_packed_entry(function))


def _packed_entry(function: llvm.FuncOp) -> llvm.FuncOp:
    block = Block(arg_types=[PTR])
    block.args[0].name_hint = "frame"
    frame = _Frame(block)
    result = function.function_type.output
    arguments = [frame.load(kind) for kind in function.function_type.inputs]
    results = frame.builder.insert(call(SymbolRefAttr(function.sym_name), arguments, result)).results
    if isinstance(result, llvm.LLVMStructType):
        fields = [extract(results[0], [i], kind) for i, kind in enumerate(result.types)]
        results = [frame.builder.insert(field).res for field in fields]
    for value in results:
        frame.store(value)
    frame.builder.insert(llvm.ReturnOp())
    void = llvm.LLVMFunctionType([PTR], llvm.LLVMVoidType())
    name = PACKED_PREFIX + function.sym_name.data
    return new_function(name, void, llvm.LinkageAttr("external"), Region(block))


class _Frame:
    """The words at the first argument of a block, in order."""

    def __init__(self, block: Block):
        self.builder = Builder(InsertPoint.at_end(block))
        self._start = block.args[0]
        self._word = 0

    def load(self, kind: Attribute) -> SSAValue:
        return self.builder.insert(llvm.LoadOp(self._next(), kind)).dereferenced_value

    def store(self, value: SSAValue) -> None:
        self.builder.insert(llvm.StoreOp(value, self._next()))

    def _next(self) -> SSAValue:
        word, self._word = self._word, self._word + 1
        if word == 0:
            return self._start
        return self.builder.insert(llvm.GEPOp(self._start, [word], i64)).result
