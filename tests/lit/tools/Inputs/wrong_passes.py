"""Passes that are wrong, each in another way."""

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from relex.dialects.relex import ConstantOp, SubtractOp


class FoldDifference(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter):
        if op.lhs is op.rhs:
            rewriter.replace(op, ConstantOp(np.zeros(op.result.type.get_shape(), np.float32)))


@dataclass(frozen=True)
class FoldDifferencesPass(ModulePass):
    """The difference of a number and itself is zero; but the difference of NaN or infinity is NaN."""

    name = "fold-differences"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(FoldDifference()).rewrite_module(op)


@dataclass(frozen=True)
class SwapSubtractionsPass(ModulePass):
    """Subtractions are not commutative."""

    name = "swap-subtractions"

    negate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, arith.SubfOp):
                inner.operands = [inner.rhs, inner.lhs]


@dataclass(frozen=True)
class RemoveFunctionsPass(ModulePass):
    """Public functions are for others."""

    name = "remove-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.ops):
            inner.detach()
            inner.erase()


@dataclass(frozen=True)
class LoseAttributesPass(ModulePass):
    """Empty attributes of arguments are not printed."""

    name = "lose-attributes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.ops:
            if isinstance(inner, func.FuncOp):
                inner.arg_attrs = ArrayAttr([DictionaryAttr({})] * len(inner.args))
