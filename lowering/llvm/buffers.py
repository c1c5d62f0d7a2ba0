"""Buffers at the machine level: addresses of elements, and sizes and strides that may be static."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, MemRefType, NoneAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.upstream.llvm import set_inbounds
from relex.lowering.conversion import Conversion
from relex.lowering.llvm.descriptor import ALIGNED, OFFSET, Descriptor, size_at, stride_at
from relex.lowering.llvm.types import constant, convert_type

Number = SSAValue | int
"""An i64 value, or an int if it is known at compile time."""

MAY_WRAP = IntegerAttr(0, i32)
NO_SIGNED_WRAP = IntegerAttr(llvm.OverflowAttr([llvm.OverflowFlag.NO_SIGNED_WRAP]).to_int(), i32)
NO_WRAP = IntegerAttr(llvm.OverflowAttr(list(llvm.OverflowFlag)).to_int(), i32)


def element_pointer(
    op: Operation, conversion: Conversion, buffer: SSAValue, indices: Sequence[SSAValue], *, inside: bool = True
) -> SSAValue:
    """Return the address of `buffer[indices]`, which is in bounds unless `inside` is false."""
    kind = buffer_type(op, buffer.type)
    element = convert_type(op, kind.element_type)
    pointer = first_element(op, conversion, buffer)
    descriptor = Descriptor.of(conversion, buffer)
    strides = buffer_strides(op, kind)
    no_wrap = _no_wrap(strides) if inside else MAY_WRAP
    position: SSAValue | None = None
    for dim, (index, stride) in enumerate(zip(conversion.values(indices), strides, strict=True)):
        step = index
        if stride != 1:
            factor = descriptor.field(stride_at(dim)) if stride is None else constant(conversion, stride)
            step = conversion.add(llvm.MulOp(index, factor, overflow=no_wrap)).res
        position = step if position is None else conversion.add(llvm.AddOp(position, step, overflow=no_wrap)).res
    if position is None:
        return pointer
    address = llvm.GEPOp.from_mixed_indices(pointer, [position], element)
    set_inbounds(address, inside)
    return conversion.add(address).result


def _no_wrap(strides: Sequence[int | None]) -> IntegerAttr[IntegerType]:
    # Only static strides are known not to be negative.
    positive = all(stride is not None and stride >= 0 for stride in strides)
    return NO_WRAP if positive else NO_SIGNED_WRAP


def first_element(op: Operation, conversion: Conversion, buffer: SSAValue) -> SSAValue:
    """Return the address of the element at index zero: the aligned pointer, advanced by the offset."""
    kind = buffer_type(op, buffer.type)
    descriptor = Descriptor.of(conversion, buffer)
    pointer = descriptor.field(ALIGNED)
    offset = kind.get_offset()
    if offset == 0:
        return pointer
    index = descriptor.field(OFFSET) if offset is None else offset
    element = convert_type(op, kind.element_type)
    return conversion.add(llvm.GEPOp.from_mixed_indices(pointer, [index], element)).result


def buffer_type(op: Operation, kind: Attribute) -> MemRefType:
    """Check that `kind` is a memref type that the conversion supports, and return it."""
    if not isa(kind, MemRefType):
        fail(op, f"expected a ranked memref, found {kind}")
    if not isinstance(kind.memory_space, NoneAttr):
        fail(op, f"expected a memref in the default memory space, found {kind}")
    return kind


def buffer_strides(op: Operation, kind: MemRefType) -> Sequence[int | None]:
    """The strides in elements; None for dynamic ones."""
    strides = kind.get_strides()
    if strides is None:
        fail(op, f"expected a memref with strides, found {kind}")
    return strides


def product(conversion: Conversion, lhs: Number, rhs: Number) -> Number:
    """Return `lhs * rhs`, folded if both are known."""
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    if lhs == 1:
        return rhs
    if rhs == 1:
        return lhs
    lhs, rhs = (constant(conversion, value) if isinstance(value, int) else value for value in (lhs, rhs))
    return conversion.add(llvm.MulOp(lhs, rhs)).res


def total(conversion: Conversion, lhs: Number, rhs: Number) -> Number:
    """Return `lhs + rhs`, folded if both are known."""
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs + rhs
    if lhs == 0:
        return rhs
    if rhs == 0:
        return lhs
    lhs, rhs = (constant(conversion, value) if isinstance(value, int) else value for value in (lhs, rhs))
    return conversion.add(llvm.AddOp(lhs, rhs)).res


def sizes_of(op: Operation, conversion: Conversion, buffer: SSAValue) -> list[Number]:
    """Return the size of each dimension."""
    descriptor = Descriptor.of(conversion, buffer)
    shape = buffer_type(op, buffer.type).get_shape()
    return [descriptor.known(size_at(dim)) if size == DYNAMIC_INDEX else size for dim, size in enumerate(shape)]


def strides_of(op: Operation, conversion: Conversion, buffer: SSAValue) -> list[Number]:
    """Return the stride of each dimension, in elements."""
    descriptor = Descriptor.of(conversion, buffer)
    strides = buffer_strides(op, buffer_type(op, buffer.type))
    return [descriptor.known(stride_at(dim)) if stride is None else stride for dim, stride in enumerate(strides)]


def offset_of(op: Operation, conversion: Conversion, buffer: SSAValue) -> Number:
    """Return the offset of the first element from the aligned pointer, in elements."""
    offset = buffer_type(op, buffer.type).get_offset()
    return Descriptor.of(conversion, buffer).known(OFFSET) if offset is None else offset


def contiguous_strides(conversion: Conversion, sizes: Sequence[Number], innermost: Number = 1) -> list[Number]:
    """Return the strides of dimensions without gaps between them."""
    strides: list[Number] = []
    stride = innermost
    for dim, size in reversed(list(enumerate(sizes))):
        strides.append(stride)
        stride = product(conversion, size, stride) if dim else stride
    return strides[::-1]
