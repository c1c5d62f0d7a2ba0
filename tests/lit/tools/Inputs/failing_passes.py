"""Passes that go wrong while they run, each in another way."""

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

from relex.dialects.relex import AddOp, Operator, SubtractOp
from relex.passes import RelexPass


class Crash(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter):
        third = op.operands[2]
        rewriter.replace(op, AddOp(op.lhs, third))


class Forget(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter):
        rewriter.replace(op, SubtractOp(op.lhs))  # pyright: ignore[reportCallIssue]


class Return(RewritePattern):
    @op_type_rewrite_pattern  # pyright: ignore[reportArgumentType]
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter):
        if op.lhs is not op.rhs:
            return SubtractOp(op.lhs, op.rhs)


class ToSubtract(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter):
        rewriter.replace(op, SubtractOp(op.rhs, op.lhs))


class ToAdd(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubtractOp, rewriter: PatternRewriter):
        rewriter.replace(op, AddOp(op.rhs, op.lhs))


@dataclass(frozen=True)
class CrashPass(RelexPass):
    name = "crash"

    tolerance: float = 0.0

    def apply(self, ctx: Context, op: ModuleOp):
        PatternRewriteWalker(GreedyRewritePatternApplier([Crash()])).rewrite_module(op)


class CrashInLoopPass(RelexPass):
    name = "crash-in-loop"

    def apply(self, ctx: Context, op: ModuleOp):
        for function in op.ops:
            for operator in list(function.walk()):
                self.visit(operator)

    def visit(self, found: object):
        if isinstance(found, Operator):
            raise KeyError(found.operands[-1].name_hint)


class ForgetPass(RelexPass):
    name = "forget"

    def apply(self, ctx: Context, op: ModuleOp):
        PatternRewriteWalker(Forget()).rewrite_module(op)


class ReturnOpPass(RelexPass):
    name = "return-op"

    def apply(self, ctx: Context, op: ModuleOp):
        PatternRewriteWalker(Return()).rewrite_module(op)


class ReturnModulePass(RelexPass):
    name = "return-module"

    def apply(self, ctx: Context, op: ModuleOp):
        return op.clone()


class BackAndForthPass(RelexPass):
    name = "back-and-forth"
    max_rewrites = 50

    def apply(self, ctx: Context, op: ModuleOp):
        PatternRewriteWalker(GreedyRewritePatternApplier([ToAdd(), ToSubtract()])).rewrite_module(op)
