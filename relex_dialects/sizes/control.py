"""Size inference of branches and loops.

A size that all branches give is known; another one is late, known after the branch that ran. A loop carries sizes that
stay as they are, and late ones, which each trip may change. What ops in a branch require is checked where the branch
runs, and so is what ops in a loop that may have no trips require, except that sizes which must be equal are so in every
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from relex.dialects.errors import PassError
from relex.dialects.index.domains import constant_value
from relex.dialects.op_edits import terminator_of
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.sizes.expressions import Size
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.upstream.hints import isa

Changing = set[tuple[int, int]]
"""Of tensors that a loop carries, by their numbers, the dimensions whose sizes a trip changes."""


@SIZES.rule(scf.IfOp, scf.IndexSwitchOp)
def _infer_branches(op: scf.IfOp | scf.IndexSwitchOp, analysis: SizeAnalysis) -> None:
    regions = [region for region in op.regions if region.blocks]
    ends: list[Operation] = []
    for region in regions:
        with analysis.branch(region.block):
            ends.append(_visit(region, analysis))
    for i, result in enumerate(op.results):
        if not isinstance(result.type, TensorType):
            continue
        found = zip(*(analysis.sizes(end.operands[i]) for end in ends), strict=True)
        shared = [_shared(regions, sizes, analysis) for sizes in found]
        for size in shared:
            if size is not None:
                analysis.require(Requirement(0, "<=", size))  # Its memory is there before.
        analysis.set(result, [_name(result, d, analysis) if size is None else size for d, size in enumerate(shared)])


def _shared(regions: Sequence[Region], sizes: Sequence[Size], analysis: SizeAnalysis) -> Size | None:
    """Return a size known before that the size in each branch is equal to, where that runs; None if there is none."""
    pairs = list(zip(regions, sizes, strict=True))
    known = [size for size in sizes if not any(analysis.is_found_in(region.block, size) for region in regions)]
    return next((s for s in known if all(analysis.equal_in(region.block, size, s) for region, size in pairs)), None)


@SIZES.rule(scf.ForOp)
def _infer_for(op: scf.ForOp, analysis: SizeAnalysis) -> None:
    _, *carried = op.body.block.args

    def infer(changing: Changing) -> Operation:
        _enter(carried, op.iter_args, changing, analysis)
        with nullcontext() if has_trips(op) else analysis.branch(op.body.block, is_loop=True):
            return _visit(op.body, analysis)

    changing = _until_stable(infer, op.iter_args, analysis)
    _enter(op.results, op.iter_args, changing, analysis)


def has_trips(loop: scf.ForOp | scf.WhileOp) -> bool:
    """Return whether a loop is known to run."""
    if isinstance(loop, scf.WhileOp):
        return False
    first, end = (constant_value(bound) for bound in (loop.lb, loop.ub))
    return first is not None and end is not None and first < end


@SIZES.rule(scf.WhileOp)
def _infer_while(op: scf.WhileOp, analysis: SizeAnalysis) -> None:
    before, after = op.before_region, op.after_region

    def infer(changing: Changing) -> Operation:
        _enter(before.block.args, op.arguments, changing, analysis)
        _, *forwarded = _visit(before, analysis).operands
        _enter(after.block.args, forwarded, _found_in(before.block, forwarded, analysis), analysis)
        with analysis.branch(after.block, is_loop=True):
            return _visit(after, analysis)

    _until_stable(infer, op.arguments, analysis)
    _, *forwarded = terminator_of(before.block).operands
    _enter(op.results, forwarded, _found_in(before.block, forwarded, analysis), analysis)


def _until_stable(
    infer: Callable[[Changing], Operation], first: Sequence[SSAValue], analysis: SizeAnalysis
) -> Changing:
    """Infer the sizes in a loop under the assumption that only some sizes change; if more do, start again. Where the
    sizes before the loop do not fit what is in it, all of them may change. Returns which."""
    changing: Changing = set()
    failure: PassError | None = None
    while True:
        before = analysis.state()
        try:
            end = infer(changing)
        except PassError as e:
            failure = failure or e
            more = _dynamic(first) - changing
            if not more:
                raise failure from None
        else:
            more = {place for place in _changed(end, first, analysis) if place not in changing}
        if not more:
            return changing
        changing |= more
        analysis.restore(before)


def _dynamic(values: Sequence[SSAValue]) -> Changing:
    """Return the dynamic dimensions of tensors."""
    shapes = [sizes_in_type(value.type) if isa(value.type, TensorType) else () for value in values]
    return {(i, d) for i, shape in enumerate(shapes) for d, size in enumerate(shape) if size == DYNAMIC_INDEX}


def _changed(end: Operation, first: Sequence[SSAValue], analysis: SizeAnalysis) -> Iterator[tuple[int, int]]:
    for i, (value, given) in enumerate(zip(end.operands, first, strict=True)):
        if isinstance(value.type, TensorType):
            pairs = zip(analysis.sizes(given), analysis.sizes(value), strict=True)
            yield from ((i, d) for d, (size, found) in enumerate(pairs) if size != found)


def _found_in(block: Block, values: Sequence[SSAValue], analysis: SizeAnalysis) -> Changing:
    """Return which sizes of tensors that leave a block are found out in it."""
    return {
        (i, d)
        for i, value in enumerate(values)
        if isinstance(value.type, TensorType)
        for d, size in enumerate(analysis.sizes(value))
        if analysis.is_found_in(block, size)
    }


def _enter(inside: Sequence[SSAValue], outside: Sequence[SSAValue], changing: Changing, analysis: SizeAnalysis) -> None:
    """Give tensors that stand for others the sizes of these, but late ones where they change."""
    for i, (value, given) in enumerate(zip(inside, outside, strict=True)):
        if isinstance(value.type, TensorType):
            sizes = enumerate(analysis.sizes(given))
            analysis.set(value, [_name(value, d, analysis) if (i, d) in changing else size for d, size in sizes])


def _name(value: SSAValue, dimension: int, analysis: SizeAnalysis) -> Size:
    """Name a size that a branch or a loop finds out. It may have grown from trip to trip: its limit is checked."""
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    assert owner is not None
    size = analysis.name_late(value, dimension, f"{value.name_hint or 'size'}_d{dimension}")
    analysis.check_limit(value, size, owner)
    return size


def _visit(region: Region, analysis: SizeAnalysis) -> Operation:
    """Infer the sizes in a region of one block, and return its terminator."""
    analysis.visit(region.block)
    return terminator_of(region.block)
