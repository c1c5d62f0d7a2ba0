"""Recognizes `mobile.hard_swish` in programs that spell it out."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from relex.dialects.locations import fuse_locations
from relex.dialects.relex import AddOp, ClipOp, DivideOp, MultiplyOp
from relex.passes import RelexPass
from relex.passes.rewriting.patterns import constant, op, wildcard
from relex_mobile.dialect import HardSwishOp

_SHIFTED = op(AddOp, wildcard("x"), constant(number=3)).commutative().single_use()
_CLIPPED = op(ClipOp, _SHIFTED, min=FloatAttr(0.0, f32), max=FloatAttr(6.0, f32)).single_use()
_PRODUCT = op(MultiplyOp, wildcard("x"), _CLIPPED).commutative().single_use()
HARD_SWISH = op(DivideOp, _PRODUCT, constant(number=6))


class FuseHardSwish(RewritePattern):
    """Replace the four operators by one, if the constants do not change the shape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DivideOp, rewriter: PatternRewriter):
        match = HARD_SWISH.match(op)
        if match is None or match["x"].type != op.result.type:
            return
        whole = HardSwishOp(match["x"])
        whole.location = fuse_locations(match.ops)
        rewriter.replace(op, whole)
        for part in match.ops[1:]:
            rewriter.erase(part)


@dataclass(frozen=True)
class FuseHardSwishPass(RelexPass):
    """
    Fuses `x * clip(x + 3, 0, 6) / 6` on f32 into `mobile.hard_swish`, with factors and summands in any order.

    %0 = relex.add %x, %three : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
    %1 = relex.clip %0 min = 0.0 : f32 max = 6.0 : f32 : (tensor<5xf32>) -> tensor<5xf32>
    %2 = relex.multiply %x, %1 : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %3 = relex.divide %2, %six : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
    // fuse-hard-swish
    %0 = mobile.hard_swish %x : (tensor<5xf32>) -> tensor<5xf32>
    """

    name = "fuse-hard-swish"

    def apply(self, ctx: Context, op: ModuleOp):
        PatternRewriteWalker(FuseHardSwish(), apply_recursively=False).rewrite_module(op)
