"""Simplifications of branches and loops, besides xDSL's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free, is_speculatable
from xdsl.transforms.canonicalization_patterns.scf import replace_op_with_region
from xdsl.transforms.canonicalization_patterns.utils import const_evaluate_operand
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.transforms.loop_invariant_code_motion import can_be_hoisted

from relex.dialects.op_edits import terminator_of, with_types
from relex.dialects.relex import Operator
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import named
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.sizes.control import has_trips
from relex.dialects.sizes.requirements import gathering
from relex.dialects.upstream.hints import isa


class ExtractOfConstant(RewritePattern):
    """Replace an integer element of a constant by a number."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.ExtractOp, rewriter: PatternRewriter) -> None:
        array, kind = array_of(op.tensor), op.result.type
        indices = [const_evaluate_operand(index) for index in op.indices]
        if array is None or not isa(kind, IntegerType) or array.dtype.kind not in "bi":
            return
        known = [i for i, size in zip(indices, array.shape, strict=True) if i is not None and 0 <= i < size]
        if len(known) == len(indices):
            rewriter.replace(op, arith.ConstantOp(IntegerAttr(int(array[tuple(known)]), kind)))


class ChooseKnownCase(RewritePattern):
    """Replace an `scf.index_switch` on a known number by the region of its case."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IndexSwitchOp, rewriter: PatternRewriter) -> None:
        number = const_evaluate_operand(op.arg)
        if number is not None:
            regions = dict(zip(op.cases.get_values(), op.case_regions, strict=True))
            replace_op_with_region(rewriter, op, regions.get(number, op.default_region))


class EnterOnce(RewritePattern):
    """Replace an `scf.while` whose condition never holds by its first region."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.WhileOp, rewriter: PatternRewriter) -> None:
        test = op.before_region.block.last_op
        if not isinstance(test, scf.ConditionOp) or const_evaluate_operand(test.condition) != 0:
            return
        block, values = op.before_region.block, [*test.args]
        outside = dict[SSAValue, SSAValue](zip(block.args, op.arguments, strict=True))
        rewriter.erase(test)
        rewriter.inline_block(block, InsertPoint.before(op), [*op.arguments])
        rewriter.replace(op, [], [outside.get(value, value) for value in values])


class MoveInvariantsOut(RewritePattern):
    """Move pure ops that depend on nothing that a loop changes before the loop, as xDSL's pass `licm` does for some
    loops. An op that may end the program stays: the loop may have no trips."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp | scf.WhileOp, rewriter: PatternRewriter) -> None:
        builder, may_skip = Builder(InsertPoint.before(op)), not has_trips(op)
        for region in op.regions:
            for inner in [*region.block.ops]:
                if can_be_hoisted(inner, region) and _may_move(inner, may_skip=may_skip):
                    inner.detach()
                    builder.insert(inner)
                    rewriter.notify_op_modified(op)


def _may_move(op: Operation, *, may_skip: bool) -> bool:
    """Return whether an op is pure, and may run though the loop around it may have no trips."""
    if not is_side_effect_free(op) or not is_speculatable(op):
        return False
    return not any(_may_end(inner) or (may_skip and _limits_sizes(inner)) for inner in op.walk())


def _limits_sizes(op: Operation) -> bool:
    """Return whether an operator takes only some sizes, not only equal ones: a loop that may have no trips checks that
    in each."""
    if not isinstance(op, Operator):
        return False
    types = [value.type for value in op.operands]
    with gathering() as requirements:
        type(op).infer_results([_named_sizes(i, t) for i, t in enumerate(types) if isa(t, TensorType)], op.properties)
    return any(requirement.relation == "<=" for requirement in requirements)


def _named_sizes(i: int, t: TensorType) -> SizedType:
    sizes = [named(f"s{i}_{d}") if size == DYNAMIC_INDEX else size for d, size in enumerate(t.get_shape())]
    return SizedType(t.element_type, sizes)


def _may_end(op: Operation) -> bool:
    """Return whether an op checks, when it runs, that what it accesses is inside of a tensor, or that what it counts is
    a size. What others require of such a size is checked with it."""
    if isinstance(op, Operator) and op.COUNTS:
        return True
    if isinstance(op, tensor.InsertSliceOp):
        return bool(op.offsets or op.sizes) or has_unknown(op.dest.type)
    return isinstance(op, tensor.ExtractOp) and bool(op.indices)


class ForwardInvariants(RewritePattern):
    """Replace what a loop carries unchanged by its first value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp | scf.WhileOp, rewriter: PatternRewriter) -> None:
        if isinstance(op, scf.ForOp):
            first, arguments, passed = op.iter_args, op.body.block.args[1:], op.results
            given = [*arguments]
        else:
            before, after = op.before_region.block, op.after_region.block
            first, arguments = op.arguments, before.args
            given = [*terminator_of(before).operands[1:]]
            passed = after.args
        for i, (value, argument) in enumerate(zip(first, arguments, strict=True)):
            following = terminator_of(op.regions[-1].block).operands[i]
            places = [j for j, other in enumerate(given) if other is argument]
            same = {value, argument, *(passed[j] for j in places)}
            if following not in same or not (
                uses := [argument, *(p for j in places for p in (passed[j], op.results[j]))]
            ):
                continue
            if any(other.first_use is not None for other in uses if not _only_ends(other, op)):
                for other in uses:
                    other.replace_all_uses_with(value)
                rewriter.notify_op_modified(op)


def _only_ends(value: SSAValue, loop: Operation) -> bool:
    """Return whether only the ends of a loop's regions use a value."""
    ends = [terminator_of(region.block) for region in loop.regions]
    return all(use.operation in ends for use in value.uses)


class DropUnusedResults(RewritePattern):
    """Drop what branches give, and what loops carry, if nobody uses it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: scf.IfOp | scf.IndexSwitchOp | scf.ForOp | scf.WhileOp, rewriter: PatternRewriter
    ) -> None:
        unused = [result.index for result in op.results if result.first_use is None]
        if isinstance(op, scf.WhileOp):
            self._drop_from_while(op, unused, rewriter)
            return
        if isinstance(op, scf.ForOp):
            unused = _idle(op.body.block, op.body.block.args[1:], terminator_of(op.body.block).operands, unused)
        if not unused:
            return
        for region in op.regions:
            _drop_operands(terminator_of(region.block), unused)
        operands = [*op.operands]
        if isinstance(op, scf.ForOp):
            for inner in reversed([*op.body.block.ops]):
                if is_trivially_dead(inner):
                    rewriter.erase(inner)
            _drop_arguments(op.body.block, [i + 1 for i in unused])
            operands = [value for i, value in enumerate(operands) if i - 3 not in unused]
        _replace(op, operands, unused, rewriter)

    def _drop_from_while(self, op: scf.WhileOp, unused: Sequence[int], rewriter: PatternRewriter) -> None:
        before, after = op.before_region.block, op.after_region.block
        passed = [i for i in unused if after.args[i].first_use is None]
        if passed:
            _drop_operands(terminator_of(before), [i + 1 for i in passed])
            _drop_arguments(after, passed)
            _replace(op, op.operands, passed, rewriter)
            return
        carried = [argument.index for argument in before.args if argument.first_use is None]
        if carried:
            _drop_operands(terminator_of(after), carried)
            _drop_arguments(before, carried)
            _replace(op, [value for i, value in enumerate(op.operands) if i not in carried], (), rewriter)


def _idle(
    block: Block, arguments: Sequence[BlockArgument], yielded: Sequence[SSAValue], unused: Sequence[int]
) -> list[int]:
    """Return which of the unused results of a loop are computed from each other alone."""
    found = [*unused]
    while True:
        needed: set[SSAValue] = set()
        pending = [value for i, value in enumerate(yielded) if i not in found]
        pending += [value for op in block.ops if not is_side_effect_free(op) for value in _used(op)]
        while pending:
            value = pending.pop()
            if value not in needed:
                needed.add(value)
                if isinstance(value, OpResult) and (op := block.find_ancestor_op_in_block(value.op)) is not None:
                    pending += _used(op)
        left = [i for i in found if arguments[i] not in needed]
        if left == found:
            return found
        found = left


def _used(op: Operation) -> list[SSAValue]:
    return [value for inner in op.walk() for value in inner.operands]


def _drop_operands(op: Operation, numbers: Collection[int]) -> None:
    op.operands = [value for i, value in enumerate(op.operands) if i not in numbers]


def _drop_arguments(block: Block, numbers: Sequence[int]) -> None:
    for i in sorted(numbers, reverse=True):
        block.erase_arg(block.args[i])


def _replace(op: Operation, operands: Sequence[SSAValue], without: Collection[int], rewriter: PatternRewriter) -> None:
    """Replace an op by one with other operands, and without some results."""
    new = with_types(op, operands, [result.type for result in op.results if result.index not in without])
    given = iter(new.results)
    rewriter.replace(op, new, [None if result.index in without else next(given) for result in op.results])
