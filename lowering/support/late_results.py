"""Results whose sizes are known only in the middle of a call: their memory comes from the caller, when it is known how
much it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, cf, func, memref, scf, tensor
from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail
from relex.dialects.failures import FOUND_SIZE, size_declaration
from relex.dialects.function_arguments import RESULT_ATTR, result_attrs
from relex.dialects.op_edits import index_value
from relex.dialects.relex import AllocTensorOp, CallOp
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.symbols import erase_unused, is_private, resolve, symbol_of
from relex.dialects.target.machine import HAS_MEMORY
from relex.dialects.tir import CallLoopsOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.lowering.memory.lifetimes import uses_of_memory
from relex.lowering.memory.needs import BufferSizes
from relex.lowering.support.emitted_sizes import bytes_of
from relex.passes.rewriting.size_values import SizesOfResults


def allocate_results(function: func.FuncOp, sizes: SizesOfResults) -> None:
    """Let a function return tensors with late sizes by writing them to tensors that are marked as its results.

    ```mlir
    %y = relex.call_tir @f(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
    func.return %y : tensor<?xf32>
    // becomes
    %out = relex.alloc_tensor sizes(%n) {relex.result = 0} : tensor<?xf32>
    %y = relex.call_tir @f(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
    %0 = bufferization.materialize_in_destination %y in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    func.return
    ```
    """
    end = function.body.blocks[-1].last_op
    if not isinstance(end, func.ReturnOp):
        return
    returned = [*end.arguments]
    late = [i for i, value in enumerate(returned) if has_unknown(value.type) and sizes.is_late(value)]
    if not late:
        return
    if is_private(function):
        fail(
            end,
            "expected a private function to return tensors whose sizes follow from its arguments; return this "
            "one from a public function, or move the ops to the caller",
        )
    for i in late:
        _write(returned[i], i, end, sizes)
    kept = [i for i in range(len(returned)) if i not in late]
    end.operands = [returned[i] for i in kept]
    types = function.function_type
    attrs = result_attrs(function, len(returned))
    function.function_type = FunctionType.from_lists(types.inputs.data, [types.outputs.data[i] for i in kept])
    function.res_attrs = ArrayAttr(attrs[i] for i in kept)


FEW_BYTES = 2**24
"""Nobody asks whether there is so little memory."""


def check_memory(module: ModuleOp, functions: Sequence[func.FuncOp]) -> None:
    """Assert that there is memory for each result whose size no caller can check, and for each large buffer."""
    late = [alloc for function in functions for alloc in _late_buffers(function)]
    asked = [alloc for alloc in late if RESULT_ATTR not in alloc.attributes]
    for alloc in late:
        if alloc in asked:
            _check_memory(alloc)
        else:
            _check_result(alloc)
    if asked:
        true = arith.ConstantOp(IntegerAttr(1, i1))
        body = Region(Block([true, func.ReturnOp(true.result)], arg_types=[IndexType()]))
        module.body.block.add_op(
            func.FuncOp(HAS_MEMORY, FunctionType.from_lists([IndexType()], [i1]), body, visibility="private")
        )
    if late and all(symbol_of(op) != FOUND_SIZE for op in module.ops):
        module.body.block.add_op(size_declaration())


def _late_buffers(function: func.FuncOp) -> Iterator[memref.AllocOp]:
    known = BufferSizes(function)
    for op in walk_of(function, memref.AllocOp):
        if op.dynamic_sizes and known.of(op.memref) is None:
            yield op


def _check_memory(alloc: memref.AllocOp) -> None:
    """Ask for the memory of a buffer before it is allocated."""
    builder = Builder(InsertPoint.before(alloc))
    size = bytes_of(alloc.memref.type, alloc.dynamic_sizes, builder)
    few = builder.insert(arith.CmpiOp(size, index_value(FEW_BYTES, builder.insert), "ult")).result
    true = arith.ConstantOp(IntegerAttr(1, i1))
    call = func.CallOp(HAS_MEMORY, [size], [i1])
    known, asked = Block([true, scf.YieldOp(true.result)]), Block([call, scf.YieldOp(call.results[0])])
    holds = builder.insert(scf.IfOp(few, [i1], Region(known), Region(asked))).results[0]
    _assert_memory(builder, alloc, size, holds)
    for op in _upwards(alloc):
        if op.location != UNKNOWN_LOC:
            break
        op.location = alloc.location


def _check_result(alloc: memref.AllocOp) -> None:
    """Check that the caller has given the memory of a result."""
    builder = Builder(InsertPoint.before(alloc.next_op or alloc))
    address = builder.insert(memref.ExtractAlignedPointerAsIndexOp.get(alloc.memref)).aligned_pointer
    is_given = builder.insert(arith.CmpiOp(address, index_value(0, builder.insert), "ne")).result
    _assert_memory(builder, alloc, bytes_of(alloc.memref.type, alloc.dynamic_sizes, builder), is_given)


def _assert_memory(builder: Builder, alloc: memref.AllocOp, size: SSAValue, holds: SSAValue) -> None:
    """Assert that there is memory for a number of bytes. The error names what fills it."""
    note = builder.insert(arith.IndexCastOp(size, i64)).result
    builder.insert(func.CallOp(FOUND_SIZE, [note], []))
    users = [op for op in _downwards(alloc) if isinstance(op, CallLoopsOp | func.CallOp)]
    filling = next((user.callee.string_value() for user in users if alloc.memref in user.operands), "")
    what = f"a result of @{filling}" if filling else "a tensor"
    builder.insert(cf.AssertOp(holds, StringAttr(f"expected memory for the bytes of {what}")))


def _downwards(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def free_early(function: func.FuncOp) -> None:
    """Free each buffer right after its last use: one of late size has no place in the memory that is planned."""
    for dealloc in walk_of(function, memref.DeallocOp):
        uses, block = uses_of_memory(dealloc.memref), dealloc.parent_block()
        if uses is None or block is None or isinstance(dealloc.memref.owner, Block):
            continue
        users = {block.find_ancestor_op_in_block(use.operation) for use in uses} - {dealloc, None}
        last = next((op for op in _upwards(dealloc) if op in users or op is dealloc.memref.owner), None)
        if last is not None and last.next_op is not dealloc:
            dealloc.detach()
            Rewriter.insert_op(dealloc, InsertPoint.after(last))


def _upwards(op: Operation) -> Iterator[Operation]:
    while (previous := op.prev_op) is not None:
        yield previous
        op = previous


def _write(value: SSAValue, number: int, end: func.ReturnOp, sizes: SizesOfResults) -> None:
    """Write a tensor to the memory of a result: at once, if nothing else is in its way."""
    while isinstance(value.owner, tensor.CastOp):
        value = value.owner.source  # Its elements are the same.
    assert isa(value.type, TensorType)
    owner = value.owner
    is_before = isinstance(owner, Operation) and owner.parent is end.parent and not sizes.has_late([value])
    at = owner if is_before and isinstance(owner, Operation) else end
    alloc = AllocTensorOp(value.type, sizes.of(value))
    alloc.attributes[RESULT_ATTR] = IntegerAttr(number, i64)
    alloc.result.name_hint = "out"
    write = MaterializeInDestinationOp.create(operands=[value, alloc.result], result_types=[value.type])
    for op, before in ((alloc, at), (write, end)):
        op.location = end.location
        Rewriter.insert_op(op, InsertPoint.before(before))


def inline_late_calls(module: ModuleOp, sizes: SizesOfResults) -> bool:
    """Replace each call of a function that returns a tensor of late size by the ops of the function, which is gone if
    it is private. Returns whether anything changed.

    ```mlir
    %y = func.call @f(%x) : (tensor<?xf32>) -> tensor<?x1xi64>
    func.func private @f(%x: tensor<?xf32>) -> tensor<?x1xi64> {
      %p = relex.call_tir @nonzero(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?x1xi64>
      func.return %p : tensor<?x1xi64>
    }
    // becomes
    %p = relex.call_tir @nonzero(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?x1xi64>
    ```
    """
    late = [f for f in module.ops if isinstance(f, func.FuncOp) and _returns_late(f, sizes)]
    private = [f for f in late if is_private(f)]
    is_changed = bool(private)
    while calls := [op for op in walk_of(module, CallOp, func.CallOp) if _callee(op) in late]:
        is_changed = True
        for call in calls:
            _inline(call, _callee(call))
    if private:
        erase_unused(module, module.ops)  # With them goes what only they call.
    return is_changed


def _callee(call: CallOp | func.CallOp) -> func.FuncOp:
    return resolve(call, call.callee, func.FuncOp)


def _returns_late(function: func.FuncOp, sizes: SizesOfResults) -> bool:
    end = function.body.blocks[-1].last_op if len(function.body.blocks) == 1 else None
    return isinstance(end, func.ReturnOp) and any(map(sizes.is_late, end.arguments))


def _inline(call: CallOp | func.CallOp, callee: func.FuncOp) -> None:
    block = callee.body.clone().block
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    Rewriter.inline_block(block, InsertPoint.before(call), call.arguments)
    Rewriter.replace_op(call, [], [*end.arguments])
    Rewriter.erase_op(end)
