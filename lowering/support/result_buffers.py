"""The buffers that results are written to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    TensorType,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from relex.dialects.dtypes import buffer_of, size_in_bytes
from relex.dialects.errors import fail
from relex.dialects.function_arguments import RESULT_ATTR
from relex.dialects.op_edits import index_constant
from relex.dialects.relex import AllocTensorOp, CallDpsPackedOp, CallTirOp
from relex.dialects.relex.packed import BYTES, becomes_words
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion.driver import Conversion
from relex.lowering.support.destinations import MOVED_ATTR, destination_of

ALIGNMENT = 64
"""Alignment of buffers and constants in bytes: a cache line, and the widest vector."""


def result_buffer(result: OpResult, conversion: Conversion, dims: Sequence[SSAValue] = ()) -> SSAValue:
    """Return the buffer that a result is written to: an output of the function if it is returned, else new memory, with
    dynamic sizes that the op states or that are given."""
    output = _output_of(result, conversion) or _output_of_view(result, conversion)
    if output is not None:
        return output
    buffer = buffer_type(result)
    sizes = dims or conversion.values(_sizes_of(result))
    number = result.op.attributes.get(RESULT_ATTR)
    alignment = ALIGNMENT if number is None else None  # It is the caller's.
    in_words = not sizes and becomes_words(result)
    kind = MemRefType(i8, [size_in_bytes(buffer.element_type) * prod(buffer.get_shape())]) if in_words else buffer
    alloc = conversion.add(memref.AllocOp.get(kind.element_type, alignment, kind.get_shape(), sizes))
    if number is not None:
        alloc.attributes[RESULT_ATTR] = number
        return alloc.memref
    if MOVED_ATTR in result.op.attributes:
        alloc.attributes[MOVED_ATTR] = UnitAttr()
        return alloc.memref
    dealloc = memref.DeallocOp.get(alloc.memref)
    dealloc.location = alloc.location
    block = result.op.parent_block()
    if block is None or block.last_op is None:
        fail(result.op, "expected to be in a function that returns")
    block.insert_op_before(dealloc, block.last_op)
    if not in_words:
        return alloc.memref
    start = conversion.add(index_constant(0))
    return conversion.add(memref.ViewOp(alloc.memref, start, [], buffer)).result


def _output_of(result: OpResult, conversion: Conversion) -> SSAValue | None:
    """Return the output argument for `result`, the first if it is returned repeatedly, or the place that a branch or a
    loop writes it to; None if there is none."""
    if (place := destination_of(result)) is not None:
        return conversion.value(place)
    block = result.op.parent_block()
    terminator = block.last_op if block is not None else None
    if block is None or not isinstance(terminator, func.ReturnOp):
        return None
    filled = returned_tensors(terminator)
    return output_arguments(terminator)[filled.index(result)] if result in filled else None


def _output_of_view(result: OpResult, conversion: Conversion) -> SSAValue | None:
    """Return the output argument for a view of `result`, as a buffer for the result; None if no view is returned, or
    sizes are unknown."""
    kind = buffer_type(result)
    for op in (use.operation for use in result.uses):
        if isinstance(op, tensor.CollapseShapeOp | tensor.ExpandShapeOp) and kind.has_static_shape():
            output = _output_of(op.result, conversion) or _output_of_view(op.result, conversion)
            if output is not None:
                return conversion.add(view_of_buffer(output, op.reassociation, kind)).result
    return None


def first_of_frees(op: Operation) -> Operation:
    """Return the first of the ops that free memory right before an op, or the op itself."""
    while isinstance(op.prev_op, memref.DeallocOp):
        op = op.prev_op
    return op


def returned_tensors(terminator: func.ReturnOp) -> list[SSAValue]:
    """The returned values that are written to buffers of the caller."""
    return [value for value in terminator.arguments if isinstance(value.type, TensorType)]


def output_arguments(terminator: func.ReturnOp) -> Sequence[SSAValue]:
    """The output arguments of the function that `terminator` returns from. They come last."""
    block = terminator.parent_block()
    count = len(returned_tensors(terminator))
    return block.args[len(block.args) - count :] if block is not None else ()


def view_of_buffer(
    source: SSAValue, groups: Attribute, kind: MemRefType, sizes: Sequence[SSAValue] = ()
) -> memref.AlterShapeOperation:
    """Return the view of a buffer in which groups of dimensions are one each, or each dimension is a group."""
    properties = {"reassociation": groups}
    if kind.get_num_dims() <= len(sizes_in_type(source.type)):
        return memref.CollapseShapeOp(operands=[source], result_types=[kind], properties=properties)
    properties["static_output_shape"] = DenseArrayBase.from_list(i64, kind.get_shape())
    return memref.ExpandShapeOp(operands=[source, sizes], result_types=[kind], properties=properties)


def view_of_words(source: SSAValue, kind: MemRefType) -> Sequence[Operation]:
    """Return the ops that view a buffer as one of words; the last one has the result. It has bytes, or is a view of a
    buffer of bytes."""
    root = source
    while isinstance(root.owner, memref.CollapseShapeOp | memref.ExpandShapeOp):
        root = root.owner.operands[0]
    if isinstance(view := root.owner, memref.ViewOp):
        return [memref.ViewOp(view.source, view.byte_shift, [], kind)]
    sizes = sizes_in_type(source.type)
    groups = ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in range(len(sizes))])])
    bytes_in_order = view_of_buffer(source, groups, MemRefType(i8, [prod(kind.get_shape()) * BYTES]))
    start = index_constant(0)
    return [bytes_in_order, start, memref.ViewOp(bytes_in_order.result, start, [], kind)]


def buffer_type(result: OpResult) -> MemRefType:
    """The type of the buffer that holds a result."""
    t = result.type
    if not isa(t, TensorType):
        fail(result.op, f"expected a ranked tensor, found {t}")
    return buffer_of(t)


def _sizes_of(result: OpResult) -> Sequence[SSAValue]:
    """The dynamic sizes that an op states for one of its results."""
    op = result.op
    if not isinstance(op, CallTirOp | CallDpsPackedOp | AllocTensorOp):
        return ()
    unknown = [sizes_in_type(t).count(DYNAMIC_INDEX) for t in op.result_types]
    first = sum(unknown[: result.index])
    return op.sizes[first : first + unknown[result.index]]
