"""Simplification of operators."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from relex.dialects.relex import Operator
from relex.passes.base import RelexPass
from relex.passes.support.constants import erase_unused_constants


@dataclass(frozen=True)
class SimplifyOpsPass(RelexPass):
    """
    Replaces operators of graphs by simpler ones with the same result, to the bit, by the rules of `canonicalize`, and
    removes those that nothing uses. Unlike `canonicalize` it changes no loops.

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
      %true = relex.constant dense<true> : tensor<1x3xi1>
      %mask = relex.broadcast_to %true shape = [2, 3] : (tensor<1x3xi1>) -> tensor<2x3xi1>
      %0 = relex.where %mask, %x, %y
          : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = relex.permute_dims %0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
      func.return %1 : tensor<3x2xf32>
    }
    // simplify-ops
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
      %0 = relex.permute_dims %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
      func.return %0 : tensor<3x2xf32>
    }
    ```
    """

    name = "simplify-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(SimplifyOperator()).rewrite_module(op)
        erase_unused_constants(list(op.walk()))


class SimplifyOperator(RewritePattern):
    """Erase an operator without users, or apply the first rule that changes it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operator, rewriter: PatternRewriter) -> None:
        GreedyRewritePatternApplier(list(op.get_canonicalization_patterns())).match_and_rewrite(op, rewriter)
