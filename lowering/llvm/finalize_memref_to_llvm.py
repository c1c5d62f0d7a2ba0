"""`memref` to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.lowering.conversion import Conversion, ConversionTable, convert
from relex.lowering.llvm.c_interface import call, declaration
from relex.lowering.llvm.descriptor import ALIGNED, BASE, OFFSET, Descriptor, Position, size_at, stride_at
from relex.lowering.llvm.intrinsics import call_intrinsic
from relex.lowering.llvm.types import EQ, LLVM_TYPES, PTR, constant, convert_type
from relex.passes.base import RelexPass

MEMREF_TO_LLVM = ConversionTable()
"""What each op of `memref` becomes."""


MAY_WRAP = IntegerAttr(0, i32)
NO_SIGNED_WRAP = IntegerAttr(llvm.OverflowAttr([llvm.OverflowFlag.NO_SIGNED_WRAP]).to_int(), i32)
NO_WRAP = IntegerAttr(llvm.OverflowAttr(list(llvm.OverflowFlag)).to_int(), i32)


@dataclass(frozen=True)
class FinalizeMemrefToLlvmPass(RelexPass):
    """
    Converts `memref`: buffers become pointers, accesses address arithmetic. Memory comes from `malloc`.

    ```mlir
    %0 = memref.load %x[%i, %j] : memref<4x8xf32>
    // finalize-memref-to-llvm, where %x is the aligned pointer and the operands are converted too
    %1 = llvm.mlir.constant(8) : i64
    %2 = llvm.mul %i, %1 overflow<nsw,nuw> : i64
    %3 = llvm.add %2, %j overflow<nsw,nuw> : i64
    %4 = llvm.getelementptr inbounds %x[%3] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %0 = llvm.load %4 : !llvm.ptr -> f32
    ```
    """

    name = "finalize-memref-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, MEMREF_TO_LLVM, LLVM_TYPES)


@MEMREF_TO_LLVM.rule(memref.LoadOp)
def convert_load(op: memref.LoadOp, conversion: Conversion) -> None:
    kind = convert_type(op, op.res.type)
    pointer = element_pointer(op, conversion, op.memref, op.indices)
    conversion.replace(conversion.add(llvm.LoadOp(pointer, kind)).dereferenced_value)


@MEMREF_TO_LLVM.rule(memref.StoreOp)
def convert_store(op: memref.StoreOp, conversion: Conversion) -> None:
    pointer = element_pointer(op, conversion, op.memref, op.indices)
    conversion.add(llvm.StoreOp(conversion.value(op.value), pointer))
    conversion.replace()


def element_pointer(
    op: Operation, conversion: Conversion, buffer: SSAValue, indices: Sequence[SSAValue], *, inside: bool = True
) -> SSAValue:
    """The address of `buffer[indices]`, which is a place in the buffer unless `inside` is false."""
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
    return conversion.add(llvm.GEPOp.from_mixed_indices(pointer, [position], element, inbounds=inside)).result


def _no_wrap(strides: Sequence[int | None]) -> IntegerAttr[IntegerType]:
    # Only known strides are known to be positive.
    positive = all(stride is not None and stride >= 0 for stride in strides)
    return NO_WRAP if positive else NO_SIGNED_WRAP


def first_element(op: Operation, conversion: Conversion, buffer: SSAValue) -> SSAValue:
    """The address of the element at index zero: the aligned pointer, advanced by the offset."""
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
    """Check that `kind` is a memref type that this pass can handle."""
    if not isa(kind, MemRefType):
        fail(op, f"expected a ranked memref, found {kind}")
    if not isinstance(kind.memory_space, NoneAttr):
        fail(op, f"expected a memref in the default memory space, found {kind}")
    return kind


def buffer_strides(op: Operation, kind: MemRefType) -> Sequence[int | None]:
    """The strides in elements; None for those that are not known while compiling."""
    strides = kind.get_strides()
    if strides is None:
        fail(op, f"expected a memref with strides, found {kind}")
    return strides


# Allocation


@MEMREF_TO_LLVM.rule(memref.AllocOp)
def convert_alloc(op: memref.AllocOp, conversion: Conversion) -> None:
    kind = _contiguous(op, op.memref.type)
    sizes = _sizes(conversion, kind, op.dynamic_sizes)
    size = byte_count(op, conversion, kind, _element_count(conversion, sizes))
    alignment = op.alignment.value.data if op.alignment is not None else 1
    if alignment > 1:
        size = conversion.add(llvm.AddOp(size, constant(conversion, alignment - 1))).res
    conversion.declare("malloc", lambda: declaration("malloc", [i64], PTR))
    base = conversion.add(call(SymbolRefAttr("malloc"), [size], PTR)).results[0]
    aligned = _align(conversion, base, alignment) if alignment > 1 else base
    conversion.replace(_new_descriptor(conversion, op.memref, base, aligned, sizes))


@MEMREF_TO_LLVM.rule(memref.AllocaOp)
def convert_alloca(op: memref.AllocaOp, conversion: Conversion) -> None:
    kind = _contiguous(op, op.memref.type)
    sizes = _sizes(conversion, kind, op.dynamic_sizes)
    properties: dict[str, Attribute] = {"elem_type": convert_type(op, kind.element_type)}
    if op.alignment is not None:
        properties["alignment"] = IntegerAttr(op.alignment.value, i64)
    count = _element_count(conversion, sizes)
    pointer = conversion.add(llvm.AllocaOp.create(operands=[count], properties=properties, result_types=[PTR])).res
    conversion.replace(_new_descriptor(conversion, op.memref, pointer, pointer, sizes))


@MEMREF_TO_LLVM.rule(memref.DeallocOp)
def convert_dealloc(op: memref.DeallocOp, conversion: Conversion) -> None:
    buffer_type(op, op.memref.type)
    conversion.declare("free", lambda: declaration("free", [PTR], llvm.LLVMVoidType()))
    base = Descriptor.of(conversion, op.memref).field(BASE)
    conversion.add(call(SymbolRefAttr("free"), [base], llvm.LLVMVoidType()))
    conversion.replace()


def byte_count(op: Operation, conversion: Conversion, kind: MemRefType, count: SSAValue) -> SSAValue:
    """The size in bytes of `count` elements: the address behind them in a buffer at address zero."""
    null = conversion.add(llvm.ZeroOp(result_types=[PTR])).res
    element = convert_type(op, kind.element_type)
    end = conversion.add(llvm.GEPOp.from_mixed_indices(null, [count], element)).result
    return conversion.add(llvm.PtrToIntOp(end)).output


def _contiguous(op: Operation, kind: MemRefType) -> MemRefType:
    buffer_type(op, kind)
    if not isinstance(kind.layout, NoneAttr):
        fail(op, f"expected a memref of identity layout, found {kind}")
    return kind


def _sizes(conversion: Conversion, kind: MemRefType, dynamic: Sequence[SSAValue]) -> list[SSAValue | int]:
    given = iter(conversion.values(dynamic))
    return [next(given) if size == DYNAMIC_INDEX else size for size in kind.get_shape()]


def _element_count(conversion: Conversion, sizes: Sequence[SSAValue | int]) -> SSAValue:
    known = prod(size for size in sizes if isinstance(size, int))
    dynamic = [size for size in sizes if isinstance(size, SSAValue)]
    if not dynamic or known != 1:
        dynamic.append(constant(conversion, known))
    count = dynamic[0]
    for size in dynamic[1:]:
        count = conversion.add(llvm.MulOp(count, size)).res
    return count


def _align(conversion: Conversion, pointer: SSAValue, alignment: int) -> SSAValue:
    """`pointer` advanced to a multiple of `alignment`. It stays the pointer that malloc gave, for alias analysis."""
    address = conversion.add(llvm.PtrToIntOp(pointer)).output
    negated = conversion.add(llvm.SubOp(constant(conversion, 0), address)).res
    gap = conversion.add(llvm.AndOp(negated, constant(conversion, alignment - 1))).res
    return conversion.add(llvm.GEPOp.from_mixed_indices(pointer, [gap], i8)).result


def _new_descriptor(
    conversion: Conversion, buffer: SSAValue, base: SSAValue, aligned: SSAValue, sizes: Sequence[SSAValue | int]
) -> Descriptor:
    """The descriptor of a contiguous buffer."""
    fields: dict[Position, SSAValue | int] = {BASE: base, ALIGNED: aligned, OFFSET: 0}
    fields |= {size_at(dim): size for dim, size in enumerate(sizes)}
    stride: SSAValue | int = 1
    for dim, size in reversed(list(enumerate(sizes))):
        fields[stride_at(dim)] = stride
        stride = _product(conversion, size, stride) if dim else stride
    if aligned.name_hint is None:
        aligned.name_hint = buffer.name_hint
    return Descriptor(conversion, buffer, fields)


def _product(conversion: Conversion, lhs: SSAValue | int, rhs: SSAValue | int) -> SSAValue | int:
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs * rhs
    if lhs == 1:
        return rhs
    if rhs == 1:
        return lhs
    lhs, rhs = (constant(conversion, value) if isinstance(value, int) else value for value in (lhs, rhs))
    return conversion.add(llvm.MulOp(lhs, rhs)).res


# Descriptors and whole buffers


@MEMREF_TO_LLVM.rule(memref.DimOp)
def convert_dim(op: memref.DimOp, conversion: Conversion) -> None:
    shape = buffer_type(op, op.source.type).get_shape()
    index = conversion.value(op.index)
    match _known_integer(op.index), _known_integer(index):
        case (None, None):
            conversion.replace(_size_at_dynamic(op, conversion, index))
        case (known, None) | (_, known):
            if not 0 <= known < len(shape):
                fail(op, f"expected a dimension below {len(shape)}, found {known}")
            conversion.replace(_size(op, conversion, known))


def _known_integer(value: SSAValue) -> int | None:
    """The value of a constant, converted or not."""
    attr = value.owner.value if isinstance(value.owner, llvm.ConstantOp) else ConstantLike.get_constant_value(value)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _size(op: memref.DimOp, conversion: Conversion, dim: int) -> SSAValue:
    known = buffer_type(op, op.source.type).get_shape()[dim]
    if known != DYNAMIC_INDEX:
        return constant(conversion, known)
    return Descriptor.of(conversion, op.source).field(size_at(dim))


def _size_at_dynamic(op: memref.DimOp, conversion: Conversion, index: SSAValue) -> SSAValue:
    rank = buffer_type(op, op.source.type).get_num_dims()
    if not rank:
        fail(op, "expected a memref with dimensions, found one of rank 0")
    size = _size(op, conversion, rank - 1)
    for dim in range(rank - 1):
        equal = conversion.add(llvm.ICmpOp(index, constant(conversion, dim), EQ)).res
        size = conversion.add(llvm.SelectOp(equal, _size(op, conversion, dim), size)).res
    return size


@MEMREF_TO_LLVM.rule(memref.RankOp)
def convert_rank(op: memref.RankOp, conversion: Conversion) -> None:
    conversion.replace(constant(conversion, buffer_type(op, op.source.type).get_num_dims()))


@MEMREF_TO_LLVM.rule(memref.CastOp)
def convert_cast(op: memref.CastOp, conversion: Conversion) -> None:
    source, dest = (buffer_type(op, value.type) for value in (op.source, op.dest))
    if source.get_num_dims() != dest.get_num_dims():
        fail(op, f"expected memrefs of one rank, found {source} and {dest}")
    conversion.replace(Descriptor.of(conversion, op.source).as_type(op.dest))


@MEMREF_TO_LLVM.rule(memref.CopyOp)
def convert_copy(op: memref.CopyOp, conversion: Conversion) -> None:
    source, dest = (buffer_type(op, value.type) for value in (op.source, op.destination))
    for kind in (source, dest):
        if not _is_contiguous(kind):
            fail(op, f"expected contiguous buffers, found {kind}: copy it element by element")
    descriptor = Descriptor.of(conversion, op.source)
    sizes = [
        descriptor.field(size_at(dim)) if size == DYNAMIC_INDEX else size for dim, size in enumerate(source.get_shape())
    ]
    size = byte_count(op, conversion, source, _element_count(conversion, sizes))
    to, start = (first_element(op, conversion, value) for value in (op.destination, op.source))
    conversion.add(call_intrinsic("llvm.memcpy.p0.p0.i64", [to, start, size, constant(conversion, 0, i1)], []))
    conversion.replace()


def _is_contiguous(kind: MemRefType) -> bool:
    """Whether the elements lie one behind the other, at whatever offset."""
    identity = MemRefType(kind.element_type, kind.shape)
    return kind.get_strides() == identity.get_strides()


@MEMREF_TO_LLVM.rule(memref.GlobalOp)
def convert_global(op: memref.GlobalOp, conversion: Conversion) -> None:
    kind = _contiguous(op, buffer_type(op, op.type))
    storage = convert_type(op, kind.element_type)
    for size in reversed(kind.get_shape()):
        storage = llvm.LLVMArrayType(size, storage)
    value: Attribute = op.initial_value
    if isinstance(value, UnitAttr):
        # Uninitialized: any value will do.
        value = _zeros(op, kind)
    new = llvm.GlobalOp(
        storage,
        op.sym_name,
        "private" if op.sym_visibility == StringAttr("private") else "external",
        constant=op.constant is not None,
        value=value,
        alignment=op.alignment.value.data if op.alignment is not None else None,
    )
    conversion.add(new)
    conversion.replace()


def _zeros(op: Operation, kind: MemRefType) -> DenseIntOrFPElementsAttr:
    element = kind.element_type
    if not isa(element, IntegerType | IndexType | AnyFloat):
        fail(op, f"expected elements that are numbers, found {element}")
    zeros = bytes(element.compile_time_size * prod(kind.get_shape()))
    return DenseIntOrFPElementsAttr(TensorType(element, kind.shape), BytesAttr(zeros))


@MEMREF_TO_LLVM.rule(memref.GetGlobalOp)
def convert_get_global(op: memref.GetGlobalOp, conversion: Conversion) -> None:
    kind = _contiguous(op, op.memref.type)
    address = conversion.add(llvm.AddressOfOp(op.name_, PTR)).result
    conversion.replace(_new_descriptor(conversion, op.memref, address, address, list(kind.get_shape())))
