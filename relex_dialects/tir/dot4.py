"""Products of vectors of four bytes, and of two numbers of bf16 or of 16-bit integers."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import VectorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
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

_WORDS = VarConstraint("WORDS", EqAttrConstraint(i32) | VectorType.constr(i32))


class IntegerDotOp(IRDLOperation, ABC):
    """The sum of products of the integers in words, as a word."""

    lhs = operand_def(_WORDS)
    rhs = operand_def(_WORDS)
    result = result_def(_WORDS)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[lhs, rhs], result_types=[SSAValue.get(lhs).type])


@irdl_op_definition
class Dot4Op(IntegerDotOp):
    """
    The sum of the products of four unsigned bytes with four signed ones, each in an `i32`: SPIR-V's `SUDot` with the
    operands exchanged. On vectors it is elementwise.

    ```mlir
    %d = tir.dot4 %a, %b : i32
    %e = tir.dot4 %u, %v : vector<16xi32>
    ```
    """

    name = "tir.dot4"


@irdl_op_definition
class Dot2iOp(IntegerDotOp):
    """
    The sum of the products of two signed integers of 16 bits with two others, each pair in an `i32`. It wraps around,
    as a sum of integers does. On vectors it is elementwise.

    ```mlir
    %d = tir.dot2i %a, %b : i32
    %e = tir.dot2i %u, %v : vector<8xi32>
    ```
    """

    name = "tir.dot2i"


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

    lhs = operand_def(_WORDS)
    rhs = operand_def(_WORDS)
    result = result_def(EqAttrConstraint(f32) | VectorType.constr(f32))

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[lhs, rhs], result_types=[_sums_of(SSAValue.get(lhs).type)])

    def verify_(self) -> None:
        expected = _sums_of(self.lhs.type)
        if self.result.type != expected:
            raise VerifyException(f"expected a result of {expected}, found {self.result.type}")


def _sums_of(words: Attribute) -> Attribute:
    """Return the type of the sums of products of words."""
    return VectorType(f32, words.shape, words.scalable_dims) if isa(words, VectorType) else f32
