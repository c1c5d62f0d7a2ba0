"""Assertions about the elements of tensors."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import StringAttr, TensorType, i1, i64
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind


class _StopsProgram(MemoryEffect):
    """A read and a write of the state of the program: what comes after depends on it, and it stays in its place among
    side effects."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}


@irdl_op_definition
class AssertOp(HasCanonicalizationPatternsInterface, IRDLOperation):
    """
    Stops the program with an error unless the condition holds. With an `index`, the error is an `IndexRangeError`, and
    names that number. An assertion is a side effect: it is never removed, and stays outside of dataflow blocks.

    ```mlir
    relex.assert %holds, "expected positive numbers" : tensor<i1>
    relex.assert %in_range, "expected indices from 0 to 9" index %i : tensor<i1>, tensor<i64>
    ```
    """

    name = "relex.assert"

    condition = operand_def(eq(TensorType(i1, [])))
    message = prop_def(StringAttr)
    index = opt_operand_def(eq(TensorType(i64, [])))

    traits = traits_def(_StopsProgram())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "$condition `,` $message (`index` $index^)? attr-dict `:` type($condition) (`,` type($index)^)?"

    def __init__(
        self, condition: SSAValue | Operation, message: str | StringAttr, index: SSAValue | Operation | None = None
    ):
        if isinstance(message, str):
            message = StringAttr(message)
        super().__init__(operands=[condition, index], properties={"message": message})

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from relex.passes.graph.canonicalization.assertion import RemoveTrueAssertions

        return (RemoveTrueAssertions(),)
