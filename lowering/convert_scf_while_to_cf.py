"""Lowering of `scf.while` and annotated loops to branches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import BlockInsertPoint, InsertPoint
from xdsl.transforms.convert_scf_to_cf import ForLowering, IfLowering, SwitchLowering

from relex.dialects.upstream.llvm import LOOP_ANNOTATION
from relex.dialects.walks import walk
from relex.passes.base import RelexPass


@dataclass(frozen=True)
class ConvertScfWhileToCfPass(RelexPass):
    """
    Turns every `scf.while` and `scf.execute_region` into branches, and every `scf.for` with an `llvm.loop_annotation`,
    which moves to the branch that closes the loop. Other ops of `scf` in the same function are lowered with them, since
    their regions must have a single block. Other functions are left to `convert-scf-to-cf`.

    ```mlir
    %0 = scf.while (%i = %start) : (index) -> index {
      scf.condition(%more) %i : index
    } do {
    ^bb0(%j: index):
      scf.yield %next : index
    }
    // convert-scf-while-to-cf
      cf.br ^before(%start : index)
    ^before(%i: index):
      cf.cond_br %more, ^after(%i : index), ^end
    ^after(%j: index):
      cf.br ^before(%next : index)
    ^end:
    ```

    Requires that `scf.parallel` is gone: `scf-parallel-for-to-nested-fors` turns it into `scf.for`.
    """

    name = "convert-scf-while-to-cf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            # Outermost first; nested ops move with their regions.
            found = [inner for inner in walk(function) if type(inner) in PATTERNS]
            if any(map(_is_left_by_xdsl, found)):
                for inner in found:
                    PATTERNS[type(inner)].match_and_rewrite(inner, PatternRewriter(inner))


def _is_left_by_xdsl(op: Operation) -> bool:
    return isinstance(op, scf.WhileOp | scf.ExecuteRegionOp) or LOOP_ANNOTATION in op.attributes


class LowerWhile(RewritePattern):
    """Lower an `scf.while` to a loop of branches."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.WhileOp, rewriter: PatternRewriter) -> None:
        start = op.parent
        assert start is not None
        end = start.split_before(op)
        before, after = op.before_region.blocks[0], op.after_region.blocks[0]
        condition, leave = op.before_region.blocks[-1].last_op, op.after_region.blocks[-1].last_op
        assert isinstance(condition, scf.ConditionOp)
        assert isinstance(leave, scf.YieldOp)
        results = condition.args
        _place(op, cf.BranchOp(before, *op.arguments), start, rewriter)
        rewriter.inline_region(op.before_region, BlockInsertPoint.before(end))
        rewriter.inline_region(op.after_region, BlockInsertPoint.before(end))
        rewriter.replace(condition, cf.ConditionalBranchOp(condition.condition, after, results, end, ()))
        rewriter.replace(leave, cf.BranchOp(before, *leave.operands))
        # The block of the condition dominates the end.
        rewriter.replace(op, [], results)


class LowerExecuteRegion(RewritePattern):
    """Inline an `scf.execute_region`; its yields become branches to its end."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ExecuteRegionOp, rewriter: PatternRewriter) -> None:
        start = op.parent
        assert start is not None
        end = start.split_before(op)
        results = [end.insert_arg(result.type, i) for i, result in enumerate(op.results)]
        _place(op, cf.BranchOp(op.region.blocks[0]), start, rewriter)
        for block in op.region.blocks:
            if isinstance(leave := block.last_op, scf.YieldOp):
                rewriter.replace(leave, cf.BranchOp(end, *leave.operands))
        rewriter.inline_region(op.region, BlockInsertPoint.before(end))
        rewriter.replace(op, [], results)


class LowerFor(RewritePattern):
    """Lower an `scf.for`, and move its loop annotation to the branch of its latch."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        annotation = op.attributes.get(LOOP_ANNOTATION)
        head = op.body.blocks[0]
        ForLowering().match_and_rewrite(op, rewriter)
        if annotation is None:
            return
        leave = head.last_op
        assert isinstance(leave, cf.ConditionalBranchOp)
        latch = leave.else_block.prev_block
        assert latch is not None
        assert latch.last_op is not None
        latch.last_op.attributes[LOOP_ANNOTATION] = annotation


PATTERNS: dict[type[Operation], RewritePattern] = {
    scf.ExecuteRegionOp: LowerExecuteRegion(),
    scf.ForOp: LowerFor(),
    scf.IfOp: IfLowering(),
    scf.IndexSwitchOp: SwitchLowering(),
    scf.WhileOp: LowerWhile(),
}
"""The pattern for each op. Nothing else is rewritten, so that no greedy rewrite is needed."""


def _place(op: Operation, new: Operation, block: Block, rewriter: PatternRewriter) -> None:
    new.location = op.location
    rewriter.insert(new, InsertPoint.at_end(block))
