"""Expansion of `math` functions into arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects import math
from xdsl.ir import Operation
from xdsl.utils.type import get_element_type_or_self

from relex.dialects.dtypes import ELEMENT_TYPES, record_of
from relex.dialects.element_types import ElementType
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable, TypeConverter
from relex.lowering.math_approximations.formulas import erf, exp, expm1, log, log1p, tanh
from relex.lowering.math_approximations.number_operators import F32, F64, Floats
from relex.lowering.math_approximations.powers import exp2, log2, log10, power
from relex.lowering.math_approximations.trigonometry import cos, sin, tan

EXPANSIONS = ConversionTable("expand-math")
"""Conversion rules for the ops of `math` that have a formula."""

Formulas = Mapping[ElementType, Callable[..., Floats]]
"""Formulas of an op, by element type."""


class ExpandMathPass(ConversionPass):
    """
    Replaces `math.exp`, `expm1`, `log`, `log1p` and `tanh` of f32 and f64, and `erf`, `exp2`, `log2`, `log10`, `powf`,
    `sin`, `cos` and `tan` of f32, on scalars and vectors, by arithmetic without branches or calls, so that loops around
    them can be vectorized and vectors are computed as a whole.

    ```mlir
    %0 = math.exp %x : f32
    // expand-math
    %1 = arith.maximumf %x, %low : f32
    %2 = arith.minimumf %1, %high : f32
    %3 = arith.mulf %2, %log2e : f32
    ... // %4 is the whole number next to %3, %5 is exp(%2 - %4 log(2))
    %0 = arith.mulf %5, %power : f32
    ```

    Results are off by less than 1.5 ULP, including subnormal ones; sin, cos and tan by less than 0.502, however large
    the angle, and exp2, log2, log10 and powf as well. For f32, exp, expm1, log, log1p and tanh were tested on all
    inputs, with FMA and without, sin, cos and tan on one of 211, the others on samples. NaN, infinities and zeros give
    the same results as the C library. Fast-math flags are not used.

    Other functions and types are left to `convert-math-to-libm`, as are all functions in `strict` compilation.
    """

    name = "expand-math"

    table = EXPANSIONS
    types = TypeConverter("expand-math types")


def expand(formulas: Formulas, op: Operation, conversion: Conversion) -> None:
    """Replace an op by its formula, if there is one for its element type."""
    element_type = get_element_type_or_self(op.results[0].type)
    formula = formulas.get(record_of(element_type)) if element_type in ELEMENT_TYPES else None
    if formula is not None:
        operands = (Floats(conversion.value(operand), conversion) for operand in op.operands)
        conversion.replace(formula(*operands).value)


for _kind, _formulas in {
    math.CosOp: {F32: cos},
    math.ErfOp: {F32: erf},
    math.Exp2Op: {F32: exp2},
    math.ExpOp: {F32: exp, F64: exp},
    math.ExpM1Op: {F32: expm1, F64: expm1},
    math.LogOp: {F32: log, F64: log},
    math.Log10Op: {F32: log10},
    math.Log1pOp: {F32: log1p, F64: log1p},
    math.Log2Op: {F32: log2},
    math.PowFOp: {F32: power},
    math.SinOp: {F32: sin},
    math.TanOp: {F32: tan},
    math.TanhOp: {F32: tanh, F64: tanh},
}.items():
    EXPANSIONS.add(partial(expand, _formulas), _kind)
