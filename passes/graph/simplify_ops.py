"""Simplification of operators."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.transforms.canonicalize import CanonicalizationRewritePattern

from relex.dialects.relex import Operator
from relex.dialects.relex.types import tensor_type
from relex.passes.driver.base import RelexPass


class SimplifyOpsPass(RelexPass):
    """
    Replaces operators of graphs by simpler ones with the same result, to the bit, by the rules of `canonicalize`. It
    changes no loops, and keeps what operators require of sizes that are not known: those with several operands of
    unknown sizes stay, as do operators without users, which `remove-unused` removes.

    ```mlir
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
      %true = relex.constant dense<true> : tensor<1x3xi1>
      %mask = relex.broadcast_to %true shape = [2, 3] : (tensor<1x3xi1>) -> tensor<2x3xi1>
      %0 = relex.where %mask, %x, %y
          : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = relex.permute_dims %0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
      func.return %1 : tensor<3x2xf32>
    }
    // simplify-ops,remove-unused
    func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<3x2xf32> {
      %0 = relex.permute_dims %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
      func.return %0 : tensor<3x2xf32>
    }
    ```
    """

    name = "simplify-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(SimplifyOperator()).rewrite_module(op)


class SimplifyOperator(RewritePattern):
    """Apply the first rule that changes an operator with users; xDSL's pattern would erase one without."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operator, rewriter: PatternRewriter) -> None:
        is_used = any(result.first_use is not None for result in op.results)
        if is_used and sum(not tensor_type(value.type).has_static_shape() for value in op.operands) <= 1:
            CanonicalizationRewritePattern().match_and_rewrite(op, rewriter)
