"""Conversion of `arith` to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.errors import fail
from relex.dialects.upstream.llvm import FPToSIOp, FPToUIOp, UIToFPOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.intrinsics import add_intrinsic_rules, call_intrinsic, llvm_flags, mangled
from relex.lowering.llvm.lanes import by_lanes
from relex.lowering.llvm.types import (
    EQ,
    LLVM_TYPES,
    NE,
    SLT,
    constant,
    convert_type,
    converted_operands,
    require_native_floats,
)

ARITH_TO_LLVM = ConversionTable("convert-arith-to-llvm")
"""Conversion rules for `arith`."""


@dataclass(frozen=True)
class ConvertArithToLlvmPass(ConversionPass):
    """
    Converts `arith` to the LLVM dialect; `index` becomes `i64`. Fast-math and overflow flags are kept.

    ```mlir
    %0 = arith.addi %i, %j : index
    %1 = arith.maximumf %a, %b : f32
    // convert-arith-to-llvm, where the operands are converted too
    %0 = llvm.add %i, %j : i64
    %1 = llvm.call_intrinsic "llvm.maximum.f32"(%a, %b) : (f32, f32) -> f32
    ```
    """

    name = "convert-arith-to-llvm"

    table = ARITH_TO_LLVM
    types = LLVM_TYPES


INTEGER_OPS: dict[type[Operation], type[llvm.ArithmeticBinOperation | llvm.ArithmeticBinOpExact]] = {
    arith.AndIOp: llvm.AndOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.XOrIOp: llvm.XOrOp,
}

OVERFLOW_OPS: dict[type[Operation], type[llvm.ArithmeticBinOpOverflow]] = {
    arith.AddiOp: llvm.AddOp,
    arith.MuliOp: llvm.MulOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.SubiOp: llvm.SubOp,
}

FLOAT_OPS: dict[type[Operation], type[llvm.AbstractFloatArithOp]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.DivfOp: llvm.FDivOp,
    arith.MulfOp: llvm.FMulOp,
    arith.SubfOp: llvm.FSubOp,
}

INTRINSICS: dict[type[Operation], str] = {
    arith.MaximumfOp: "llvm.maximum",
    arith.MaxnumfOp: "llvm.maxnum",
    arith.MinimumfOp: "llvm.minimum",
    arith.MinnumfOp: "llvm.minnum",
    arith.MaxSIOp: "llvm.smax",
    arith.MaxUIOp: "llvm.umax",
    arith.MinSIOp: "llvm.smin",
    arith.MinUIOp: "llvm.umin",
}
"""`maximumf` and `minimumf` propagate NaN, `maxnumf` and `minnumf` prefer the number."""

FLOAT_CASTS: dict[type[Operation], type[llvm.GenericCastOp]] = {
    arith.BitcastOp: llvm.BitcastOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.FPToSIOp: FPToSIOp,
    arith.FPToUIOp: FPToUIOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.UIToFPOp: UIToFPOp,
}

add_intrinsic_rules(ARITH_TO_LLVM, INTRINSICS)


@ARITH_TO_LLVM.rule(arith.ConstantOp)
def convert_constant(op: arith.ConstantOp, conversion: Conversion) -> None:
    """Convert a number or a dense vector to a constant of the machine type."""
    kind = convert_type(op, op.result.type)
    value: Attribute = op.value
    if isa(value, IntegerAttr) and isa(kind, IntegerType):
        value = IntegerAttr(value.value.data, kind)
    elif isa(value, DenseIntOrFPElementsAttr) and isa(kind, VectorType[IntegerType | AnyFloat]):
        value = DenseIntOrFPElementsAttr(kind, value.data)
    elif isa(value, FloatAttr):
        require_native_floats(op, conversion)
    else:
        fail(op, f"expected a number or a dense vector, found {value}")
    conversion.replace(conversion.add(llvm.ConstantOp(value, kind)).result)


@ARITH_TO_LLVM.rule(*INTEGER_OPS)
def convert_integer_op(op: arith.SignlessIntegerBinaryOperation, conversion: Conversion) -> None:
    """Convert a binary integer op without overflow flags."""
    lhs, rhs = converted_operands(op, conversion)
    new = INTEGER_OPS[type(op)](lhs, rhs)
    conversion.replace(conversion.add(new).res)


@ARITH_TO_LLVM.rule(arith.OrIOp)
def convert_or(op: arith.OrIOp, conversion: Conversion) -> None:
    """Convert `arith.ori`, without the flag `disjoint`."""
    lhs, rhs = converted_operands(op, conversion)
    conversion.replace(conversion.add(llvm.OrOp(lhs, rhs)).res)


@ARITH_TO_LLVM.rule(*OVERFLOW_OPS)
def convert_overflow_op(op: arith.SignlessIntegerBinaryOperationWithOverflow, conversion: Conversion) -> None:
    """Convert a binary integer op, and keep its overflow flags."""
    lhs, rhs = converted_operands(op, conversion)
    new = OVERFLOW_OPS[type(op)](lhs, rhs, overflow=overflow_flags(op.overflow_flags.data))
    conversion.replace(conversion.add(new).res)


@cache
def overflow_flags(flags: frozenset[arith.IntegerOverflowFlag]) -> IntegerAttr[IntegerType]:
    """The flags as the LLVM dialect stores them."""
    return IntegerAttr(llvm.OverflowAttr([llvm.OverflowFlag(flag.value) for flag in flags]).to_int(), i32)


@ARITH_TO_LLVM.rule(*FLOAT_OPS)
def convert_float_op(op: arith.FloatingPointLikeBinaryOperation, conversion: Conversion) -> None:
    """Convert a binary float op, and keep its fast-math flags."""
    require_native_floats(op, conversion)
    lhs, rhs = converted_operands(op, conversion)
    new = FLOAT_OPS[type(op)](lhs, rhs, llvm_flags(op))
    conversion.replace(conversion.add(new).res)


@ARITH_TO_LLVM.rule(arith.NegfOp)
def convert_negf(op: arith.NegfOp, conversion: Conversion) -> None:
    """Convert a negation, and keep its fast-math flags."""
    require_native_floats(op, conversion)
    (operand,) = converted_operands(op, conversion)
    conversion.replace(conversion.add(llvm.FNegOp(operand, llvm_flags(op))).res)


@ARITH_TO_LLVM.rule(arith.CmpiOp)
def convert_cmpi(op: arith.CmpiOp, conversion: Conversion) -> None:
    """Convert a comparison of integers, which must be scalars."""
    _require_scalars(op)
    # Both dialects use the same numbers for predicates.
    predicate = IntegerAttr(op.predicate.value.data, i64)
    new = llvm.ICmpOp(conversion.value(op.lhs), conversion.value(op.rhs), predicate)
    conversion.replace(conversion.add(new).res)


@ARITH_TO_LLVM.rule(arith.CmpfOp)
def convert_cmpf(op: arith.CmpfOp, conversion: Conversion) -> None:
    """Convert a comparison of floats, which must be scalars; constant predicates become constants."""
    _require_scalars(op)
    require_native_floats(op, conversion)
    match llvm.FCmpPredicateFlag.from_int(op.predicate.value.data):
        case llvm.FCmpPredicateFlag.FALSE:
            conversion.replace(constant(conversion, 0, i1))
        case llvm.FCmpPredicateFlag.TRUE:
            conversion.replace(constant(conversion, 1, i1))
        case predicate:
            new = llvm.FCmpOp(conversion.value(op.lhs), conversion.value(op.rhs), predicate.value)
            if op.fastmath.data:
                # The op does not print the property of that name.
                new.attributes["fastmathFlags"] = llvm_flags(op)
            conversion.replace(conversion.add(new).res)


def _require_scalars(op: arith.CmpiOp | arith.CmpfOp) -> None:
    """Refuse vectors: xDSL's comparisons return a single `i1`."""
    if not isa(op.lhs.type, IntegerType | IndexType | AnyFloat):
        fail(op, f"expected numbers to compare, found {op.lhs.type}")


@ARITH_TO_LLVM.rule(arith.SelectOp)
def convert_select(op: arith.SelectOp, conversion: Conversion) -> None:
    """Convert `arith.select`."""
    conversion.replace(conversion.add(llvm.SelectOp(*converted_operands(op, conversion))).res)


@ARITH_TO_LLVM.rule(*FLOAT_CASTS)
def convert_float_cast(op: Operation, conversion: Conversion) -> None:
    """Convert a cast from, to or between floats, or a bitcast."""
    if isa(op.operands[0].type, MemRefType):
        fail(op, f"expected numbers or vectors, found {op.operands[0].type}")
    require_native_floats(op, conversion)
    new = FLOAT_CASTS[type(op)](conversion.value(op.operands[0]), convert_type(op, op.results[0].type))
    conversion.replace(conversion.add(new).result)


@ARITH_TO_LLVM.rule(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
def convert_integer_cast(
    op: arith.ExtSIOp | arith.ExtUIOp | arith.TruncIOp | arith.IndexCastOp, conversion: Conversion
) -> None:
    """Convert an extension, a truncation or an index cast to an op on the machine types, if their widths differ."""
    (value,) = converted_operands(op, conversion)
    kind = integer_type(op, op.result.type)
    conversion.replace(resize_integer(conversion, value, kind, signed=not isinstance(op, arith.ExtUIOp)))


def resize_integer(conversion: Conversion, value: SSAValue, kind: IntegerType, *, signed: bool) -> SSAValue:
    """Truncate or extend an integer to the type `kind`."""
    old = value.type
    assert isa(old, IntegerType)
    if old.bitwidth == kind.bitwidth:
        return value
    if old.bitwidth > kind.bitwidth:
        return conversion.add(llvm.TruncOp(value, kind)).res
    return conversion.add(llvm.SExtOp(value, kind) if signed else llvm.ZExtOp(value, kind)).res


def integer_type(op: Operation, old: Attribute) -> IntegerType:
    """The machine type of an integer or of the elements of a vector."""
    kind = get_element_type_or_self(convert_type(op, old))
    if not isa(kind, IntegerType):
        fail(op, f"expected integers, found {old}")
    return kind


@ARITH_TO_LLVM.rule(arith.FloorDivSIOp)
def convert_floordivsi(op: arith.FloorDivSIOp, conversion: Conversion) -> None:
    """Convert a signed division that rounds down."""
    _convert_rounded_division(op, conversion, correction=-1)


@ARITH_TO_LLVM.rule(arith.CeilDivSIOp)
def convert_ceildivsi(op: arith.CeilDivSIOp, conversion: Conversion) -> None:
    """Convert a signed division that rounds up."""
    _convert_rounded_division(op, conversion, correction=1)


def _convert_rounded_division(
    op: arith.FloorDivSIOp | arith.CeilDivSIOp, conversion: Conversion, correction: int
) -> None:
    """Convert a signed division that rounds down (`correction` -1) or up (+1).

    The quotient rounded towards zero is off by one if there is a remainder and the exact quotient is negative (rounding
    down) or positive (rounding up).
    """
    add = conversion.add

    def divide(operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        lhs, rhs = operands
        zero = constant(conversion, 0, lhs.type)
        quotient = add(llvm.SDivOp(lhs, rhs)).res
        product = add(llvm.MulOp(quotient, rhs)).res
        inexact = add(llvm.ICmpOp(lhs, product, NE)).res
        lhs_negative, rhs_negative = (add(llvm.ICmpOp(value, zero, SLT)).res for value in (lhs, rhs))
        off_by_one_sign = add(llvm.ICmpOp(lhs_negative, rhs_negative, NE if correction < 0 else EQ)).res
        off_by_one = add(llvm.AndOp(inexact, off_by_one_sign)).res
        corrected = add(llvm.AddOp(quotient, constant(conversion, correction, lhs.type))).res
        return [add(llvm.SelectOp(off_by_one, corrected, quotient)).res]

    kind = convert_type(op, op.result.type)
    conversion.replace(*by_lanes(conversion, conversion.values(op.operands), [kind], divide))


@ARITH_TO_LLVM.rule(arith.CeilDivUIOp)
def convert_ceildivui(op: arith.CeilDivUIOp, conversion: Conversion) -> None:
    """Convert an unsigned division that rounds up."""
    add = conversion.add

    def divide(operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        lhs, rhs = operands
        zero, one = (constant(conversion, value, lhs.type) for value in (0, 1))
        # (lhs - 1) / rhs + 1, which cannot overflow, except for lhs = 0.
        is_zero = add(llvm.ICmpOp(lhs, zero, EQ)).res
        quotient = add(llvm.UDivOp(add(llvm.SubOp(lhs, one)).res, rhs)).res
        rounded = add(llvm.AddOp(quotient, one)).res
        return [add(llvm.SelectOp(is_zero, zero, rounded)).res]

    kind = convert_type(op, op.result.type)
    conversion.replace(*by_lanes(conversion, conversion.values(op.operands), [kind], divide))


@ARITH_TO_LLVM.rule(arith.AddUIExtendedOp)
def convert_addui_extended(op: arith.AddUIExtendedOp, conversion: Conversion) -> None:
    """Convert an addition with a carry to `llvm.uadd.with.overflow`."""
    kind = convert_type(op, op.sum.type)
    pair = llvm.LLVMStructType.from_type_list([kind, op.overflow.type])
    name = mangled("llvm.uadd.with.overflow", kind)
    call = conversion.add(call_intrinsic(name, conversion.values(op.operands), [pair]))
    fields = [
        conversion.add(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [i]), call.results[0], field)).res
        for i, field in enumerate(pair.types)
    ]
    conversion.replace(*fields)


@ARITH_TO_LLVM.rule(arith.MulSIExtendedOp, arith.MulUIExtendedOp)
def convert_mul_extended(op: arith.MulSIExtendedOp | arith.MulUIExtendedOp, conversion: Conversion) -> None:
    """Convert a multiplication with a high and a low half to one of twice the width."""
    narrow = integer_type(op, op.lhs.type)
    wide = IntegerType(2 * narrow.bitwidth)
    signed = isinstance(op, arith.MulSIExtendedOp)

    def multiply(operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        lhs, rhs = (resize_integer(conversion, value, wide, signed=signed) for value in operands)
        product = conversion.add(llvm.MulOp(lhs, rhs)).res
        high = conversion.add(llvm.LShrOp(product, constant(conversion, narrow.bitwidth, wide))).res
        return [resize_integer(conversion, half, narrow, signed=False) for half in (product, high)]

    kinds = [convert_type(op, result.type) for result in op.results]
    conversion.replace(*by_lanes(conversion, conversion.values(op.operands), kinds, multiply))
