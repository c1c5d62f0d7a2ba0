"""Fuse products and sums into one operator."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from relex.dialects.locations import fuse_locations
from relex.dialects.relex import AddOp, EwiseFMAOp, MultiplyOp
from relex.passes.driver.base import RelexPass


class FuseEwiseFmaPass(RelexPass):
    """
    Turns `add(multiply(x, y), z)` and `add(z, multiply(x, y))` into `ewise_fma(x, y, z)`, which rounds twice as the two
    do. A product with other users, or in another block, is kept, and so is its sum. If both operands are products, the
    first is taken.

    ```mlir
    %0 = relex.multiply %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %1 = relex.add %0, %z : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    // fuse-ewise-fma
    %1 = relex.ewise_fma %x, %y, %z : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "fuse-ewise-fma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(FuseMultiplyAdd(), apply_recursively=False).rewrite_module(op)


class FuseMultiplyAdd(RewritePattern):
    """Merge a product and the sum that is its only user into one operator."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        for product, addend in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (multiply := _only_used_by(product, op)) is None:
                continue
            fma = EwiseFMAOp(multiply.lhs, multiply.rhs, addend)
            fma.location = fuse_locations([multiply, op])
            rewriter.replace(op, fma)
            rewriter.erase(multiply)
            return


def _only_used_by(value: SSAValue, user: AddOp) -> MultiplyOp | None:
    """Return the product that defines a value, if `user` is its only user and in the same block."""
    multiply = value.owner
    if not isinstance(multiply, MultiplyOp) or multiply.parent is not user.parent or not value.has_one_use():
        return None
    return multiply
