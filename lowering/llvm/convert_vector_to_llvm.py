"""Conversion of one-dimensional `vector` ops to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.dialects.upstream.llvm import ExtractElementOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.buffers import buffer_strides, buffer_type, element_pointer, sizes_of
from relex.lowering.llvm.intrinsics import add_intrinsic, call_intrinsic, float_constant, llvm_flags, mangled
from relex.lowering.llvm.types import (
    LLVM_TYPES,
    SGT,
    constant,
    convert_type,
    converted_operands,
    require_native_floats,
    vector_alignment,
)

VECTOR_TO_LLVM = ConversionTable("convert-vector-to-llvm")
"""Conversion rules for `vector`."""

Kind = vector.CombiningKindFlag


@dataclass(frozen=True)
class ConvertVectorToLlvmPass(ConversionPass):
    """
    Converts `vector` ops on vectors of one dimension; others are errors. Accesses have the alignment of the elements. A
    transfer past the end of a buffer reads the padding, and its writes there are dropped.

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
    kind = vector_type(op, op.result.type)
    pointer = _vector_pointer(op, conversion, op.base, op.indices)
    conversion.replace(_load(conversion, pointer, kind))


@VECTOR_TO_LLVM.rule(vector.StoreOp)
def convert_store(op: vector.StoreOp, conversion: Conversion) -> None:
    """Convert to a store with the alignment of the elements."""
    vector_type(op, op.vector.type)
    pointer = _vector_pointer(op, conversion, op.base, op.indices)
    _store(conversion, conversion.value(op.vector), pointer)
    conversion.replace()


@VECTOR_TO_LLVM.rule(vector.MaskedLoadOp)
def convert_masked_load(op: vector.MaskedLoadOp, conversion: Conversion) -> None:
    """Convert to `llvm.masked.load`."""
    vector_type(op, op.result.type)
    pointer = _vector_pointer(op, conversion, op.base, op.indices, masked=True)
    mask, otherwise = conversion.value(op.mask), conversion.value(op.pass_thru)
    conversion.replace(_masked_load(conversion, pointer, mask, otherwise))


@VECTOR_TO_LLVM.rule(vector.MaskedStoreOp)
def convert_masked_store(op: vector.MaskedStoreOp, conversion: Conversion) -> None:
    """Convert to `llvm.masked.store`."""
    vector_type(op, op.value_to_store.type)
    pointer = _vector_pointer(op, conversion, op.base, op.indices, masked=True)
    _masked_store(conversion, conversion.value(op.value_to_store), pointer, conversion.value(op.mask))
    conversion.replace()


@VECTOR_TO_LLVM.rule(vector.TransferReadOp)
def convert_transfer_read(op: vector.TransferReadOp, conversion: Conversion) -> None:
    """Convert a transfer along the last dimension to a load, masked unless it is in bounds."""
    kind = vector_type(op, op.result.type)
    _require_minor_identity(op, op.permutation_map.data, len(op.indices))
    mask = _transfer_mask(op, conversion, kind, op.mask)
    pointer = _vector_pointer(op, conversion, op.source, op.indices, masked=mask is not None)
    if mask is None:
        conversion.replace(_load(conversion, pointer, kind))
        return
    padding = broadcast(conversion, conversion.value(op.padding), kind)
    conversion.replace(_masked_load(conversion, pointer, mask, padding))


@VECTOR_TO_LLVM.rule(vector.TransferWriteOp)
def convert_transfer_write(op: vector.TransferWriteOp, conversion: Conversion) -> None:
    """Convert a transfer along the last dimension to a store, masked unless it is in bounds."""
    kind = vector_type(op, op.vector.type)
    _require_minor_identity(op, op.permutation_map.data, len(op.indices))
    mask = _transfer_mask(op, conversion, kind, op.mask)
    pointer = _vector_pointer(op, conversion, op.source, op.indices, masked=mask is not None)
    if mask is None:
        _store(conversion, conversion.value(op.vector), pointer)
    else:
        _masked_store(conversion, conversion.value(op.vector), pointer, mask)
    conversion.replace()


def _require_minor_identity(op: Operation, permutation: AffineMap, rank: int) -> None:
    if permutation != AffineMap.minor_identity(rank, 1):
        fail(op, f"expected a transfer along the last dimension, found the permutation {permutation}")


def _transfer_mask(
    op: vector.TransferReadOp | vector.TransferWriteOp,
    conversion: Conversion,
    kind: VectorType[Attribute],
    given: SSAValue | None,
) -> SSAValue | None:
    """Return the mask of elements that are in bounds and enabled by the mask of the op; None for all."""
    mask = conversion.value(given) if given is not None else None
    in_bounds = op.get_attr_or_prop("in_bounds")
    if isa(in_bounds, ArrayAttr[BoolAttr]) and all(in_bounds):
        return mask
    last = len(op.indices) - 1
    size = sizes_of(op, conversion, op.source)[last]
    size = constant(conversion, size) if isinstance(size, int) else size
    room = conversion.add(llvm.SubOp(size, conversion.value(op.indices[last]))).res
    inside = first_lanes(conversion, room, kind.get_shape()[0])
    return inside if mask is None else conversion.add(llvm.AndOp(inside, mask)).res


def _vector_pointer(
    op: Operation, conversion: Conversion, buffer: SSAValue, indices: Sequence[SSAValue], *, masked: bool = False
) -> SSAValue:
    """Return the address of the vector at `buffer[indices]`; with `masked` it may be out of bounds."""
    kind = buffer_type(op, buffer.type)
    element = convert_type(op, kind.element_type)
    if isa(element, IntegerType) and element.bitwidth not in (8, 16, 32, 64):
        fail(op, f"expected elements that fill whole bytes in a vector as in memory, found {kind.element_type}")
    strides = buffer_strides(op, kind)
    if not strides or strides[-1] != 1:
        fail(op, f"expected elements that lie one behind the other in the last dimension, found {kind}")
    return element_pointer(op, conversion, buffer, indices, inside=not masked)


def _load(conversion: Conversion, pointer: SSAValue, kind: VectorType[Attribute]) -> SSAValue:
    load = llvm.LoadOp(pointer, kind)
    load.alignment = vector_alignment(kind)
    return conversion.add(load).dereferenced_value


def _store(conversion: Conversion, value: SSAValue, pointer: SSAValue) -> None:
    store = llvm.StoreOp(value, pointer)
    store.alignment = vector_alignment(value.type)
    conversion.add(store)


def _masked_load(conversion: Conversion, pointer: SSAValue, mask: SSAValue, otherwise: SSAValue) -> SSAValue:
    name = mangled("llvm.masked.load", otherwise.type) + ".p0"
    return conversion.add(call_intrinsic(name, [pointer, mask, otherwise], [otherwise.type])).results[0]


def _masked_store(conversion: Conversion, value: SSAValue, pointer: SSAValue, mask: SSAValue) -> None:
    conversion.add(call_intrinsic(mangled("llvm.masked.store", value.type) + ".p0", [value, pointer, mask], []))


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
    undefined = conversion.add(llvm.UndefOp(kind)).res
    first = conversion.add(llvm.InsertElementOp(undefined, value, constant(conversion, 0))).res
    return _shuffle(conversion, first, first, [0] * kind.get_shape()[0])


@VECTOR_TO_LLVM.rule(vector.ExtractOp)
def convert_extract(op: vector.ExtractOp, conversion: Conversion) -> None:
    """Convert to `llvm.extractelement`."""
    vector_type(op, op.vector.type)
    source = conversion.value(op.vector)
    for position in op.get_mixed_position():
        source = conversion.add(ExtractElementOp(source, _index(conversion, position))).res
    conversion.replace(source)


@VECTOR_TO_LLVM.rule(vector.InsertOp)
def convert_insert(op: vector.InsertOp, conversion: Conversion) -> None:
    """Convert to `llvm.insertelement`."""
    vector_type(op, op.dest.type)
    source = conversion.value(op.source)
    for position in op.get_mixed_position():
        index = _index(conversion, position)
        source = conversion.add(llvm.InsertElementOp(conversion.value(op.dest), source, index)).res
    conversion.replace(source)


def _index(conversion: Conversion, position: SSAValue | int) -> SSAValue:
    return constant(conversion, position) if isinstance(position, int) else conversion.value(position)


@VECTOR_TO_LLVM.rule(vector.ShuffleOp)
def convert_shuffle(op: vector.ShuffleOp, conversion: Conversion) -> None:
    """Convert a shuffle; the shorter vector is widened first."""
    vector_type(op, op.result.type)
    first, second = conversion.value(op.v1), conversion.value(op.v2)
    lengths = [vector_type(op, value.type).get_shape()[0] for value in (op.v1, op.v2)]
    # LLVM shuffles vectors of one type.
    longest = max(lengths)
    widen = [*range(min(lengths)), *[-1] * (longest - min(lengths))]
    if lengths[0] < longest:
        first = _shuffle(conversion, first, first, widen)
    if lengths[1] < longest:
        second = _shuffle(conversion, second, second, widen)
    gap = longest - lengths[0]
    lanes = [lane + gap if lane >= lengths[0] else lane for lane in op.mask.get_values()]
    conversion.replace(_shuffle(conversion, first, second, lanes))


def _shuffle(conversion: Conversion, first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> SSAValue:
    assert isa(first.type, VectorType)
    kind = VectorType(first.type.element_type, [len(lanes)])
    return conversion.add(llvm.ShuffleVectorOp(first, second, DenseArrayBase.from_list(i32, lanes), kind)).res


@VECTOR_TO_LLVM.rule(vector.BitcastOp)
def convert_bitcast(op: vector.BitcastOp, conversion: Conversion) -> None:
    """Convert a bitcast, unless the types are equal."""
    source = conversion.value(op.source)
    kind = vector_type(op, op.result.type)
    vector_type(op, op.source.type)
    conversion.replace(source if source.type == kind else conversion.add(llvm.BitcastOp(source, kind)).result)


# Arithmetic


@VECTOR_TO_LLVM.rule(vector.FMAOp)
def convert_fma(op: vector.FMAOp, conversion: Conversion) -> None:
    """Convert to `llvm.fmuladd`."""
    require_native_floats(op, conversion)
    # As in MLIR: fused if the target supports it, and never a call of the C library.
    conversion.replace(add_intrinsic(conversion, "llvm.fmuladd", converted_operands(op, conversion)))


INTEGER_REDUCTIONS = {
    Kind.ADD: "add",
    Kind.AND: "and",
    Kind.MAXSI: "smax",
    Kind.MAXUI: "umax",
    Kind.MINSI: "smin",
    Kind.MINUI: "umin",
    Kind.MUL: "mul",
    Kind.OR: "or",
    Kind.XOR: "xor",
}

INTEGER_COMBINATIONS: dict[Kind, Callable[[SSAValue, SSAValue], Operation]] = {
    Kind.ADD: llvm.AddOp,
    Kind.AND: llvm.AndOp,
    Kind.MUL: llvm.MulOp,
    Kind.OR: llvm.OrOp,
    Kind.XOR: llvm.XOrOp,
}
"""Ops that combine the result of a reduction with the accumulator; the other kinds have an intrinsic."""

FLOAT_REDUCTIONS = {Kind.ADD: ("fadd", 0.0), Kind.MUL: ("fmul", 1.0)}
"""Ordered sums and products, and their start values."""

FLOAT_EXTREMES = {
    Kind.MAXIMUMF: ("fmaximum", "maximum"),
    Kind.MAXNUMF: ("fmax", "maxnum"),
    Kind.MINIMUMF: ("fminimum", "minimum"),
    Kind.MINNUMF: ("fmin", "minnum"),
}
"""The reduction, and the intrinsic that combines its result with the accumulator."""


@VECTOR_TO_LLVM.rule(vector.ReductionOp)
def convert_reduction(op: vector.ReductionOp, conversion: Conversion) -> None:
    """Convert to the reduction intrinsic of the kind and element type, combined with an accumulator if present."""
    kind = vector_type(op, op.vector.type)
    element, combining, source = kind.element_type, op.kind.data, conversion.value(op.vector)
    accumulator = conversion.value(op.acc) if op.acc is not None else None
    if isa(element, IntegerType) and combining in INTEGER_REDUCTIONS:
        conversion.replace(_reduce_integers(conversion, combining, source, accumulator))
        return
    if not isa(element, AnyFloat) or combining not in FLOAT_REDUCTIONS | FLOAT_EXTREMES:
        fail(op, f"expected a kind of reduction that {element} has, found '{combining}'")
    require_native_floats(op, conversion)
    flags = llvm_flags(op)
    if combining in FLOAT_REDUCTIONS:
        name, start = FLOAT_REDUCTIONS[combining]
        first = accumulator if accumulator is not None else float_constant(conversion, start, element)
        conversion.replace(_reduce(conversion, name, [first, source], flags))
        return
    name, combination = FLOAT_EXTREMES[combining]
    result = _reduce(conversion, name, [source], flags)
    if accumulator is not None:
        result = add_intrinsic(conversion, f"llvm.{combination}", [result, accumulator])
    conversion.replace(result)


def _reduce_integers(
    conversion: Conversion, combining: Kind, source: SSAValue, accumulator: SSAValue | None
) -> SSAValue:
    name = INTEGER_REDUCTIONS[combining]
    result = _reduce(conversion, name, [source])
    if accumulator is None:
        return result
    if combining not in INTEGER_COMBINATIONS:
        return add_intrinsic(conversion, f"llvm.{name}", [accumulator, result])
    return conversion.add(INTEGER_COMBINATIONS[combining](accumulator, result)).results[0]


def _reduce(
    conversion: Conversion, name: str, arguments: Sequence[SSAValue], flags: llvm.FastMathAttr | None = None
) -> SSAValue:
    source = arguments[-1].type
    assert isa(source, VectorType)
    full_name = mangled(f"llvm.vector.reduce.{name}", source)
    return conversion.add(call_intrinsic(full_name, arguments, [source.element_type], flags)).results[0]
