"""Conversion of `math` to the LLVM dialect: ops with an intrinsic, and powers with integer exponents."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float16Type, f32, i1, i64
from xdsl.ir import Operation, SSAValue

from relex.dialects.target.features import module_target, provides
from relex.dialects.target.processors import baseline_of
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.convert_math_to_libm import FUNCTIONS
from relex.lowering.llvm.elementwise import add_counterparts, resize_float, resize_integer, scalar_rule
from relex.lowering.llvm.helpers import INTEGER_POWER, call_helper, float_power
from relex.lowering.llvm.intrinsics import add_intrinsic, float_constant, llvm_flags
from relex.lowering.llvm.types import LLVM_TYPES, constant, convert_type, require_native_floats

MATH_TO_LLVM = ConversionTable("convert-math-to-llvm")
"""Conversion rules for the ops of `math` that need no function of the C library."""


class ConvertMathToLlvmPass(ConversionPass):
    """
    Converts the ops of `math` that LLVM has an intrinsic for, or that expand to a few ops. Fast-math flags are kept.
    `math.ipowi` and `math.fpowi` become calls of a function that this pass adds to the module. `convert-math-to-libm`
    converts the rest.

    ```mlir
    %0 = math.sqrt %a : f32
    %1 = math.rsqrt %a : f32
    // convert-math-to-llvm
    %0 = llvm.call_intrinsic "llvm.sqrt.f32"(%a) : (f32) -> f32
    %2 = llvm.mlir.constant(1.0 : f32) : f32
    %3 = llvm.call_intrinsic "llvm.sqrt.f32"(%a) : (f32) -> f32
    %1 = llvm.fdiv %2, %3 : f32
    ```
    """

    name = "convert-math-to-llvm"

    table = MATH_TO_LLVM
    types = LLVM_TYPES


_LIBRARY_ONLY = "acosh asinh atanh cbrt erf expm1 fma log1p roundeven".split()
"""Functions of the C library that are no intrinsic, or that have separate rules: `expm1`, `fma`, `log1p` and
`roundeven`."""

COUNTERPARTS = {
    math.CopySignOp: "llvm.copysign",
    math.CtPopOp: "llvm.ctpop",
    **{op: f"llvm.{name}" for op, name in FUNCTIONS.items() if name not in _LIBRARY_ONLY},
}

add_counterparts(MATH_TO_LLVM, COUNTERPARTS)

INTRINSICS_WITH_FLAG: dict[type[Operation], str] = {
    math.AbsIOp: "llvm.abs",
    math.CountLeadingZerosOp: "llvm.ctlz",
    math.CountTrailingZerosOp: "llvm.cttz",
}
"""The second argument says whether the smallest integer, or zero, yields poison; here it never does."""


@MATH_TO_LLVM.rule(*INTRINSICS_WITH_FLAG)
def convert_integer_function(op: math.AbsIOp, conversion: Conversion) -> None:
    """Convert to an intrinsic whose second argument is a flag."""
    convert_type(op, op.result.type)
    arguments = [conversion.value(op.operand), constant(conversion, 0, i1)]
    conversion.replace(add_intrinsic(conversion, INTRINSICS_WITH_FLAG[type(op)], arguments))


@MATH_TO_LLVM.rule(math.FmaOp)
def convert_fma(op: math.FmaOp, conversion: Conversion) -> None:
    """Convert a fused multiply-add, which must be rounded once."""
    require_native_floats(op, conversion, fused=True)
    conversion.replace(add_intrinsic(conversion, "llvm.fma", conversion.values(op.operands), llvm_flags(op)))


@MATH_TO_LLVM.rule(math.RoundEvenOp)
def convert_roundeven(op: math.RoundEvenOp, conversion: Conversion) -> None:
    """Convert a rounding to even. Where it would become a call of `roundeven`, which C has since 2023 only, `rint` does
    the same, as programs do not change how floats are rounded."""
    require_native_floats(op, conversion)
    convert_type(op, op.result.type)
    target = module_target(conversion.module)
    is_native = provides(target, baseline_of(target.triple).rounding_feature)
    intrinsic = "llvm.roundeven" if is_native else "llvm.rint"
    conversion.replace(add_intrinsic(conversion, intrinsic, [conversion.value(op.operand)], llvm_flags(op)))


@MATH_TO_LLVM.rule(math.RsqrtOp, math.ExpM1Op, math.Log1pOp)
def convert_function_and_one(op: math.RsqrtOp | math.ExpM1Op | math.Log1pOp, conversion: Conversion) -> None:
    """Convert to `1 / sqrt(x)`, `exp(x) - 1` and `log(1 + x)`."""
    require_native_floats(op, conversion)
    kind, flags = convert_type(op, op.result.type), llvm_flags(op)
    x, one = conversion.value(op.operand), float_constant(conversion, 1.0, kind)
    match op:
        case math.RsqrtOp():
            result = conversion.add(llvm.FDivOp(one, add_intrinsic(conversion, "llvm.sqrt", [x], flags), flags)).res
        case math.ExpM1Op():
            result = conversion.add(llvm.FSubOp(add_intrinsic(conversion, "llvm.exp", [x], flags), one, flags)).res
        case math.Log1pOp():
            result = add_intrinsic(conversion, "llvm.log", [conversion.add(llvm.FAddOp(one, x, flags)).res], flags)
    conversion.replace(result)


# Powers with integer exponents: LLVM's intrinsic calls a runtime function that not every process has.


@scalar_rule(MATH_TO_LLVM, math.IPowIOp)
def convert_ipowi(op: math.IPowIOp, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert an integer power to a call of a helper on i64."""
    wide = [resize_integer(conversion, value, i64, signed=True) for value in scalars]
    result = call_helper(conversion, INTEGER_POWER, wide, i64).results[0]
    return [resize_integer(conversion, result, scalars[0].type, signed=True)]


@scalar_rule(MATH_TO_LLVM, math.FPowIOp)
def convert_fpowi(op: math.FPowIOp, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert a float power with an integer exponent to a call of a helper; f16 is computed as f32."""
    kind = scalars[0].type
    computed = f32 if isinstance(kind, Float16Type) else kind
    base = resize_float(conversion, scalars[0], computed)
    exponent = resize_integer(conversion, scalars[1], i64, signed=True)
    result = call_helper(conversion, float_power(computed), [base, exponent], computed).results[0]
    return [resize_float(conversion, result, kind)]
