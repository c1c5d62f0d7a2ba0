"""Simplifications of dataflow blocks."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from relex.dialects.relex import DataflowOp


class RemoveUnusedOutputs(RewritePattern):
    """Drop the unused results of a dataflow block."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DataflowOp, rewriter: PatternRewriter) -> None:
        used = [result.first_use is not None for result in op.results]
        if all(used):
            return
        output = op.output
        output.operands = [value for value, keep in zip(output.operands, used, strict=True) if keep]
        block = DataflowOp(output.operand_types, op.detach_region(op.body))
        block.attributes = op.attributes
        block.location = op.location
        results = iter(block.results)
        rewriter.replace(op, block, [next(results) if keep else None for keep in used])


class ForwardOutputs(RewritePattern):
    """Replace results of a dataflow block that are defined outside of it, and merge duplicate results."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DataflowOp, rewriter: PatternRewriter) -> None:
        first: dict[SSAValue, SSAValue] = {}
        for value, result in zip(op.output.operands, op.results, strict=True):
            is_inside = op.body.block.is_ancestor(value.owner)
            rewriter.replace_all_uses_with(result, first.setdefault(value, result) if is_inside else value)
