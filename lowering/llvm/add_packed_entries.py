"""Packed entries: a uniform way to call any function, with a pointer to a frame.

A frame is an array of 64-bit words: the arguments of the function, in the order of the calling convention, then its
results. A buffer takes the words of its descriptor; a value smaller than a word is stored at its start.
"""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.function_arguments import SIGNATURE_ATTR
from relex.dialects.target.machine import PACKED_PREFIX
from relex.lowering.llvm.c_interface import call, extract, new_function
from relex.lowering.llvm.interface import SEAL_ATTR, entry_of, expect_sealed
from relex.lowering.llvm.quick_ops import element_pointer, load, store
from relex.lowering.llvm.types import PTR
from relex.lowering.support.signatures import stated_signature
from relex.passes.driver.base import RelexPass


class AddPackedEntriesPass(RelexPass):
    """
    Adds an entry `_relex_packed_NAME` for every function with a signature, which moves to the entry. At this level,
    only `relex.seal` tells whether it is still the one that the code was made for: a digest of the signature
    and the type of the function, from `convert-func-to-llvm`.

    ```mlir
    llvm.func @f(%x: i64, %y: f32) -> f32
        attributes {relex.signature = {inputs = [{name = "x", shape = [], element_type = "i64", is_scalar = true},
                                                 {name = "y", shape = [], element_type = "f32", is_scalar = true}],
                                       outputs = [{name = "z", shape = [], element_type = "f32", is_scalar = true}]},
                    relex.seal = "e3ba11fffec625ba"} {
      llvm.return %y : f32
    }
    // add-packed-entries
    llvm.func @f(%x: i64, %y: f32) -> f32 {
      llvm.return %y : f32
    }
    llvm.func @_relex_packed_f(%frame: !llvm.ptr)
        attributes {relex.signature = {inputs = [{name = "x", shape = [], element_type = "i64", is_scalar = true},
                                                 {name = "y", shape = [], element_type = "f32", is_scalar = true}],
                                       outputs = [{name = "z", shape = [], element_type = "f32", is_scalar = true}]},
                    relex.seal = "e3ba11fffec625ba"} {
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

    name = "add-packed-entries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, llvm.FuncOp) and entry_of(f) is None]
        for function in functions:
            signature = stated_signature(function, function.sym_name.data)
            if signature is None:
                continue
            expect_sealed(function, function, signature)
            entry = _packed_entry(function)
            entry.location = function.location
            entry.attributes |= {name: function.attributes.pop(name) for name in (SIGNATURE_ATTR, SEAL_ATTR)}
            op.body.block.add_op(entry)


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
        return self.builder.insert(load(self._next(), kind)).dereferenced_value

    def store(self, value: SSAValue) -> None:
        self.builder.insert(store(value, self._next()))

    def _next(self) -> SSAValue:
        word, self._word = self._word, self._word + 1
        if word == 0:
            return self._start
        return self.builder.insert(element_pointer(self._start, word, i64)).result
