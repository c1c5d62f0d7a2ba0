"""Lowering of ops of `scf` to branches, one op at a time: no pattern needs to be tried again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i1, i32, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import BlockInsertPoint, Rewriter
from xdsl.transforms.convert_scf_to_cf import ConvertScfToCf, IfLowering, SwitchLowering

from relex.dialects.op_edits import terminator_of
from relex.dialects.upstream.attributes import integer_attr
from relex.dialects.upstream.llvm import LOOP_ANNOTATION
from relex.dialects.walks import walk


def lower_to_branches(ops: Sequence[Operation]) -> None:
    """Lower ops of `scf`, outermost first: nested ones move with their regions."""
    for op in ops:
        PATTERNS[type(op)](op, PatternRewriter(op))


def _lower_while(op: scf.WhileOp, rewriter: PatternRewriter) -> None:
    """Lower an `scf.while` to a loop of branches."""
    start = op.parent
    assert start is not None
    end = start.split_before(op)
    before, after = op.before_region.blocks[0], op.after_region.blocks[0]
    condition, leave = op.before_region.blocks[-1].last_op, op.after_region.blocks[-1].last_op
    assert isinstance(condition, scf.ConditionOp)
    assert isinstance(leave, scf.YieldOp)
    results = condition.args
    _place(op, cf.BranchOp(before, *op.arguments), start)
    rewriter.inline_region(op.before_region, BlockInsertPoint.before(end))
    rewriter.inline_region(op.after_region, BlockInsertPoint.before(end))
    rewriter.replace(condition, cf.ConditionalBranchOp(condition.condition, after, results, end, ()))
    rewriter.replace(leave, cf.BranchOp(before, *leave.operands))
    # The block of the condition dominates the end.
    rewriter.replace(op, [], results)


def _lower_execute_region(op: scf.ExecuteRegionOp, rewriter: PatternRewriter) -> None:
    """Inline an `scf.execute_region`; its yields become branches to its end."""
    start = op.parent
    assert start is not None
    end = start.split_before(op)
    results = [end.insert_arg(result.type, i) for i, result in enumerate(op.results)]
    _place(op, cf.BranchOp(op.region.blocks[0]), start)
    for block in op.region.blocks:
        if isinstance(leave := block.last_op, scf.YieldOp):
            rewriter.replace(leave, cf.BranchOp(end, *leave.operands))
    rewriter.inline_region(op.region, BlockInsertPoint.before(end))
    rewriter.replace(op, [], results)


def _lower_for(op: scf.ForOp, rewriter: PatternRewriter) -> None:
    """Lower an `scf.for` as xDSL does, in half the time, and move its loop annotation to the branch of its latch."""
    start, head, latch = op.parent, op.body.first_block, op.body.last_block
    assert start is not None
    assert head is not None
    assert latch is not None
    assert head.first_op is not None
    end, body = start.split_before(op), head.split_before(head.first_op)
    latch = body if latch is head else latch
    leave = terminator_of(latch)
    op.body.move_blocks_before(end)
    counter, *carried = head.args
    at = op.location
    following = arith.AddiOp.create(operands=(counter, op.step), result_types=(counter.type,), location=at)
    latch.insert_op_before(following, leave)
    back = _branch(head, following.result, *leave.operands)
    back.location = at
    if (annotation := op.attributes.get(LOOP_ANNOTATION)) is not None:
        back.attributes[LOOP_ANNOTATION] = annotation
    Rewriter.replace_op(leave, back, [])
    _place(op, _branch(head, op.lb, *op.iter_args), start)
    more = arith.CmpiOp.create(
        operands=(counter, op.ub), result_types=(i1,), properties={"predicate": _LESS}, location=at
    )
    head.add_op(more)
    segments = {"operandSegmentSizes": _NO_ARGUMENTS}
    way = cf.ConditionalBranchOp.create(
        operands=(more.result,), successors=(body, end), properties=segments, location=at
    )
    head.add_op(way)
    Rewriter.replace_op(op, [], carried)


_LESS = integer_attr(arith.CMPI_COMPARISON_OPERATIONS.index("slt"), i64)
_NO_ARGUMENTS = DenseArrayBase.from_list(i32, [1, 0, 0])
"""The operand segment sizes of a conditional branch: its condition, and the arguments passed to each successor."""


def _branch(to: Block, *arguments: SSAValue) -> cf.BranchOp:
    return cf.BranchOp.create(operands=arguments, successors=(to,))


PATTERNS: dict[type[Operation], Callable[[Any, PatternRewriter], None]] = {
    scf.ExecuteRegionOp: _lower_execute_region,
    scf.ForOp: _lower_for,
    scf.IfOp: IfLowering().match_and_rewrite,
    scf.IndexSwitchOp: SwitchLowering().match_and_rewrite,
    scf.WhileOp: _lower_while,
}
"""The pattern that lowers each op. Nothing else is rewritten, so no greedy rewriter is needed."""


def _place(op: Operation, new: Operation, block: Block) -> None:
    new.location = op.location
    block.add_op(new)


_LOWERED = {scf.ForOp, scf.IfOp, scf.IndexSwitchOp}


class ConvertScfToCfPass(ConvertScfToCf):
    """xDSL's pass, which is named in pipelines, without its walk, which asks each op of a program several times: it
    lowers the same ops to the same branches."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lower_to_branches([inner for inner in walk(op) if type(inner) in _LOWERED])
