"""Products of vectors of four bytes, and of two numbers of bf16."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, f32, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    EqAttrConstraint,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from relex.dialects.upstream.hints import isa


@irdl_op_definition
class Dot4Op(IRDLOperation):
    """
    The sum of the products of four unsigned bytes with four signed ones, each in an `i32`: SPIR-V's `SUDot` with the
    operands exchanged. On vectors it is elementwise.

    ```mlir
    %d = tir.dot4 %a, %b : i32
    %e = tir.dot4 %u, %v : vector<16xi32>
    ```
    """

    name = "tir.dot4"

    WORDS: ClassVar = VarConstraint("WORDS", EqAttrConstraint(i32) | VectorType.constr(i32))

    lhs = operand_def(WORDS)
    rhs = operand_def(WORDS)
    result = result_def(WORDS)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[lhs, rhs], result_types=[SSAValue.get(lhs).type])


@irdl_op_definition
class Dot2Op(IRDLOperation):
    """
    The sum of the products of two numbers of bf16 with two others, each pair in an `i32`, as an `f32`. The products are
    exact, and their sum is rounded, unless they are fused into what is added to it. Numbers below 2**-126, before and
    after that, may count as zeros. On vectors it is elementwise.

    ```mlir
    %d = tir.dot2 %a, %b : i32 -> f32
    %e = tir.dot2 %u, %v : vector<16xi32> -> vector<16xf32>
    ```
    """

    name = "tir.dot2"

    WORDS: ClassVar = VarConstraint("WORDS", EqAttrConstraint(i32) | VectorType.constr(i32))

    lhs = operand_def(WORDS)
    rhs = operand_def(WORDS)
    result = result_def(EqAttrConstraint(f32) | VectorType.constr(f32))

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        kind = SSAValue.get(lhs).type
        result = VectorType(f32, kind.shape, kind.scalable_dims) if isa(kind, VectorType) else f32
        super().__init__(operands=[lhs, rhs], result_types=[result])

    def verify_(self) -> None:
        kind, result = self.lhs.type, self.result.type
        expected = VectorType(f32, kind.shape, kind.scalable_dims) if isa(kind, VectorType) else f32
        if result != expected:
            raise VerifyException(f"expected a result of {expected}, found {result}")
