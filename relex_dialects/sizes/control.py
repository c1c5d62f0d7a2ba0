"""Size inference of branches and loops.

A size that all branches give is known; another one is late, known after the branch that ran. A loop carries sizes that
stay as they are, and late ones, which each trip may change. What ops in a branch require is checked where the branch
runs, and what ops in a loop require of other sizes in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relex.dialects.errors import fail, name_of
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.sizes.expressions import Size, Sizes

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
        kind: Attribute = result.type
        if not isinstance(kind, TensorType):
            continue
        stated = sizes_in_type(result.type)
        found = [analysis.sizes(end.operands[i]) for end in ends]
        sizes: list[Size] = []
        for d, of_each in enumerate(zip(*found, strict=True)):
            shared = _shared(regions, of_each, analysis)
            if shared is None or any(analysis.is_found_with(end, shared) for end in ends):
                if not analysis.allows_late or stated[d] != DYNAMIC_INDEX:
                    k = next((k for k, sizes in enumerate(found) if sizes != found[0]), 0)
                    _refuse(ends[k], ends[k].operands[i], "each branch", found[0], found[k])
                shared = _name(result, d, analysis)
            sizes.append(shared)
        analysis.set(result, sizes)


def _shared(regions: Sequence[Region], sizes: Sequence[Size], analysis: SizeAnalysis) -> Size | None:
    """Return a size that the size in each branch is equal to, where that runs."""
    pairs = list(zip(regions, sizes, strict=True))
    return next((s for s in sizes if all(analysis.equal_in(region.block, size, s) for region, size in pairs)), None)


@SIZES.rule(scf.ForOp)
def _infer_for(op: scf.ForOp, analysis: SizeAnalysis) -> None:
    _, *carried = op.body.block.args

    def infer(changing: Changing) -> Operation:
        _enter(carried, op.iter_args, changing, analysis)
        return _visit(op.body, analysis)

    changing = _until_stable(infer, op.iter_args, analysis)
    _enter(op.results, op.iter_args, changing, analysis)


@SIZES.rule(scf.WhileOp)
def _infer_while(op: scf.WhileOp, analysis: SizeAnalysis) -> None:
    before, after = op.before_region, op.after_region

    def infer(changing: Changing) -> Operation:
        _enter(before.block.args, op.arguments, changing, analysis)
        _, *forwarded = _visit(before, analysis).operands
        _enter(after.block.args, forwarded, _found_in(before.block, forwarded, analysis), analysis)
        return _visit(after, analysis)

    _until_stable(infer, op.arguments, analysis)
    end = before.block.last_op
    assert end is not None
    _, *forwarded = end.operands
    _enter(op.results, forwarded, _found_in(before.block, forwarded, analysis), analysis)


def _until_stable(
    infer: Callable[[Changing], Operation], first: Sequence[SSAValue], analysis: SizeAnalysis
) -> Changing:
    """Infer the sizes in a loop under the assumption that only some sizes change; if more do, start again. Returns
    which."""
    changing: Changing = set()
    while True:
        before = analysis.state()
        end = infer(changing)
        more = {place for place in _changed(end, first, analysis) if place not in changing}
        if not more:
            return changing
        for i, d in more:
            value = end.operands[i]
            if not analysis.allows_late or sizes_in_type(first[i].type)[d] != DYNAMIC_INDEX:
                _refuse(end, value, "each trip", analysis.sizes(first[i]), analysis.sizes(value))
        changing |= more
        analysis.restore(before)


def _changed(end: Operation, first: Sequence[SSAValue], analysis: SizeAnalysis) -> Iterator[tuple[int, int]]:
    for i, (value, given) in enumerate(zip(end.operands, first, strict=True)):
        if isinstance(value.type, TensorType):
            pairs = zip(analysis.sizes(given), analysis.sizes(value), strict=True)
            yield from ((i, d) for d, (size, found) in enumerate(pairs) if size != found)


def _found_in(block: Block, values: Sequence[SSAValue], analysis: SizeAnalysis) -> Changing:
    """Return which sizes of tensors that leave a block are found out in it."""
    end = block.last_op
    assert end is not None
    return {
        (i, d)
        for i, value in enumerate(values)
        if isinstance(value.type, TensorType)
        for d, size in enumerate(analysis.sizes(value))
        if analysis.is_found_with(end, size)
    }


def _enter(inside: Sequence[SSAValue], outside: Sequence[SSAValue], changing: Changing, analysis: SizeAnalysis) -> None:
    """Give tensors that stand for others the sizes of these, but late ones where they change."""
    for i, (value, given) in enumerate(zip(inside, outside, strict=True)):
        if isinstance(value.type, TensorType):
            sizes = enumerate(analysis.sizes(given))
            analysis.set(value, [_name(value, d, analysis) if (i, d) in changing else size for d, size in sizes])


def _name(value: SSAValue, dimension: int, analysis: SizeAnalysis) -> Size:
    return analysis.name_late(value, dimension, f"{value.name_hint or 'size'}_d{dimension}")


def _visit(region: Region, analysis: SizeAnalysis) -> Operation:
    """Infer the sizes in a region of one block, and return its terminator."""
    analysis.visit(region.block)
    terminator = region.block.last_op
    assert terminator is not None
    return terminator


_ADVICE = "pad it to the largest size, and carry how much is used"


def _refuse(end: Operation, value: SSAValue, where: str, sizes: Sizes, found: Sizes) -> NoReturn:
    expected = f"expected {name_of(value)} to have the same sizes in {where}, {_text(sizes)}"
    fail(end, f"{expected}, found {_text(found)}; {_ADVICE}")


def _text(sizes: Sizes) -> str:
    return f"({', '.join(map(str, sizes))})"
