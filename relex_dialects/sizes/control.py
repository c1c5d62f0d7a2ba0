"""Size inference of branches and loops.

No size may depend on the way that a run takes: branches give tensors of the same sizes, and a loop carries tensors
whose sizes stay as they are. What ops in a branch require is checked where the branch runs, and what ops in a loop
require in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, Region, SSAValue

from relex.dialects.errors import fail, name_of, types_str
from relex.dialects.op_edits import terminator_of
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.expressions import Size, Sizes


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
        found = [analysis.sizes(end.operands[i]) for end in ends]
        if len(ends) == 1:
            _expect_known(ends[0], [ends[0].operands[i]], analysis)
        shared = [_shared(regions, sizes, analysis) for sizes in zip(*found, strict=True)]
        if None in shared:
            k = next(k for k, sizes in enumerate(found) if sizes != found[0])
            _refuse(ends[k], ends[k].operands[i], "each branch", found[0], found[k])
        analysis.set(result, [size for size in shared if size is not None])


def _shared(regions: Sequence[Region], sizes: Sequence[Size], analysis: SizeAnalysis) -> Size | None:
    """Return a size that the size in each branch is equal to, where that runs."""
    pairs = list(zip(regions, sizes, strict=True))
    return next((s for s in sizes if all(analysis.equal_in(region.block, size, s) for region, size in pairs)), None)


@SIZES.rule(scf.ForOp)
def _infer_for(op: scf.ForOp, analysis: SizeAnalysis) -> None:
    _, *carried = op.body.block.args
    _enter(carried, op.iter_args, analysis)
    end = _visit(op.body, analysis)
    _expect_same(end, end.operands, op.iter_args, analysis)
    _enter(op.results, op.iter_args, analysis)


@SIZES.rule(scf.WhileOp)
def _infer_while(op: scf.WhileOp, analysis: SizeAnalysis) -> None:
    _enter(op.before_region.block.args, op.arguments, analysis)
    condition = _visit(op.before_region, analysis)
    _, *forwarded = condition.operands
    _expect_known(condition, forwarded, analysis)
    _enter(op.after_region.block.args, forwarded, analysis)
    end = _visit(op.after_region, analysis)
    _expect_same(end, end.operands, op.arguments, analysis)
    _enter(op.results, forwarded, analysis)


def _visit(region: Region, analysis: SizeAnalysis) -> Operation:
    """Infer the sizes in a region of one block, and return its terminator."""
    analysis.visit(region.block)
    return terminator_of(region.block)


def _enter(inside: Iterable[SSAValue], outside: Sequence[SSAValue], analysis: SizeAnalysis) -> None:
    """Give tensors that stand for others the sizes of these."""
    for value, given in zip(inside, outside, strict=True):
        if isinstance(value.type, TensorType):
            analysis.set(value, analysis.sizes(given))


def _expect_same(end: Operation, values: Sequence[SSAValue], first: Sequence[SSAValue], analysis: SizeAnalysis) -> None:
    for value, given in zip(values, first, strict=True):
        if isinstance(value.type, TensorType):
            sizes, found = analysis.sizes(given), analysis.sizes(value)
            if found != sizes:
                _refuse(end, value, "each trip", sizes, found)


def _expect_known(end: Operation, values: Iterable[SSAValue], analysis: SizeAnalysis) -> None:
    """Fail if a tensor that leaves a region has a size that only a run of the region finds out."""
    for value in values:
        if isinstance(value.type, TensorType) and analysis.is_found_with(end, *(sizes := analysis.sizes(value))):
            fail(
                end,
                f"expected {name_of(value)} to have sizes that are known before, found {types_str(sizes)}; {_ADVICE}",
            )


_ADVICE = "pad it to the largest size, and carry how much is used"


def _refuse(end: Operation, value: SSAValue, where: str, sizes: Sizes, found: Sizes) -> NoReturn:
    expected = f"expected {name_of(value)} to have the same sizes in {where}, {types_str(sizes)}"
    fail(end, f"{expected}, found {types_str(found)}; {_ADVICE}")
