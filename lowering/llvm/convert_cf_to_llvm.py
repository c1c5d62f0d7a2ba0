"""Conversion of `cf` to the LLVM dialect."""

from __future__ import annotations

from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, SymbolRefAttr, TensorType, i8
from xdsl.ir import Block

from relex.dialects.upstream.llvm import LOOP_ANNOTATION, SwitchOp
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable
from relex.lowering.llvm.c_interface import call, declaration
from relex.lowering.llvm.quick_ops import branch_if
from relex.lowering.llvm.types import LLVM_TYPES, PTR

CF_TO_LLVM = ConversionTable("convert-cf-to-llvm")
"""Conversion rules for `cf`."""


class ConvertCfToLlvmPass(ConversionPass):
    """
    Converts branches, and the arguments of the blocks that they branch to. `cf.assert` becomes a branch to a block that
    prints the message with `puts` and calls `abort`.

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

    table = CF_TO_LLVM
    types = LLVM_TYPES


@CF_TO_LLVM.rule(cf.BranchOp)
def convert_branch(op: cf.BranchOp, conversion: Conversion) -> None:
    """Convert a branch and the arguments of its target, and keep a loop annotation."""
    conversion.convert_arguments(op.successor)
    arguments = conversion.values(op.arguments)
    branch = conversion.add(llvm.BrOp.create(operands=arguments, successors=(op.successor,)))
    if LOOP_ANNOTATION in op.attributes:
        branch.attributes["loop_annotation"] = op.attributes[LOOP_ANNOTATION]
    conversion.replace()


@CF_TO_LLVM.rule(cf.ConditionalBranchOp)
def convert_conditional_branch(op: cf.ConditionalBranchOp, conversion: Conversion) -> None:
    """Convert a conditional branch and the arguments of its targets."""
    conversion.convert_arguments(op.then_block)
    conversion.convert_arguments(op.else_block)
    then_arguments, else_arguments = conversion.values(op.then_arguments), conversion.values(op.else_arguments)
    condition = conversion.value(op.cond)
    conversion.add(branch_if(condition, op.then_block, then_arguments, op.else_block, else_arguments))
    conversion.replace()


@CF_TO_LLVM.rule(cf.SwitchOp)
def convert_switch(op: cf.SwitchOp, conversion: Conversion) -> None:
    """Convert a switch and the arguments of its targets."""
    for block in op.successors:
        conversion.convert_arguments(block)
    numbers = [*op.case_values.get_values()] if op.case_values is not None else []
    default = conversion.values(op.default_operands)
    arguments = [*map(conversion.values, op.case_operand)]
    new = SwitchOp(conversion.value(op.flag), op.default_block, default, numbers, op.case_blocks, arguments)
    conversion.add(new)
    conversion.replace()


@CF_TO_LLVM.rule(cf.AssertOp)
def convert_assert(op: cf.AssertOp, conversion: Conversion) -> None:
    """Convert an assertion to a branch to a block that prints the message and aborts."""
    message = _declare_message(op, conversion)
    conversion.declare("puts", lambda: declaration("puts", [PTR], llvm.LLVMVoidType()))
    conversion.declare("abort", lambda: declaration("abort", [], llvm.LLVMVoidType()))
    address = llvm.AddressOfOp(message, PTR)
    failed = Block(
        [
            address,
            call(SymbolRefAttr("puts"), [address.result], llvm.LLVMVoidType()),
            call(SymbolRefAttr("abort"), [], llvm.LLVMVoidType()),
            llvm.UnreachableOp(),
        ]
    )
    for new in failed.ops:
        new.location = op.location
    condition = conversion.value(op.arg)
    before, after = conversion.split_block()
    branch = llvm.CondBrOp(condition, after, (), failed, ())
    branch.location = op.location
    before.add_op(branch)
    region = before.parent
    assert region is not None
    region.add_block(failed)
    conversion.replace()


def _declare_message(op: cf.AssertOp, conversion: Conversion) -> str:
    """Declare a global with the message, terminated by a zero byte as in C, and return its name."""
    data = [*op.msg.data.encode(), 0]
    name = f"relex.message.{op.msg.data.encode().hex()}"
    value = DenseIntOrFPElementsAttr.from_list(TensorType(i8, [len(data)]), data)
    storage = llvm.LLVMArrayType(len(data), i8)
    conversion.declare(name, lambda: llvm.GlobalOp(storage, name, "private", constant=True, value=value))
    return name
