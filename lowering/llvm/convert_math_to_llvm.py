"""`math` to the LLVM dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.lowering.conversion import ConversionTable, convert
from relex.lowering.llvm.intrinsics import add_intrinsic_rules
from relex.lowering.llvm.types import LLVM_TYPES
from relex.passes.base import RelexPass

MATH_TO_LLVM = ConversionTable()
"""What each op of `math` becomes."""


@dataclass(frozen=True)
class ConvertMathToLlvmPass(RelexPass):
    """
    Converts the ops of `math` that are one LLVM intrinsic. Fast-math flags are kept.

    ```mlir
    %0 = math.sqrt %a : f32
    // convert-math-to-llvm
    %0 = llvm.call_intrinsic "llvm.sqrt.f32"(%a) : (f32) -> f32
    ```
    """

    name = "convert-math-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, MATH_TO_LLVM, LLVM_TYPES)


INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "llvm.fabs",
    math.CeilOp: "llvm.ceil",
    math.CopySignOp: "llvm.copysign",
    math.CosOp: "llvm.cos",
    math.CtPopOp: "llvm.ctpop",
    math.Exp2Op: "llvm.exp2",
    math.ExpOp: "llvm.exp",
    math.FloorOp: "llvm.floor",
    math.FmaOp: "llvm.fma",
    math.Log10Op: "llvm.log10",
    math.Log2Op: "llvm.log2",
    math.LogOp: "llvm.log",
    math.PowFOp: "llvm.pow",
    math.RoundEvenOp: "llvm.roundeven",
    math.RoundOp: "llvm.round",
    math.SinOp: "llvm.sin",
    math.SqrtOp: "llvm.sqrt",
    math.TanhOp: "llvm.tanh",
    math.TanOp: "llvm.tan",
    math.TruncOp: "llvm.trunc",
}

add_intrinsic_rules(MATH_TO_LLVM, INTRINSICS)
