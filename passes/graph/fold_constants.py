"""Compute what is known before the program runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FixedBitwidthType, ModuleOp, bf16
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from relex.dialects.dtypes import array_from_dense
from relex.dialects.relex import (
    AbsOp,
    AddOp,
    ArgmaxOp,
    AstypeOp,
    BroadcastToOp,
    ClipOp,
    Comparison,
    ConcatOp,
    ConstantOp,
    DivideOp,
    EwiseFMAOp,
    ExpandDimsOp,
    FloorOp,
    MaximumOp,
    MaxOp,
    MaxPool2dOp,
    MinimumOp,
    MinOp,
    MultiplyOp,
    NegativeOp,
    Operator,
    PadOp,
    PermuteDimsOp,
    ReluOp,
    ReshapeOp,
    RsqrtOp,
    SqrtOp,
    SqueezeOp,
    StridedSliceOp,
    SubtractOp,
    TakeOp,
    WhereOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.passes.base import RelexPass

EXACT: tuple[type[Operation], ...] = (
    *(AbsOp, AddOp, DivideOp, EwiseFMAOp, FloorOp, MultiplyOp, NegativeOp, RsqrtOp, SqrtOp, SubtractOp),
    *(AstypeOp, ClipOp, Comparison, MaximumOp, MinimumOp, ReluOp, WhereOp),
    *(ArgmaxOp, MaxOp, MaxPool2dOp, MinOp),
    *(BroadcastToOp, ConcatOp, ExpandDimsOp, PadOp, PermuteDimsOp, ReshapeOp, SqueezeOp, StridedSliceOp, TakeOp),
)
"""The operators whose result is the same to the bit however it is computed: no sums, no functions of a library."""


@dataclass(frozen=True)
class FoldConstantsPass(RelexPass):
    """
    Replaces operators on constants by their results, as their NumPy semantics give them. A result may have `limit`
    bytes, or as many as the constants that it is made of; larger ones stay operators, so that a few zeros that are
    repeated stay few. Of equal constants in a function one is left, at its
    start; those that nothing uses are removed. With `strict` only operators
    are folded that compiled code computes to the same bits: no sums, and no functions like `exp`.

    ```mlir
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %a = relex.constant dense<[0.5, -1.0]> : tensor<2xf32>
      %b = relex.negative %a : (tensor<2xf32>) -> tensor<2xf32>
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    // fold-constants
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %b = relex.constant dense<[-0.5, 1.0]> : tensor<2xf32>
      %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    ```
    """

    name = "fold-constants"

    limit: int = 4096
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(FoldOperator(self.limit, self.strict)).rewrite_module(op)
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                _tidy_constants(function)


@dataclass(frozen=True)
class FoldOperator(RewritePattern):
    """Replace an operator on constants by a constant."""

    limit: int
    strict: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, Operator) or not is_side_effect_free(op) or (self.strict and not isinstance(op, EXACT)):
            return
        operands = [value.owner for value in op.operands]
        if not operands or not all(map(_is_known, operands)) or not self._is_small_enough(op):
            return
        import numpy as np

        result = np.asarray(op.evaluate(*(array_from_dense(c.value) for c in operands if isinstance(c, ConstantOp))))
        constant = ConstantOp(result)
        if constant.result.type == op.results[0].type:
            constant.location = op.location
            rewriter.replace(op, constant)

    def _is_small_enough(self, op: Operator) -> bool:
        return _bytes(op.results[0]) <= max(self.limit, sum(map(_bytes, set(op.operands))))


def _is_known(op: Operation | Block) -> bool:
    """Whether NumPy has the elements of a value that this makes."""
    return isinstance(op, ConstantOp) and op.value.get_element_type() != bf16


def _bytes(value: SSAValue) -> float:
    """The size of a tensor; endless if it is not known."""
    t = tensor_type(value.type)
    if not t.has_static_shape() or not isinstance(t.element_type, FixedBitwidthType):
        return inf
    return prod(t.get_shape()) * t.element_type.size


def _tidy_constants(function: FuncOp) -> None:
    """Remove constants that nothing uses; of equal ones leave one, at the start of the function."""
    same: dict[DenseIntOrFPElementsAttr, list[ConstantOp]] = {}
    for op in list(function.walk()):
        if isinstance(op, ConstantOp) and op.result.first_use is None:
            op.detach()
            op.erase()
        elif isinstance(op, ConstantOp):
            same.setdefault(op.value, []).append(op)
    for first, *others in reversed(same.values()):
        if others:
            first.detach()
            Rewriter.insert_op(first, InsertPoint.at_start(function.body.blocks[0]))
        for other in others:
            other.result.replace_all_uses_with(first.result)
            other.detach()
            other.erase()
