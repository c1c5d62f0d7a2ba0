"""Conversion of `arith` to the LLVM dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.dtypes import record_of
from relex.dialects.errors import fail
from relex.dialects.index.expr import never_negative
from relex.dialects.index.from_ir import index_of
from relex.dialects.upstream.arith import RemFOp
from relex.dialects.upstream.attributes import integer_attr
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import FPToSIOp, FPToUIOp, UIToFPOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.c_interface import extract
from relex.lowering.llvm.elementwise import Counterparts, add_counterparts, resize_integer, scalar_rule
from relex.lowering.llvm.intrinsics import call_intrinsic, llvm_flags, mangled
from relex.lowering.llvm.quick_ops import arithmetic, compare
from relex.lowering.llvm.types import (
    EQ,
    LLVM_TYPES,
    NE,
    SLT,
    constant,
    convert_type,
    converted_operands,
    known_integer,
    require_native_floats,
)

ARITH_TO_LLVM = ConversionTable("convert-arith-to-llvm")
"""Conversion rules for `arith`."""


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


COUNTERPARTS: Counterparts = {
    arith.AddfOp: llvm.FAddOp,
    arith.AddiOp: llvm.AddOp,
    arith.AndIOp: llvm.AndOp,
    arith.BitcastOp: llvm.BitcastOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivfOp: llvm.FDivOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.FPToSIOp: FPToSIOp,
    arith.FPToUIOp: FPToUIOp,
    arith.MaxSIOp: "llvm.smax",
    arith.MaxUIOp: "llvm.umax",
    arith.MaximumfOp: "llvm.maximum",
    arith.MaxnumfOp: "llvm.maxnum",
    arith.MinSIOp: "llvm.smin",
    arith.MinUIOp: "llvm.umin",
    arith.MinimumfOp: "llvm.minimum",
    arith.MinnumfOp: "llvm.minnum",
    arith.MulfOp: llvm.FMulOp,
    arith.MuliOp: llvm.MulOp,
    arith.NegfOp: llvm.FNegOp,
    arith.OrIOp: llvm.OrOp,
    RemFOp: llvm.FRemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.SubfOp: llvm.FSubOp,
    arith.SubiOp: llvm.SubOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.UIToFPOp: UIToFPOp,
    arith.XOrIOp: llvm.XOrOp,
}
"""`maximumf` and `minimumf` propagate NaN, `maxnumf` and `minnumf` prefer the number."""

add_counterparts(ARITH_TO_LLVM, COUNTERPARTS)


@ARITH_TO_LLVM.rule(arith.ConstantOp)
def convert_constant(op: arith.ConstantOp, conversion: Conversion) -> None:
    """Convert a number or a dense vector to a constant of the machine type."""
    kind = convert_type(op, op.result.type)
    value: Attribute = op.value
    if type(value) is IntegerAttr and type(kind) is IntegerType:
        conversion.replace(constant(conversion, value.value.data, kind))
        return
    elif isa(value, DenseIntOrFPElementsAttr) and isa(kind, VectorType[IntegerType | AnyFloat]):
        value = DenseIntOrFPElementsAttr(kind, value.data)
    elif isa(value, FloatAttr) and isa(kind, IntegerType):
        value = IntegerAttr(record_of(value.type).bits_of(value.value.data), kind)
    elif not isa(value, FloatAttr):
        fail(op, f"expected a number or a dense vector, found {value}")
    new = llvm.ConstantOp.create(properties={"value": value}, result_types=(kind,))
    conversion.replace(conversion.add(new).result)


@ARITH_TO_LLVM.rule(arith.CmpiOp)
def convert_cmpi(op: arith.CmpiOp, conversion: Conversion) -> None:
    """Convert a comparison of integers, which must be scalars."""
    _require_scalars(op)
    # Both dialects use the same numbers for predicates.
    predicate = integer_attr(op.predicate.value.data, i64)
    new = compare(conversion.value(op.lhs), conversion.value(op.rhs), predicate)
    conversion.replace(conversion.add(new).res)


@ARITH_TO_LLVM.rule(arith.CmpfOp)
def convert_cmpf(op: arith.CmpfOp, conversion: Conversion) -> None:
    """Convert a comparison of floats, which must be scalars; constant predicates become constants."""
    _require_scalars(op)
    require_native_floats(op, conversion)
    predicate = llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)
    if predicate in (llvm.FCmpPredicateFlag.FALSE, llvm.FCmpPredicateFlag.TRUE):
        conversion.replace(constant(conversion, int(predicate is llvm.FCmpPredicateFlag.TRUE), i1))
        return
    new = llvm.FCmpOp(conversion.value(op.lhs), conversion.value(op.rhs), predicate.value)
    if op.fastmath.data:
        # The op does not print the property of that name.
        new.attributes["fastmathFlags"] = llvm_flags(op)
    conversion.replace(conversion.add(new).res)


def _require_scalars(op: arith.CmpiOp | arith.CmpfOp) -> None:
    """Refuse vectors: xDSL's comparisons return a single `i1`."""
    if not isinstance(op.lhs.type, IntegerType | IndexType | AnyFloat):
        fail(op, f"expected numbers to compare, found {op.lhs.type}")


@ARITH_TO_LLVM.rule(arith.SelectOp)
def convert_select(op: arith.SelectOp, conversion: Conversion) -> None:
    """Convert `arith.select`."""
    conversion.replace(conversion.add(llvm.SelectOp(*converted_operands(op, conversion))).res)


@scalar_rule(ARITH_TO_LLVM, arith.ExtSIOp, arith.ExtUIOp, arith.IndexCastOp, arith.TruncIOp)
def convert_integer_cast(op: Operation, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Extend or truncate an integer, unless the machine types are equal."""
    kind = LLVM_TYPES.convert(op.results[0].type)
    return [resize_integer(conversion, scalars[0], kind, signed=not isinstance(op, arith.ExtUIOp))]


@scalar_rule(ARITH_TO_LLVM, arith.CeilDivSIOp, arith.FloorDivSIOp)
def convert_rounded_division(op: Operation, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert a signed division that rounds down or up.

    The quotient rounded towards zero is off by one if there is a remainder and the exact quotient is negative (rounding
    down) or positive (rounding up). Most dividends are sizes, which are not negative.
    """
    add, (lhs, rhs) = conversion.add, scalars
    by = known_integer(rhs)
    if by is not None and by > 0 and never_negative(index_of(op.operands[0])):
        up = 0 if isinstance(op, arith.FloorDivSIOp) else by - 1
        total = add(arithmetic(llvm.AddOp, lhs, constant(conversion, up, lhs.type))).res if up else lhs
        return [add(llvm.UDivOp(total, rhs)).res]
    correction, off_by_one_if = (-1, NE) if isinstance(op, arith.FloorDivSIOp) else (1, EQ)
    zero = constant(conversion, 0, lhs.type)
    quotient = add(arithmetic(llvm.SDivOp, lhs, rhs)).res
    product = add(arithmetic(llvm.MulOp, quotient, rhs)).res
    inexact = add(compare(lhs, product, NE)).res
    lhs_negative, rhs_negative = (add(compare(value, zero, SLT)).res for value in (lhs, rhs))
    off_by_one_sign = add(compare(lhs_negative, rhs_negative, off_by_one_if)).res
    off_by_one = add(arithmetic(llvm.AndOp, inexact, off_by_one_sign)).res
    corrected = add(arithmetic(llvm.AddOp, quotient, constant(conversion, correction, lhs.type))).res
    return [add(llvm.SelectOp(off_by_one, corrected, quotient)).res]


@scalar_rule(ARITH_TO_LLVM, arith.CeilDivUIOp)
def convert_ceildivui(op: Operation, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert an unsigned division that rounds up."""
    add, (lhs, rhs) = conversion.add, scalars
    zero, one = (constant(conversion, value, lhs.type) for value in (0, 1))
    # (lhs - 1) / rhs + 1, which cannot overflow, except for lhs = 0.
    is_zero = add(llvm.ICmpOp(lhs, zero, EQ)).res
    quotient = add(llvm.UDivOp(add(llvm.SubOp(lhs, one)).res, rhs)).res
    rounded = add(llvm.AddOp(quotient, one)).res
    return [add(llvm.SelectOp(is_zero, zero, rounded)).res]


@ARITH_TO_LLVM.rule(arith.AddUIExtendedOp)
def convert_addui_extended(op: arith.AddUIExtendedOp, conversion: Conversion) -> None:
    """Convert an addition with a carry to `llvm.uadd.with.overflow`."""
    kind = convert_type(op, op.sum.type)
    pair = llvm.LLVMStructType.from_type_list([kind, op.overflow.type])
    name = mangled("llvm.uadd.with.overflow", kind)
    call = conversion.add(call_intrinsic(name, conversion.values(op.operands), [pair]))
    conversion.replace(
        *(conversion.add(extract(call.results[0], [i], field)).res for i, field in enumerate(pair.types))
    )


@scalar_rule(ARITH_TO_LLVM, arith.MulSIExtendedOp, arith.MulUIExtendedOp)
def convert_mul_extended(op: Operation, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert a multiplication with a high and a low half to one of twice the width."""
    narrow = scalars[0].type
    assert isa(narrow, IntegerType)
    wide = IntegerType(2 * narrow.bitwidth)
    signed = isinstance(op, arith.MulSIExtendedOp)
    lhs, rhs = (resize_integer(conversion, value, wide, signed=signed) for value in scalars)
    product = conversion.add(llvm.MulOp(lhs, rhs)).res
    high = conversion.add(llvm.LShrOp(product, constant(conversion, narrow.bitwidth, wide))).res
    return [resize_integer(conversion, half, narrow, signed=False) for half in (product, high)]
