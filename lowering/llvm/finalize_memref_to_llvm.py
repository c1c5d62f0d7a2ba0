"""Conversion of `memref` to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
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
    TensorType,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.function_arguments import RESULT_ATTR
from relex.dialects.target.code_generators import pointer_bits
from relex.dialects.target.features import module_target
from relex.dialects.target.machine import ALLOC, FREE, NEW_RESULT
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.memref import PrefetchOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable, convert
from relex.lowering.llvm.buffers import MemRefOperand, Number, as_value, buffer_type, load, product, store
from relex.lowering.llvm.c_interface import allocator
from relex.lowering.llvm.descriptor import BASE
from relex.lowering.llvm.helpers import call_helper, call_library, strided_copy
from relex.lowering.llvm.intrinsics import add_intrinsic, call_intrinsic
from relex.lowering.llvm.memref_views import VIEWS_TO_LLVM, new_descriptor
from relex.lowering.llvm.types import LLVM_TYPES, PTR, constant, convert_type

MEMREF_TO_LLVM = ConversionTable("finalize-memref-to-llvm", VIEWS_TO_LLVM)
"""Conversion rules for `memref`."""

GENERIC_MEMORY = ConversionTable("generic memory")
"""Conversion rules for allocations if the embedding program provides the memory."""


@dataclass(frozen=True)
class FinalizeMemrefToLlvmPass(ConversionPass):
    """
    Converts `memref`: buffers become pointers, and accesses become address arithmetic. Memory comes from `malloc`, or
    with `use-generic-functions` from functions that the embedding program provides.

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

    table = MEMREF_TO_LLVM
    types = LLVM_TYPES

    use_generic_functions: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = {**MEMREF_TO_LLVM, **GENERIC_MEMORY} if self.use_generic_functions else MEMREF_TO_LLVM
        convert(op, table, LLVM_TYPES)


@MEMREF_TO_LLVM.rule(memref.LoadOp)
def convert_load(op: memref.LoadOp, conversion: Conversion) -> None:
    """Convert to a load from the address of the element."""
    kind = convert_type(op, op.res.type)
    conversion.replace(load(conversion, MemRefOperand(op, conversion, op.memref).pointer(op.indices), kind))


@MEMREF_TO_LLVM.rule(memref.StoreOp)
def convert_store(op: memref.StoreOp, conversion: Conversion) -> None:
    """Convert to a store to the address of the element."""
    pointer = MemRefOperand(op, conversion, op.memref).pointer(op.indices)
    store(conversion, conversion.value(op.value), pointer)
    conversion.replace()


@MEMREF_TO_LLVM.rule(PrefetchOp)
def convert_prefetch(op: PrefetchOp, conversion: Conversion) -> None:
    """Convert to `llvm.prefetch`; the address may be out of bounds."""
    if not op.is_data:
        # LLVM aborts on it for most targets.
        fail(op, "expected to prefetch data, found instructions")
    pointer = MemRefOperand(op, conversion, op.buffer).pointer(op.indices, inside=False)
    numbers = (int(bool(op.is_write)), op.locality.value.data, 1)
    arguments = [pointer, *(constant(conversion, number, i32) for number in numbers)]
    conversion.add(call_intrinsic("llvm.prefetch.p0", arguments, []))
    conversion.replace()


# Allocation


def convert_alloc(op: memref.AllocOp, conversion: Conversion, function: str = "malloc") -> None:
    """Convert to a call of the allocator, with room to align the pointer."""
    if (number := op.attributes.get(RESULT_ATTR)) is not None:
        _convert_result(op, number, conversion)
        return
    kind, sizes, count = _allocation(op, conversion)
    size = byte_count(op, conversion, kind, count)
    alignment = op.alignment.value.data if op.alignment is not None else 1
    if alignment > 1:
        size = conversion.add(llvm.AddOp(size, constant(conversion, alignment - 1))).res
    bits = _size_bits(conversion)
    if bits < 64:
        # Too large a number saturates, so that the allocation fails rather than return too little.
        size = add_intrinsic(conversion, "llvm.umin", [size, constant(conversion, 2**bits - 1)])
        size = conversion.add(llvm.TruncOp(size, IntegerType(bits))).res
    base = call_library(conversion, function, [size], PTR, allocator).results[0]
    aligned = _align(conversion, base, alignment) if alignment > 1 else base
    conversion.replace(new_descriptor(conversion, op.memref, base, aligned, sizes))


def _convert_result(op: memref.AllocOp, number: Attribute, conversion: Conversion) -> None:
    """Convert the allocation of a result to a call that gets the memory from the caller."""
    assert isa(number, IntegerAttr)
    _, sizes, _ = _allocation(op, conversion)
    count = constant(conversion, len(sizes))
    properties: dict[str, Attribute] = {"elem_type": i64}
    place = conversion.add(llvm.AllocaOp.create(operands=[count], properties=properties, result_types=[PTR])).res
    for i, size in enumerate(sizes):
        value = constant(conversion, size) if isinstance(size, int) else size
        conversion.add(llvm.StoreOp(value, conversion.add(llvm.GEPOp(place, [i], i64)).result))
    pointer = call_library(conversion, NEW_RESULT, [constant(conversion, number.value.data), place], PTR).results[0]
    conversion.replace(new_descriptor(conversion, op.memref, pointer, pointer, sizes))


def _allocation(
    op: memref.AllocOp | memref.AllocaOp, conversion: Conversion
) -> tuple[MemRefType, list[Number], SSAValue]:
    """The type of the buffer that `op` allocates, its sizes, and the number of elements."""
    kind = _contiguous(op, op.memref.type)
    sizes = get_dynamic_index_list(kind.get_shape(), conversion.values(op.dynamic_sizes), DYNAMIC_INDEX)
    return kind, sizes, _element_count(conversion, sizes)


def _size_bits(conversion: Conversion) -> int:
    """The width of C's `size_t`."""
    return pointer_bits(module_target(conversion.module).triple)


@MEMREF_TO_LLVM.rule(memref.AllocaOp)
def convert_alloca(op: memref.AllocaOp, conversion: Conversion) -> None:
    """Convert to `llvm.alloca`."""
    kind, sizes, count = _allocation(op, conversion)
    properties: dict[str, Attribute] = {"elem_type": convert_type(op, kind.element_type)}
    if op.alignment is not None:
        properties["alignment"] = IntegerAttr(op.alignment.value, i64)
    pointer = conversion.add(llvm.AllocaOp.create(operands=[count], properties=properties, result_types=[PTR])).res
    conversion.replace(new_descriptor(conversion, op.memref, pointer, pointer, sizes))


@MEMREF_TO_LLVM.rule(memref.AllocaScopeOp)
def convert_alloca_scope(op: memref.AllocaScopeOp, conversion: Conversion) -> None:
    """Inline the scope, between saving and restoring the stack pointer."""
    stack = conversion.add(llvm.StackSaveOp()).res
    conversion.add(llvm.BrOp(op.scope.blocks[0]))
    _, after = conversion.split_block()
    results = [after.insert_arg(convert_type(op, old.type), i) for i, old in enumerate(op.results)]
    for block in op.scope.blocks:
        if isinstance(leave := block.last_op, memref.AllocaScopeReturnOp):
            # Passed on to the rule of the return.
            leave.operands = [*leave.operands, stack]
            leave.successors = [after]
    op.scope.move_blocks_before(after)
    conversion.replace(*results)


@MEMREF_TO_LLVM.rule(memref.AllocaScopeReturnOp)
def convert_alloca_scope_return(op: memref.AllocaScopeReturnOp, conversion: Conversion) -> None:
    """Restore the stack pointer, and branch to the end of the scope."""
    *results, stack = conversion.values(op.operands)
    conversion.add(llvm.StackRestoreOp(stack))
    conversion.add(llvm.BrOp(op.successors[0], *results))
    conversion.replace()


def convert_dealloc(op: memref.DeallocOp, conversion: Conversion, function: str = "free") -> None:
    """Convert to a call that frees the allocated pointer."""
    base = MemRefOperand(op, conversion, op.memref).descriptor.field(BASE)
    call_library(conversion, function, [base], declare=allocator)
    conversion.replace()


MEMREF_TO_LLVM.add(convert_alloc, memref.AllocOp)
MEMREF_TO_LLVM.add(convert_dealloc, memref.DeallocOp)
GENERIC_MEMORY.add(partial(convert_alloc, function=ALLOC), memref.AllocOp)
GENERIC_MEMORY.add(partial(convert_dealloc, function=FREE), memref.DeallocOp)


def byte_count(op: Operation, conversion: Conversion, kind: MemRefType, count: SSAValue) -> SSAValue:
    """Return the size in bytes of `count` elements: the address after them in a buffer at address zero if addresses
    have 64 bits, else the address after the first, times `count`."""
    is_narrow = _size_bits(conversion) < 64
    null = conversion.add(llvm.ZeroOp(result_types=[PTR])).res
    element = convert_type(op, kind.element_type)
    end = conversion.add(llvm.GEPOp.from_mixed_indices(null, [1 if is_narrow else count], element)).result
    size = conversion.add(llvm.PtrToIntOp(end)).output
    return conversion.add(llvm.MulOp(size, count)).res if is_narrow else size


def _contiguous(op: Operation, kind: MemRefType) -> MemRefType:
    buffer_type(op, kind)
    if not isinstance(kind.layout, NoneAttr):
        fail(op, f"expected a memref of identity layout, found {kind}")
    return kind


def _element_count(conversion: Conversion, sizes: Sequence[Number]) -> SSAValue:
    """Return the product of the sizes, the known ones last."""
    known = prod(size for size in sizes if isinstance(size, int))
    dynamic: list[Number] = [size for size in sizes if isinstance(size, SSAValue)]
    return as_value(conversion, reduce(partial(product, conversion), [*dynamic, known]))


def _align(conversion: Conversion, pointer: SSAValue, alignment: int) -> SSAValue:
    """Round `pointer` up to a multiple of `alignment`. It stays derived from malloc's pointer, for alias analysis."""
    address = conversion.add(llvm.PtrToIntOp(pointer)).output
    negated = conversion.add(llvm.SubOp(constant(conversion, 0), address)).res
    gap = conversion.add(llvm.AndOp(negated, constant(conversion, alignment - 1))).res
    return conversion.add(llvm.GEPOp.from_mixed_indices(pointer, [gap], i8)).result


# Whole buffers


@MEMREF_TO_LLVM.rule(memref.CopyOp)
def convert_copy(op: memref.CopyOp, conversion: Conversion) -> None:
    """Convert to `llvm.memcpy` if both buffers are contiguous, else to a call of a helper that copies elements."""
    source, dest = (MemRefOperand(op, conversion, value) for value in (op.source, op.destination))
    pointers = [source.first_element(), dest.first_element()]
    sizes = source.sizes
    if _is_contiguous(source.kind) and _is_contiguous(dest.kind):
        size = byte_count(op, conversion, source.kind, _element_count(conversion, sizes))
        arguments = [*reversed(pointers), size, constant(conversion, 0, i1)]
        conversion.add(call_intrinsic("llvm.memcpy.p0.p0.i64", arguments, []))
    else:
        numbers = [as_value(conversion, number) for number in (*sizes, *source.strides, *dest.strides)]
        copy = strided_copy(len(sizes), source.element)
        call_helper(conversion, copy, [*pointers, *numbers], llvm.LLVMVoidType())
    conversion.replace()


def _is_contiguous(kind: MemRefType) -> bool:
    """Return whether the elements are consecutive in memory, at any offset."""
    strides = kind.get_strides()
    return isinstance(kind.layout, NoneAttr) or (
        strides is not None
        and None not in strides
        and strides == MemRefType(kind.element_type, kind.shape).get_strides()
    )


@MEMREF_TO_LLVM.rule(memref.GlobalOp)
def convert_global(op: memref.GlobalOp, conversion: Conversion) -> None:
    """Convert to a global array; an uninitialized one is filled with zeros."""
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
    """Convert to the address of the global."""
    kind = _contiguous(op, op.memref.type)
    address = conversion.add(llvm.AddressOfOp(op.name_, PTR)).result
    conversion.replace(new_descriptor(conversion, op.memref, address, address, list(kind.get_shape())))
