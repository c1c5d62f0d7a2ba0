"""Take memory from the allocator of the runtime."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr

from relex.dialects.target.machine import ALLOC, ALLOCATOR_ATTR, FREE
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass

_POOLED = {"malloc": ALLOC, "free": FREE}


class PoolAllocationsPass(RelexPass):
    """
    Calls the allocator of the runtime, which keeps freed blocks for later calls, for the memory of buffers, instead of
    `malloc` and `free`: the same code as from `convert-to-llvm{use-generic-functions=true}`. `build` runs this pass
    last. Functions of these names that a program itself declares stay as they are.

    ```mlir
    llvm.func @free(!llvm.ptr) attributes {relex.allocator}
    llvm.func @f(%x: !llvm.ptr) {
      llvm.call @free(%x) : (!llvm.ptr) -> ()
      llvm.return
    }
    // pool-allocations
    llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr) attributes {relex.allocator}
    llvm.func @f(%x: !llvm.ptr) {
      llvm.call @_mlir_memref_to_llvm_free(%x) : (!llvm.ptr) -> ()
      llvm.return
    }
    ```
    """

    name = "pool-allocations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pooled: dict[str, str] = {}
        for function in op.ops:
            if isinstance(function, llvm.FuncOp) and ALLOCATOR_ATTR in function.attributes:
                old = function.sym_name.data
                if old in _POOLED:
                    pooled[old] = _POOLED[old]
                    function.sym_name = StringAttr(_POOLED[old])
        if not pooled:
            return
        for call in walk(op):
            if type(call) is llvm.CallOp and call.callee is not None:
                callee = call.callee.string_value()
                if callee in pooled:
                    call.callee = SymbolRefAttr(pooled[callee])
