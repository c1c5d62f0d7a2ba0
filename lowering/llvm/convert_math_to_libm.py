"""Conversion of `math` to calls of the C library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import Float16Type, Float32Type, SymbolRefAttr, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.type import get_element_type_or_self

from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.c_interface import call, declaration
from relex.lowering.llvm.lanes import by_lanes
from relex.lowering.llvm.types import LLVM_TYPES, convert_type, require_native_floats

MATH_TO_LIBM = ConversionTable("convert-math-to-libm")
"""Conversion rules for the ops of `math` that the C library has functions for."""


@dataclass(frozen=True)
class ConvertMathToLibmPass(ConversionPass):
    """
    Converts ops of `math` to calls of the C library, whose functions the module then declares. Vectors are computed one
    element at a time, and f16 as f32. `math.rsqrt`, `math.copysign` and all ops on integers are left to
    `convert-math-to-llvm`: the library has no function for them, or they never need a call.

    ```mlir
    %0 = math.erf %a : f32
    // convert-math-to-libm
    %0 = llvm.call @erff(%a) : (f32) -> f32
    ```
    """

    name = "convert-math-to-libm"

    table = MATH_TO_LIBM
    types = LLVM_TYPES


FUNCTIONS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.Atan2Op: "atan2",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
"""Names of the functions on f64; those on f32 end with an f."""


@MATH_TO_LIBM.rule(*FUNCTIONS)
def convert_to_call(op: Operation, conversion: Conversion) -> None:
    """Convert an op to a call for each element; f16 is computed as f32."""
    require_native_floats(op, conversion)
    kind = convert_type(op, op.results[0].type)
    element = get_element_type_or_self(kind)
    is_half = isinstance(element, Float16Type)
    computed = f32 if is_half else element
    name = FUNCTIONS[type(op)] + ("f" if isinstance(computed, Float32Type) else "")

    def compute(operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if is_half:
            operands = [conversion.add(llvm.FPExtOp(operand, computed)).result for operand in operands]
        conversion.declare(name, lambda: declaration(name, [computed] * len(operands), computed))
        result = conversion.add(call(SymbolRefAttr(name), operands, computed)).results[0]
        return [conversion.add(llvm.FPTruncOp(result, element)).result if is_half else result]

    conversion.replace(*by_lanes(conversion, conversion.values(op.operands), [kind], compute))
