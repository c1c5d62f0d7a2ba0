"""Passes with rules, some of which are wrong."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f64
from xdsl.ir import Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.utils.hints import isa

from relex.dialects.relex import AddOp, ExpOp, MultiplyOp, NegativeOp, SubtractOp
from relex.passes import RelexPass, refuse, remark


class SubtractInstead(RewritePattern):
    """x + (-y) to x - y."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, AddOp):
            return
        if not isinstance(negative := op.rhs.owner, NegativeOp):
            return refuse("its right side is no negative")
        remark(op, lambda: f"absorbed a {negative.name}")
        new = SubtractOp(op.lhs, negative.operand)
        new.location = op.location
        rewriter.replace(op, new)


class AddInstead(RewritePattern):
    """x - (-y) to x + y, but not if x is a product."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, SubtractOp) and isinstance(negative := op.rhs.owner, NegativeOp):
            new = AddOp(op.lhs, op.rhs if isinstance(op.lhs.owner, MultiplyOp) else negative.operand)
            new.location = op.location
            rewriter.replace(op, new)


@dataclass(frozen=True)
class AbsorbPass(RelexPass):
    """Removes negatives, one of them wrongly."""

    name = "absorb-wrongly"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier([SubtractInstead(), AddInstead()])).rewrite_module(op)
        self.statistic("negatives left", sum(isinstance(inner, NegativeOp) for inner in op.walk()))


class Widen(RewritePattern):
    """Gives exponentials a type that they cannot have."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, ExpOp) and isa(t := op.results[0].type, TensorType) and t.element_type != f64:
            rewriter.replace_value_with_new_type(op.results[0], TensorType(f64, t.get_shape()))


@dataclass(frozen=True)
class WidenPass(RelexPass):
    """Leaves programs that are invalid."""

    name = "widen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier([SubtractInstead(), Widen()])).rewrite_module(op)


class Fail(RewritePattern):
    """Raises an error."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, MultiplyOp):
            raise ValueError("no products")


@dataclass(frozen=True)
class FailPass(RelexPass):
    """Raises an error in a rule."""

    name = "fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier([SubtractInstead(), Fail()])).rewrite_module(op)


@dataclass(frozen=True)
class SwapPass(RelexPass):
    """Is wrong without rules."""

    name = "swap"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(SubtractInstead()).rewrite_module(op)
        for inner in op.walk():
            if isinstance(inner, SubtractOp):
                inner.operands = inner.operands[::-1]
