"""`cf` to the LLVM dialect."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import ModuleOp

from relex.lowering.conversion import Conversion, ConversionTable, convert
from relex.lowering.llvm.types import LLVM_TYPES
from relex.passes.base import RelexPass

CF_TO_LLVM = ConversionTable()
"""What each op of `cf` becomes."""


@dataclass(frozen=True)
class ConvertCfToLlvmPass(RelexPass):
    """
    Converts branches, and with them the arguments of the blocks that they go to.

    ```mlir
      cf.br ^loop(%i : index)
    ^loop(%j: index):
      "test.op"(%j) : (index) -> ()
    // convert-cf-to-llvm
      %0 = builtin.unrealized_conversion_cast %i : index to i64
      llvm.br ^loop(%0 : i64)
    ^loop(%1: i64):
      %j = builtin.unrealized_conversion_cast %1 : i64 to index
      "test.op"(%j) : (index) -> ()
    ```
    """

    name = "convert-cf-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, CF_TO_LLVM, LLVM_TYPES)


@CF_TO_LLVM.rule(cf.BranchOp)
def convert_branch(op: cf.BranchOp, conversion: Conversion) -> None:
    conversion.convert_arguments(op.successor)
    conversion.add(llvm.BrOp(op.successor, *conversion.values(op.arguments)))
    conversion.replace()


@CF_TO_LLVM.rule(cf.ConditionalBranchOp)
def convert_conditional_branch(op: cf.ConditionalBranchOp, conversion: Conversion) -> None:
    conversion.convert_arguments(op.then_block)
    conversion.convert_arguments(op.else_block)
    branch = llvm.CondBrOp(
        conversion.value(op.cond),
        op.then_block,
        conversion.values(op.then_arguments),
        op.else_block,
        conversion.values(op.else_arguments),
    )
    conversion.add(branch)
    conversion.replace()
