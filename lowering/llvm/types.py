"""Machine types, and constants and checks shared by all conversions to the LLVM dialect."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    CompileTimeFixedBitwidthType,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    f16,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.dtypes import ELEMENT_TYPES, integer_splat, is_emulated
from relex.dialects.errors import fail
from relex.dialects.target.features import module_target, provides
from relex.dialects.target.processors import baseline_of
from relex.dialects.upstream.attributes import integer_attr
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion import Conversion, TypeConverter

PTR = llvm.LLVMPointerType()

MONOTONIC = 2
"""The number in `llvm.load` for this ordering of atomic accesses."""

EQ, NE, SGT, SLT = (IntegerAttr(llvm.ICmpPredicateFlag(name).to_int(), i64) for name in ("eq", "ne", "sgt", "slt"))
"""Predicates of `llvm.icmp`."""

LLVM_TYPES = TypeConverter("LLVM types")
"""Conversions of the types of the core level. Open: `LLVM_TYPES.rule(MyType)` registers one more."""


@LLVM_TYPES.rule(IndexType)
def _index(_: IndexType) -> Attribute:
    return i64


@LLVM_TYPES.rule(*(type(t) for t in ELEMENT_TYPES if is_emulated(t) and t != f16))
def _emulated(old: CompileTimeFixedBitwidthType) -> Attribute:
    return IntegerType(8 * old.compile_time_size)  # Its bits: nothing is computed with it.


@LLVM_TYPES.rule(MemRefType)
def _memref(old: MemRefType) -> Attribute:
    """Convert to the descriptor: allocated pointer, aligned pointer, offset, sizes, strides."""
    rank = old.get_num_dims()
    fields: list[Attribute] = [PTR, PTR, i64]
    if rank:
        fields += [llvm.LLVMArrayType(rank, i64)] * 2
    return llvm.LLVMStructType.from_type_list(fields)


@LLVM_TYPES.rule(VectorType)
def _vector(old: VectorType) -> Attribute:
    element = LLVM_TYPES.convert(old.element_type)
    return old if element == old.element_type else VectorType(element, old.shape, old.scalable_dims)


_COMPATIBLE = {Float32Type, Float64Type, llvm.LLVMPointerType}
"""Frequent types of the machine level: xDSL asks for many kinds of types, one after the other."""


_is_compatible = lru_cache(maxsize=2**10)(llvm.is_compatible_type)


def convert_type(op: Operation, old: Attribute) -> Attribute:
    """Return the machine type of `old`; a type that has none is an error at `op`."""
    if type(old) is VectorType and (old.get_num_dims() != 1 or old.get_num_scalable_dims()):
        fail(op, f"expected vectors of one dimension and a fixed length, found {old}")
    new = LLVM_TYPES.convert(old)
    if type(new) not in _COMPATIBLE and not _is_compatible(new):
        fail(op, f"expected types of the core level (integers, floats, index, vector, memref), found '{old}'")
    return new


def converted_operands(op: Operation, conversion: Conversion) -> list[SSAValue]:
    """Return the converted operands of an op whose results all have machine types."""
    for result in op.results:
        convert_type(op, result.type)
    return conversion.values(op.operands)


def integer_constant(value: int, kind: IntegerType) -> llvm.ConstantOp:
    """Return an op that gives a number of an integer type."""
    return llvm.ConstantOp.create(properties={"value": integer_attr(value, kind)}, result_types=(kind,))


def constant(conversion: Conversion, value: int, kind: Attribute = i64) -> SSAValue:
    """Return a constant of an integer type, or a splat of a vector type, for the op that is being converted."""

    def make() -> SSAValue:
        if type(kind) is IntegerType:
            return conversion.add(integer_constant(value, kind)).result
        assert isa(kind, VectorType[IntegerType])
        return conversion.add(llvm.ConstantOp(integer_splat(kind, value), kind)).result

    return conversion.constant((value, kind), make)


def known_integer(value: SSAValue) -> int | None:
    """Return the value of a constant, converted or not; else None."""
    attr = value.owner.value if isinstance(value.owner, llvm.ConstantOp) else ConstantLike.get_constant_value(value)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


_NATIVE = {Float32Type, Float64Type, IndexType, IntegerType}
"""Numbers that each target computes with."""


def require_native_floats(op: Operation, conversion: Conversion, *, fused: bool = False) -> None:
    """Refuse arithmetic on half-precision floats if the target would call a helper function for it.

    A `fused` multiply-add is rounded once: without native instructions it would be computed as f64.
    """
    types = [value.type for value in (*op.operands, *op.results)]
    if _NATIVE.issuperset([type(t.element_type) if type(t) is VectorType else type(t) for t in types]):
        return
    kinds = set(map(get_element_type_or_self, types))
    for kind in kinds:
        if is_emulated(kind) and kind != f16:
            fail(op, f"expected f16, f32 or f64, found {kind}, for which 'expand-floats' computes with f32")
    if f16 not in kinds:
        return
    target = module_target(conversion.module)
    processor = baseline_of(target.triple)
    needed = processor.f16_rounding_feature if fused or f64 in kinds else processor.f16_feature
    if not provides(target, needed):
        kind = f" '{needed}'" if needed else ""
        fail(op, f"expected f32 or f64, found f16: the target has no{kind} instructions for it")


def vector_alignment(kind: Attribute) -> IntegerAttr[IntegerType] | None:
    """The alignment to state for a vector, the alignment of its elements: LLVM's default is stricter. None for
    scalars."""
    if not isa(kind, VectorType):
        return None
    element = kind.element_type
    assert isinstance(element, CompileTimeFixedBitwidthType)
    return integer_attr(element.compile_time_size, i64)
