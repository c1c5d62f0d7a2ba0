"""Memory for what has a size that only a call finds out: exported code asks its caller, or the allocator."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, StringAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.symbols import symbol_of
from relex.dialects.target.machine import HAS_MEMORY, NEW_RESULT, PACKED_PREFIX
from relex.lowering.llvm.c_interface import C_PREFIX, call
from relex.lowering.llvm.types import EQ, NE, PTR


def ask_caller(module: ModuleOp) -> None:
    """Let each function that asks the runtime for memory ask its caller instead: two words of a frame, after what the
    function gives, hold a function, and what that is called with, before the number of the result and its sizes.

    ```mlir
    llvm.func @f(%x: !llvm.ptr) {
      %y = llvm.call @relex_new_result(%number, %sizes) : (i64, !llvm.ptr) -> !llvm.ptr
    llvm.func @_relex_packed_f(%frame: !llvm.ptr) {
      llvm.call @f(%x) : (!llvm.ptr) -> ()
    // becomes
    llvm.func @f(%x: !llvm.ptr, %caller: !llvm.ptr) {
      %y = llvm.call %function(%context, %number, %sizes) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    llvm.func @_relex_packed_f(%frame: !llvm.ptr) {
      llvm.call @f(%x, %caller) : (!llvm.ptr, !llvm.ptr) -> ()
    ```
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, llvm.FuncOp)}
    for name, function in functions.items():
        asking = [op for op in function.walk() if _calls(op, NEW_RESULT)]
        if not asking:
            continue
        entry, wrapper = functions[PACKED_PREFIX + name], functions.get(C_PREFIX + name)
        if wrapper is not None:
            Rewriter.erase_op(wrapper)
        given = function.body.blocks[0].insert_arg(PTR, len(function.function_type.inputs))
        for op in asking:
            Rewriter.replace_op(op, _question(given, *op.operands, before=op))
        (caller,) = (op for op in entry.walk() if _calls(op, name))
        output = function.function_type.output
        words = len(function.function_type.inputs) + (
            len(output.types) if isinstance(output, llvm.LLVMStructType) else not isinstance(output, llvm.LLVMVoidType)
        )
        place = llvm.GEPOp(entry.body.blocks[0].args[0], [words], i64)
        Rewriter.insert_op(place, InsertPoint.before(caller))
        assert isinstance(caller, llvm.CallOp)
        assert caller.callee is not None
        Rewriter.replace_op(caller, call(caller.callee, [*caller.args, place.result], output))
        function.function_type = llvm.LLVMFunctionType([*function.function_type.inputs, PTR], output)
    for op in [op for op in module.ops if symbol_of(op) == NEW_RESULT]:
        Rewriter.erase_op(op)


def ask_allocator(module: ModuleOp) -> None:
    """Let the function that says whether there is memory for a large buffer try to allocate it.

    ```mlir
    llvm.func internal @relex_has_memory(%bytes: i64) -> i1 {
      %true = llvm.mlir.constant(true) : i1
      llvm.return %true : i1
    // becomes
    llvm.func internal @relex_has_memory(%bytes: i64) -> i1 attributes {passthrough = ["noinline", "optnone"]} {
      %p = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
      llvm.call @free(%p) : (!llvm.ptr) -> ()
      %null = llvm.mlir.zero : !llvm.ptr
      %given = llvm.icmp "ne" %p, %null : !llvm.ptr
      llvm.return %given : i1
    ```
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, llvm.FuncOp)}
    question, malloc = functions.get(HAS_MEMORY), functions.get("malloc")
    if question is None or malloc is None:
        return
    # LLVM takes it that there is always memory for what nobody uses.
    question.attributes["passthrough"] = ArrayAttr([StringAttr("noinline"), StringAttr("optnone")])
    block = Block(arg_types=question.function_type.inputs)
    question.body.detach_block(0)
    question.body.add_block(block)
    builder = Builder(InsertPoint.at_end(block))
    (kind,), size = malloc.function_type.inputs, block.args[0]
    if kind != size.type:
        size = builder.insert(llvm.TruncOp(size, kind)).res
    space = builder.insert(call(SymbolRefAttr("malloc"), [size], PTR)).results[0]
    builder.insert(call(SymbolRefAttr("free"), [space], llvm.LLVMVoidType()))
    null = builder.insert(llvm.ZeroOp(result_types=[PTR])).res
    given = builder.insert(llvm.ICmpOp(space, null, NE)).res
    if kind != block.args[0].type:
        same = builder.insert(llvm.ZExtOp(size, block.args[0].type)).res
        fits = builder.insert(llvm.ICmpOp(same, block.args[0], EQ)).res
        given = builder.insert(llvm.AndOp(given, fits)).res
    builder.insert(llvm.ReturnOp(given))


def _calls(op: Operation, name: str) -> bool:
    return isinstance(op, llvm.CallOp) and op.callee is not None and op.callee.root_reference.data == name


def _question(caller: SSAValue, number: SSAValue, sizes: SSAValue, *, before: Operation) -> Operation:
    """Return a call of the function at a place."""
    builder = Builder(InsertPoint.before(before))
    function = builder.insert(llvm.LoadOp(caller, PTR)).dereferenced_value
    place = builder.insert(llvm.GEPOp(caller, [1], i64)).result
    context = builder.insert(llvm.LoadOp(place, PTR)).dereferenced_value
    direct = call(SymbolRefAttr(""), (), PTR)
    properties = {key: value for key, value in direct.properties.items() if key != "callee"}
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [4, 0])
    return llvm.CallOp.create(operands=[function, context, number, sizes], properties=properties, result_types=[PTR])
