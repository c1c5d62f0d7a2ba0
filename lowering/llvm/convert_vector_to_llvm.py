"""Conversion of one-dimensional `vector` ops to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BFloat16Type,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.dtypes import takes_whole_bytes
from relex.dialects.errors import fail
from relex.dialects.target.processors import architecture_of
from relex.dialects.target.target_attribute import get_target
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import ExtractElementOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.buffers import MemRefOperand, as_value, load, store
from relex.lowering.llvm.elementwise import add_counterparts
from relex.lowering.llvm.intrinsics import add_intrinsic, call_intrinsic, float_constant, llvm_flags, mangled
from relex.lowering.llvm.types import LLVM_TYPES, SGT, constant, convert_type, require_native_floats

VECTOR_TO_LLVM = ConversionTable("convert-vector-to-llvm")
"""Conversion rules for `vector`."""

Kind = vector.CombiningKindFlag


class ConvertVectorToLlvmPass(ConversionPass):
    """
    Converts `vector` ops on vectors of one dimension; others are errors. Accesses have the alignment of the elements;
    an i1 takes a byte in memory, as it does alone. A transfer past the end of a buffer reads the padding, and its
    writes there are dropped.

    ```mlir
    %0 = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %1 = vector.reduction <add>, %0, %start fastmath<reassoc> : vector<8xf32> into f32
    // convert-vector-to-llvm, where %x is the aligned pointer and the operands are converted too
    %2 = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %0 = llvm.load %2 {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %1 = llvm.call_intrinsic "llvm.vector.reduce.fadd.v8f32"(%start, %0) {fastmathFlags = #llvm.fastmath<reassoc>}
        : (f32, vector<8xf32>) -> f32
    ```
    """

    name = "convert-vector-to-llvm"

    table = VECTOR_TO_LLVM
    types = LLVM_TYPES


def vector_type(op: Operation, old: Attribute) -> VectorType[Attribute]:
    """The machine type of a vector."""
    kind = convert_type(op, old)
    if not isa(kind, VectorType):
        fail(op, f"expected a vector, found {old}")
    return kind


# Memory


@VECTOR_TO_LLVM.rule(vector.LoadOp)
def convert_load(op: vector.LoadOp, conversion: Conversion) -> None:
    """Convert to a load with the alignment of the elements."""
    _load(op, conversion, op.base, op.indices)


@VECTOR_TO_LLVM.rule(vector.StoreOp)
def convert_store(op: vector.StoreOp, conversion: Conversion) -> None:
    """Convert to a store with the alignment of the elements."""
    _store(op, conversion, op.vector, op.base, op.indices)


@VECTOR_TO_LLVM.rule(vector.MaskedLoadOp)
def convert_masked_load(op: vector.MaskedLoadOp, conversion: Conversion) -> None:
    """Convert to `llvm.masked.load`."""
    _load(op, conversion, op.base, op.indices, conversion.value(op.mask), conversion.value(op.pass_thru))


@VECTOR_TO_LLVM.rule(vector.MaskedStoreOp)
def convert_masked_store(op: vector.MaskedStoreOp, conversion: Conversion) -> None:
    """Convert to `llvm.masked.store`."""
    _store(op, conversion, op.value_to_store, op.base, op.indices, conversion.value(op.mask))


@VECTOR_TO_LLVM.rule(vector.TransferReadOp)
def convert_transfer_read(op: vector.TransferReadOp, conversion: Conversion) -> None:
    """Convert a transfer along the last dimension to a load, masked unless it is in bounds."""
    kind = vector_type(op, op.result.type)
    mask = _transfer_mask(op, conversion, kind)
    padding = broadcast(conversion, conversion.value(op.padding), kind) if mask is not None else None
    _load(op, conversion, op.source, op.indices, mask, padding)


@VECTOR_TO_LLVM.rule(vector.TransferWriteOp)
def convert_transfer_write(op: vector.TransferWriteOp, conversion: Conversion) -> None:
    """Convert a transfer along the last dimension to a store, masked unless it is in bounds."""
    mask = _transfer_mask(op, conversion, vector_type(op, op.vector.type))
    _store(op, conversion, op.vector, op.source, op.indices, mask)


def _transfer_mask(
    op: vector.TransferReadOp | vector.TransferWriteOp, conversion: Conversion, kind: VectorType[Attribute]
) -> SSAValue | None:
    """Return the mask of elements that are in bounds and enabled by the mask of the op; None for all."""
    if op.permutation_map.data != AffineMap.minor_identity(len(op.indices), 1):
        fail(op, f"expected a transfer along the last dimension, found the permutation {op.permutation_map.data}")
    mask = conversion.value(op.mask) if op.mask is not None else None
    in_bounds = op.get_attr_or_prop("in_bounds")
    if isa(in_bounds, ArrayAttr[BoolAttr]) and all(in_bounds):
        return mask
    size = as_value(conversion, MemRefOperand(op, conversion, op.source).sizes[-1])
    room = conversion.add(llvm.SubOp(size, conversion.value(op.indices[-1]))).res
    inside = first_lanes(conversion, room, kind.get_shape()[0])
    return inside if mask is None else conversion.add(llvm.AndOp(inside, mask)).res


def _load(
    op: Operation,
    conversion: Conversion,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    mask: SSAValue | None = None,
    other: SSAValue | None = None,
) -> None:
    """Replace `op` by a load; under a mask, the lanes that it disables come from `other`."""
    kind = vector_type(op, op.results[0].type)
    pointer, stored = _pointer(op, conversion, buffer, indices, masked=mask is not None), _in_memory(kind)
    if mask is None or other is None:
        loaded = load(conversion, pointer, stored)
    else:
        other = other if stored == kind else conversion.add(llvm.ZExtOp(other, stored)).res
        name = mangled("llvm.masked.load", stored) + ".p0"
        loaded = conversion.add(call_intrinsic(name, [pointer, mask, other], [stored])).results[0]
    conversion.replace(loaded if stored == kind else conversion.add(llvm.TruncOp(loaded, kind)).res)


def _store(
    op: Operation,
    conversion: Conversion,
    vector: SSAValue,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    mask: SSAValue | None = None,
) -> None:
    """Replace `op` by a store of the lanes that the mask enables."""
    kind = vector_type(op, vector.type)
    pointer, stored = _pointer(op, conversion, buffer, indices, masked=mask is not None), _in_memory(kind)
    value = conversion.value(vector)
    if stored != kind:
        value = conversion.add(llvm.ZExtOp(value, stored)).res
    if mask is None:
        store(conversion, value, pointer)
    else:
        value = _apart(value, conversion)
        conversion.add(call_intrinsic(mangled("llvm.masked.store", stored) + ".p0", [value, pointer, mask], []))
    conversion.replace()


def _apart(value: SSAValue, conversion: Conversion) -> SSAValue:
    """Return integers that a masked store does not narrow itself. For x86-64, LLVM 22 makes one op of both, and if the
    mask is a constant with one lane, stores that element before it was narrowed: other elements are overwritten."""
    kind = value.type
    if not isa(kind, VectorType[IntegerType]) or not _is_for_x86(conversion):
        return value
    count, rest = divmod(kind.get_shape()[0] * kind.element_type.width.data, 32)
    if rest:
        return value  # No register has these.
    floats = VectorType(f32, [count])
    bits = conversion.add(llvm.BitcastOp(value, floats)).result
    fence = call_intrinsic(mangled("llvm.arithmetic.fence", floats), [bits], [floats])
    return conversion.add(llvm.BitcastOp(conversion.add(fence).results[0], kind)).result


def _is_for_x86(conversion: Conversion) -> bool:
    target = get_target(conversion.module)
    return target is None or architecture_of(target.triple) == "x86_64"


def _in_memory(kind: VectorType[Attribute]) -> VectorType[Attribute]:
    """Return the type of a vector as it is in memory, where an i1 takes a byte. LLVM's own vectors pack the bits."""
    return VectorType(i8, kind.shape) if kind.element_type == i1 else kind


def _pointer(
    op: Operation, conversion: Conversion, value: SSAValue, indices: Sequence[SSAValue], *, masked: bool
) -> SSAValue:
    """Return the address of the vector that `op` accesses in a buffer; if it is masked, it may be out of bounds."""
    buffer = MemRefOperand(op, conversion, value)
    kind, strides = buffer.kind, buffer.static_strides
    if not takes_whole_bytes(buffer.element):
        fail(op, f"expected elements that fill whole bytes in a vector as in memory, found {kind.element_type}")
    if not strides or strides[-1] != 1:
        fail(op, f"expected contiguous elements in the last dimension, found {kind}")
    return buffer.pointer(indices, inside=not masked)


# Masks


@VECTOR_TO_LLVM.rule(vector.CreateMaskOp)
def convert_create_mask(op: vector.CreateMaskOp, conversion: Conversion) -> None:
    """Convert to a comparison of lane numbers with the count."""
    kind = vector_type(op, op.mask_vector.type)
    (count,) = conversion.values(op.mask_dim_sizes)
    conversion.replace(first_lanes(conversion, count, kind.get_shape()[0]))


def first_lanes(conversion: Conversion, count: SSAValue, length: int) -> SSAValue:
    """Return a mask of `length` elements that enables the first `count`, an i64 that may be negative or too large."""
    # Comparisons of 32-bit lanes are twice as fast.
    lowest, highest = constant(conversion, 0), constant(conversion, length)
    clamped = add_intrinsic(conversion, "llvm.smax", [count, lowest])
    clamped = add_intrinsic(conversion, "llvm.smin", [clamped, highest])
    narrow = conversion.add(llvm.TruncOp(clamped, i32)).res
    kind = VectorType(i32, [length])
    lanes = conversion.once_in_block(
        ("lanes", length),
        lambda: conversion.add(llvm.ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, range(length)), kind)).result,
    )
    return conversion.add(llvm.ICmpOp(broadcast(conversion, narrow, kind), lanes, SGT)).res


# Elements


@VECTOR_TO_LLVM.rule(vector.BroadcastOp)
def convert_broadcast(op: vector.BroadcastOp, conversion: Conversion) -> None:
    """Convert a broadcast of a scalar, or of a vector of one element."""
    kind = vector_type(op, op.vector.type)
    convert_type(op, op.source.type)
    source = conversion.value(op.source)
    if source.type == kind:
        conversion.replace(source)
    elif isa(source.type, VectorType):
        conversion.replace(_shuffle(conversion, source, source, [0] * kind.get_shape()[0]))
    else:
        conversion.replace(broadcast(conversion, source, kind))


def broadcast(conversion: Conversion, value: SSAValue, kind: VectorType[Attribute]) -> SSAValue:
    """Return a vector with `value` in every element."""
    undefined = conversion.constant((llvm.UndefOp, kind), lambda: conversion.add(llvm.UndefOp(kind)).res)
    first = conversion.add(llvm.InsertElementOp(undefined, value, constant(conversion, 0))).res
    return _shuffle(conversion, first, first, [0] * kind.get_shape()[0])


@VECTOR_TO_LLVM.rule(vector.ExtractOp)
def convert_extract(op: vector.ExtractOp, conversion: Conversion) -> None:
    """Convert to `llvm.extractelement`."""
    vector_type(op, op.vector.type)
    source = conversion.value(op.vector)
    for position in _positions(op, conversion):
        source = conversion.add(ExtractElementOp(source, position)).res
    conversion.replace(source)


@VECTOR_TO_LLVM.rule(vector.InsertOp)
def convert_insert(op: vector.InsertOp, conversion: Conversion) -> None:
    """Convert to `llvm.insertelement`."""
    vector_type(op, op.dest.type)
    source = conversion.value(op.source)
    for position in _positions(op, conversion):
        source = conversion.add(llvm.InsertElementOp(conversion.value(op.dest), source, position)).res
    conversion.replace(source)


def _positions(op: vector.ExtractOp | vector.InsertOp, conversion: Conversion) -> Iterator[SSAValue]:
    for position in op.get_mixed_position():
        yield constant(conversion, position) if isinstance(position, int) else conversion.value(position)


@VECTOR_TO_LLVM.rule(vector.ShuffleOp)
def convert_shuffle(op: vector.ShuffleOp, conversion: Conversion) -> None:
    """Convert a shuffle; the shorter vector is widened first."""
    vector_type(op, op.result.type)
    vectors = conversion.values([op.v1, op.v2])
    lengths = [vector_type(op, value.type).get_shape()[0] for value in (op.v1, op.v2)]
    # LLVM shuffles vectors of one type.
    longest, gap = max(lengths), max(lengths) - lengths[0]
    widen = [*range(min(lengths)), *[-1] * (longest - min(lengths))]
    widened = [v if n == longest else _shuffle(conversion, v, v, widen) for v, n in zip(vectors, lengths, strict=True)]
    lanes = [lane + gap if lane >= lengths[0] else lane for lane in op.mask.get_values()]
    conversion.replace(_shuffle(conversion, widened[0], widened[1], lanes))


def _shuffle(conversion: Conversion, first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> SSAValue:
    assert isa(first.type, VectorType)
    kind = VectorType(first.type.element_type, [len(lanes)])
    return conversion.add(llvm.ShuffleVectorOp(first, second, DenseArrayBase.from_list(i32, lanes), kind)).res


@VECTOR_TO_LLVM.rule(vector.BitcastOp)
def convert_bitcast(op: vector.BitcastOp, conversion: Conversion) -> None:
    """Convert a bitcast, unless the types are equal. Numbers of bf16 that only intrinsics take stay such numbers:
    elsewhere they are integers, since nothing is computed with them."""
    source = conversion.value(op.source)
    kind = vector_type(op, op.result.type)
    users = (use.operation for use in op.result.uses)
    if isa(op.result.type, VectorType[BFloat16Type]) and all(isinstance(user, llvm.CallIntrinsicOp) for user in users):
        kind = op.result.type
    vector_type(op, op.source.type)
    conversion.replace(source if source.type == kind else conversion.add(llvm.BitcastOp(source, kind)).result)


# Arithmetic


# As in MLIR: fused if the target supports it, and never a call of the C library.
add_counterparts(VECTOR_TO_LLVM, {vector.FMAOp: "llvm.fmuladd"})

Combine = Callable[[SSAValue, SSAValue], Operation] | str
"""The op or the overloaded intrinsic that combines the result of a reduction with the accumulator."""

INTEGER_REDUCTIONS: dict[Kind, tuple[str, Combine]] = {
    Kind.ADD: ("add", llvm.AddOp),
    Kind.AND: ("and", llvm.AndOp),
    Kind.MAXSI: ("smax", "llvm.smax"),
    Kind.MAXUI: ("umax", "llvm.umax"),
    Kind.MINSI: ("smin", "llvm.smin"),
    Kind.MINUI: ("umin", "llvm.umin"),
    Kind.MUL: ("mul", llvm.MulOp),
    Kind.OR: ("or", llvm.OrOp),
    Kind.XOR: ("xor", llvm.XOrOp),
}

FLOAT_REDUCTIONS: dict[Kind, tuple[str, Combine]] = {
    Kind.MAXIMUMF: ("fmaximum", "llvm.maximum"),
    Kind.MAXNUMF: ("fmax", "llvm.maxnum"),
    Kind.MINIMUMF: ("fminimum", "llvm.minimum"),
    Kind.MINNUMF: ("fmin", "llvm.minnum"),
}

FLOAT_SUMS = {Kind.ADD: ("fadd", 0.0), Kind.MUL: ("fmul", 1.0)}
"""Ordered sums and products, which start at the accumulator or at this value."""


@VECTOR_TO_LLVM.rule(vector.ReductionOp)
def convert_reduction(op: vector.ReductionOp, conversion: Conversion) -> None:
    """Convert to the reduction intrinsic of the kind and element type, combined with an accumulator if present."""
    kind = vector_type(op, op.vector.type)
    element, combining, source = kind.element_type, op.kind.data, conversion.value(op.vector)
    accumulator = conversion.value(op.acc) if op.acc is not None else None
    require_native_floats(op, conversion)
    if isa(element, AnyFloat) and combining in FLOAT_SUMS:
        name, start = FLOAT_SUMS[combining]
        first = accumulator if accumulator is not None else float_constant(conversion, start, element)
        conversion.replace(_reduce(op, conversion, name, [first, source]))
        return
    is_integer = isa(element, IntegerType)
    known = INTEGER_REDUCTIONS if is_integer else FLOAT_REDUCTIONS
    if combining not in known:
        fail(op, f"expected a kind of reduction that {element} has, found '{combining}'")
    name, combine = known[combining]
    result = _reduce(op, conversion, name, [source])
    if accumulator is not None:
        pair = (accumulator, result) if is_integer else (result, accumulator)
        by_intrinsic = isinstance(combine, str)
        result = add_intrinsic(conversion, combine, pair) if by_intrinsic else conversion.add(combine(*pair)).results[0]
    conversion.replace(result)


def _reduce(op: vector.ReductionOp, conversion: Conversion, name: str, arguments: Sequence[SSAValue]) -> SSAValue:
    vector = arguments[-1].type
    full_name = mangled(f"llvm.vector.reduce.{name}", vector)
    call = call_intrinsic(full_name, arguments, [get_element_type_or_self(vector)], llvm_flags(op))
    return conversion.add(call).results[0]
