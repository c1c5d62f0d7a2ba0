"""Expansion of arithmetic on floats that the target does not compute with."""

from __future__ import annotations

from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp, f16, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.dtypes import is_emulated, record_of
from relex.dialects.target.features import module_target, provides
from relex.dialects.target.processors import baseline_of
from relex.dialects.walks import walk
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable, TypeConverter
from relex.lowering.math_approximations.conversions import decode, encode, loaded, round_to_odd, stored
from relex.lowering.math_approximations.number_operators import Floats

FLOAT_EXPANSIONS = ConversionTable("expand-floats")
"""Conversion rules for ops on floats."""


class ExpandFloatsPass(ConversionPass):
    """
    Computes with f32 in place of floats that the target has no arithmetic for: bf16, and on processors without
    conversions of it, f16. Conversions to and from such types become integer arithmetic, which rounds as IEEE demands:
    once, to the nearest number, a tie to the even one. Only scalars are expanded: `vectorize-loops`, which comes later,
    makes vectors of the result.

    ```mlir
    func.func @double(%x: bf16) -> bf16 {
      %0 = arith.addf %x, %x : bf16
      func.return %0 : bf16
    }
    // expand-floats
    func.func @double(%x: bf16) -> bf16 {
      %0 = arith.bitcast %x : bf16 to i16
      %1 = arith.extui %0 : i16 to i32
      %2 = arith.constant 16 : i32
      %3 = arith.shli %1, %2 : i32
      %4 = arith.bitcast %3 : i32 to f32
      ... // the same again, for the second operand
      %10 = arith.addf %4, %9 : f32
      ... // %30 is %10 in 16 bits
      %31 = arith.bitcast %30 : i16 to bf16
      func.return %31 : bf16
    }
    ```
    """

    name = "expand-floats"

    table = FLOAT_EXPANSIONS
    types = TypeConverter("expand-floats types")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Few programs have such floats.
        if any(is_emulated(t) for inner in walk(op) for t in inner.result_types):
            super().apply(ctx, op)


def _is_missing(t: Attribute, conversion: Conversion, other: Attribute = f32) -> bool:
    """Return whether the target has no arithmetic on a type, or no conversion between it and another type."""
    if t != f16:
        return is_emulated(t)
    target = module_target(conversion.module)
    processor = baseline_of(target.triple)
    return not provides(target, processor.f16_rounding_feature if other == f64 else processor.f16_feature)


def _extended(value: SSAValue, conversion: Conversion) -> SSAValue:
    return decode(loaded(Floats(value, conversion)), record_of(value.type)).value


def _truncated(value: SSAValue, t: Attribute, conversion: Conversion) -> SSAValue:
    """Return a float rounded to a narrower type."""
    x = Floats(value, conversion)
    x = round_to_odd(x) if value.type == f64 else x
    if not _is_missing(t, conversion):
        return conversion.add(arith.TruncFOp(x.value, t)).result
    return stored(encode(x, record_of(t)), record_of(t)).as_floats(t).value


@FLOAT_EXPANSIONS.rule(arith.ExtFOp)
def expand_extension(op: arith.ExtFOp, conversion: Conversion) -> None:
    """Convert a float to a wider type by integer arithmetic."""
    if not _is_missing(op.input.type, conversion):
        return
    value = _extended(conversion.value(op.input), conversion)
    wide = op.result.type
    conversion.replace(value if wide == f32 else conversion.add(arith.ExtFOp(value, wide)).result)


@FLOAT_EXPANSIONS.rule(arith.TruncFOp)
def expand_truncation(op: arith.TruncFOp, conversion: Conversion) -> None:
    """Round a float to a narrower type by integer arithmetic."""
    if _is_missing(op.result.type, conversion, op.input.type):
        conversion.replace(_truncated(conversion.value(op.input), op.result.type, conversion))


_OTHERS = (arith.ConstantOp, arith.SelectOp, arith.BitcastOp, arith.ExtFOp, arith.TruncFOp, math.FmaOp)
"""Ops that move bits; ops that have their own rules; and one that is to round once, which f32 could not help with."""


@FLOAT_EXPANSIONS.rule(*(op for op in (*arith.Arith.operations, *math.Math.operations) if op not in _OTHERS))
def expand_arithmetic(op: Operation, conversion: Conversion) -> None:
    """Compute an op with f32, and round the results."""
    is_missing = partial(_is_missing, conversion=conversion)
    if not any(map(is_missing, (*op.operand_types, *op.result_types))):
        return
    operands = [_extended(v, conversion) if is_missing(v.type) else v for v in conversion.values(op.operands)]
    wide = [f32 if is_missing(t) else t for t in op.result_types]
    new = type(op).create(operands=operands, result_types=wide, properties=op.properties, attributes=op.attributes)
    results = zip(conversion.add(new).results, op.result_types, strict=True)
    conversion.replace(*(_truncated(v, t, conversion) if is_missing(t) else v for v, t in results))
