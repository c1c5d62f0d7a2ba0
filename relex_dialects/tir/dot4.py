"""Products of vectors of four bytes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, i32
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
