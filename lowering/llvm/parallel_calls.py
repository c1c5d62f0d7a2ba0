"""Parallel calls, whose iterations are distributed over threads: see `relex.lowering.outline_parallel_loops`.

The function that runs a range of iterations is called through `chunk(frame, first, last)`; the frame is a struct of its
other arguments, each of at most 64 bits, except sizes and strides that types state, and what the function does not use.
`_relex_parallel(chunk, frame, first, last)` returns when all iterations have run. The runtime of relex provides it;
object code for other programs contains a weak definition that runs the iterations in order, and that a linker drops in
favor of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from xdsl.builder import Builder
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.function_arguments import PARALLEL_ATTR
from relex.dialects.target.llvm_binding import ir
from relex.dialects.target.machine import PARALLEL_ENTRY
from relex.lowering.conversion import Conversion
from relex.lowering.llvm import quick_ops
from relex.lowering.llvm.buffers import Number, as_value
from relex.lowering.llvm.c_interface import call, extract, new_function, packed
from relex.lowering.llvm.helpers import call_library
from relex.lowering.llvm.types import PTR, integer_constant

VOID = llvm.LLVMVoidType()


def is_shared(op: func.CallOp) -> bool:
    """Return whether a call may be distributed over threads."""
    return PARALLEL_ATTR in op.attributes and not op.results


def share_call(op: func.CallOp, arguments: Sequence[Number | None], conversion: Conversion) -> None:
    """Convert a parallel call; `arguments` are the converted ones, the range first. Those that are known at compile
    time are numbers, or None for null pointers, and the same in all calls of the function."""
    first, last, *others = arguments
    assert first is not None
    assert last is not None
    name = op.callee.root_reference.data
    known = [n.type if isinstance(n, SSAValue) else n for n in others]
    chunk = f"{name}_chunk"
    conversion.declare(chunk, lambda: _chunk(chunk, op.callee, known), at_end=True)
    passed = [value for value in others if isinstance(value, SSAValue)]
    frame = _frame(op, len(passed))
    if passed:
        conversion.add(quick_ops.store(packed(passed, _fields(known), conversion.add), frame))
    function = conversion.add(llvm.AddressOfOp(chunk, PTR)).result
    function.name_hint = "chunk"
    call_library(conversion, PARALLEL_ENTRY, [function, frame, *(as_value(conversion, n) for n in (first, last))])
    conversion.replace()


def _chunk(name: str, callee: SymbolRefAttr, known: Sequence[Attribute | int | None]) -> llvm.FuncOp:
    """Build the function that threads call for a part of the range. For each argument after the range, `known` has its
    type if the frame holds it, or the number that it is, or None for a null pointer."""
    block = Block(arg_types=[PTR, i64, i64])
    frame, first, last = block.args
    for argument, hint in zip(block.args, ("frame", "first", "last"), strict=True):
        argument.name_hint = hint
    builder = Builder(InsertPoint.at_end(block))
    constants: dict[int | None, SSAValue] = {}
    for number in dict.fromkeys(n for n in known if not isinstance(n, Attribute)):
        new = llvm.ZeroOp(result_types=[PTR]) if number is None else integer_constant(number, i64)
        constants[number] = builder.insert(new).results[0]
    others: list[SSAValue] = []
    fields = _fields(known)
    values = builder.insert(quick_ops.load(frame, fields)).dereferenced_value if fields.types.data else None
    places = count()
    for kind in known:
        if not isinstance(kind, Attribute):
            others.append(constants[kind])
        else:
            assert values is not None
            others.append(builder.insert(extract(values, [next(places)], kind)).res)
    builder.insert(call(callee, [first, last, *others], VOID))
    builder.insert(llvm.ReturnOp())
    signature = llvm.LLVMFunctionType([PTR, i64, i64], VOID)
    return new_function(name, signature, llvm.LinkageAttr("internal"), Region(block))


def _fields(known: Sequence[Attribute | int | None]) -> llvm.LLVMStructType:
    """Return the type of what a frame holds."""
    return llvm.LLVMStructType.from_type_list([kind for kind in known if isinstance(kind, Attribute)])


def _frame(op: Operation, words: int) -> SSAValue:
    """Allocate a frame at the top of the function around `op`: in a loop, the stack would grow."""
    region = op.parent_region()
    assert region is not None
    builder = Builder(InsertPoint.at_start(region.blocks[0]))
    size = builder.insert(integer_constant(max(words, 1), i64)).result
    frame = builder.insert(llvm.AllocaOp(size, i64)).res
    frame.name_hint = "frame"
    return frame


def add_serial_entry(module: ir.Module) -> None:
    """Give a module with parallel calls a weak `_relex_parallel` that runs all iterations in the calling thread."""
    entry = module.globals.get(PARALLEL_ENTRY)
    if not isinstance(entry, ir.Function):
        return
    entry.linkage = "weak"
    builder = ir.IRBuilder(entry.append_basic_block())
    chunk, frame, first, last = entry.args
    # llvmlite takes the signature of a call from the pointer type.
    chunk.type = ir.PointerType(ir.FunctionType(ir.VoidType(), [arg.type for arg in (frame, first, last)]))
    builder.call(chunk, [frame, first, last])
    builder.ret_void()
