"""Simplification of assertions."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from relex.dialects.relex import AssertOp
from relex.passes.rewriting.constants import holds_only


class RemoveTrueAssertions(RewritePattern):
    """Remove an assertion whose condition is constant and holds."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AssertOp, rewriter: PatternRewriter) -> None:
        if holds_only(op.condition, True):
            rewriter.erase(op)
