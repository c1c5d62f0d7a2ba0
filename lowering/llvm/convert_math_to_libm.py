"""Conversion of `math` to calls of the C library."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import Float16Type, f32
from xdsl.ir import Operation, SSAValue

from relex.dialects.reserved import MATH
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.elementwise import resize_float, scalar_rule
from relex.lowering.llvm.helpers import call_library
from relex.lowering.llvm.types import LLVM_TYPES

MATH_TO_LIBM = ConversionTable("convert-math-to-libm")
"""Conversion rules for the ops of `math` that the C library has functions for."""


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


_RENAMED = {"math.absf": "fabs", "math.powf": "pow"}

FUNCTIONS = {
    op: name for op in math.Math.operations if (name := _RENAMED.get(op.name, op.name.removeprefix("math."))) in MATH
}
"""Names of the functions on f64; those on f32 end with an f. Most ops have the name of their function."""


@scalar_rule(MATH_TO_LIBM, *FUNCTIONS)
def convert_to_call(op: Operation, conversion: Conversion, scalars: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Convert an op to a call; f16 is computed as f32."""
    kind = scalars[0].type
    computed = f32 if isinstance(kind, Float16Type) else kind
    name = FUNCTIONS[type(op)] + ("f" if computed == f32 else "")
    arguments = [resize_float(conversion, value, computed) for value in scalars]
    return [resize_float(conversion, call_library(conversion, name, arguments, computed).results[0], kind)]
