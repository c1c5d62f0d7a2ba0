"""The steps of a trip by which a buffer that a loop carries grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from relex.dialects.op_edits import terminator_of
from relex.dialects.upstream.hints import isa
from relex.lowering.support.destinations import MOVED_ATTR
from relex.lowering.support.row_rules import KEPT_ATTR

Loop = scf.ForOp | scf.WhileOp

VIEWS = (memref.CastOp, memref.CollapseShapeOp, memref.ExpandShapeOp, memref.SubviewOp)


def carried_by(loop: Loop) -> Sequence[SSAValue]:
    """Return what a loop carries into its first trip."""
    return loop.iter_args if isinstance(loop, scf.ForOp) else loop.arguments


@dataclass(frozen=True)
class AppendStep:
    """A buffer that takes the place of the one before: at an allocation that rows are copied into, of which those
    before stay where they are if it `appends`, or by a branch, with the steps in each of its regions."""

    value: SSAValue
    at: Operation
    copy: memref.CopyOp | None = None
    appends: bool = False
    branches: Sequence[Sequence[AppendStep]] = ()

    @property
    def may_move(self) -> bool:
        """Whether rows may be elsewhere after this step."""
        return self.appends or any(step.may_move for steps in self.branches for step in steps)


@dataclass(frozen=True)
class TripPart:
    """What a trip does with a carried buffer in one of the blocks that it runs."""

    start: BlockArgument
    steps: Sequence[AppendStep]
    end: Operation
    place: int
    """The operand of the end that passes it on."""


def growth_of(loop: Loop, number: int) -> Sequence[TripPart] | None:
    """Return what a trip does with a carried buffer that it appends to; None if it does something else with it."""
    first = carried_by(loop)[number]
    if not isinstance(first.owner, memref.AllocOp) or MOVED_ATTR not in first.owner.attributes:
        return None
    if not isa(first.type, MemRefType) or not isinstance(first.type.layout, NoneAttr):
        return None
    parts = _parts(loop, number)
    if parts is None or not any(step.may_move for part in parts for step in part.steps):
        return None
    return parts if all(_is_in_order(part.start.block, part.steps) and not _is_given(part) for part in parts) else None


def _is_given(part: TripPart) -> bool:
    """Return whether the end of a trip passes the memory that a buffer was in to another one."""
    others = [*part.end.operands[: part.place], *part.end.operands[part.place + 1 :]]
    return any(value in others for value in (part.start, *(step.value for step in part.steps)))


def _parts(loop: Loop, number: int) -> Sequence[TripPart] | None:
    if isinstance(loop, scf.ForOp):
        body = loop.body.block
        start, end = body.args[number + 1], terminator_of(body)
        steps = _steps_from(start, end.operands[number])
        return None if steps is None else [TripPart(start, steps, end, number)]
    before, after = loop.before_region.block, loop.after_region.block
    test, end = terminator_of(before), terminator_of(after)
    for place, passed in enumerate(test.operands[1:], 1):
        taken = after.args[place - 1]
        first = _steps_from(before.args[number], passed)
        second = _steps_from(taken, end.operands[number])
        if first is not None and second is not None:
            return [TripPart(before.args[number], first, test, place), TripPart(taken, second, end, number)]
    return None


def _steps_from(start: BlockArgument, last: SSAValue) -> Sequence[AppendStep] | None:
    """Return the steps from the argument of a block to another buffer in it; None if there is another way to it."""
    found = _steps(last, start.block)
    return found[1] if found is not None and found[0] is start else None


def _steps(last: SSAValue, block: Block) -> tuple[SSAValue, Sequence[AppendStep]] | None:
    """Return the buffer from outside of a block, or its argument, that one in it begins with, and the steps between
    them; None if something else is on the way."""
    steps: list[AppendStep] = []
    value = last
    while isinstance(owner := value.owner, Operation) and owner.parent is block:
        if isinstance(owner, memref.CastOp):
            value = owner.source
            continue
        found = _branch(owner, value) if isinstance(owner, scf.IfOp | scf.IndexSwitchOp) else _copied(owner)
        if found is None:
            return None
        step, value = found
        steps.insert(0, step)
    return (value, steps) if last.type == (steps[-1].value if steps else value).type else None


def _copied(alloc: Operation) -> tuple[AppendStep, SSAValue] | None:
    """Return the buffer whose rows are copied to an allocation, of which others may be behind."""
    if not isinstance(alloc, memref.AllocOp):
        return None
    writes = [*_copies_to(alloc.memref)]
    kept = [copy for copy in writes if KEPT_ATTR in copy.attributes]
    if not kept and len(writes) != 1:
        return None  # Parts of it are written besides.
    copy = (kept or writes)[0]
    is_whole = bool(kept) or copy.destination is alloc.memref
    if not is_whole or copy.parent is not alloc.parent:
        return None
    return AppendStep(alloc.memref, alloc, copy, bool(kept)), _origin(copy.source)


def _copies_to(buffer: SSAValue) -> Iterator[memref.CopyOp]:
    """Yield the copies to a buffer or a part of it."""
    for op in [use.operation for use in buffer.uses]:
        if isinstance(op, memref.CopyOp) and op.destination is buffer:
            yield op
        elif isinstance(op, VIEWS):
            yield from _copies_to(op.results[0])


def _origin(source: SSAValue) -> SSAValue:
    """Return the buffer whose elements are in one dimension, or that itself."""
    return source.owner.operands[0] if isinstance(source.owner, memref.CollapseShapeOp) else source


def _branch(op: scf.IfOp | scf.IndexSwitchOp, result: SSAValue) -> tuple[AppendStep, SSAValue] | None:
    """Return the buffer that all regions of a branch begin with."""
    assert isinstance(result, OpResult)
    found = [_steps(terminator_of(region.block).operands[result.index], region.block) for region in op.regions]
    ways = [way for way in found if way is not None]
    if len(ways) < len(found) or len({origin for origin, _ in ways}) != 1:
        return None
    return AppendStep(result, op, branches=[steps for _, steps in ways]), ways[0][0]


def _is_in_order(block: Block, steps: Sequence[AppendStep]) -> bool:
    """Return whether steps come one after the other."""
    ops = [step.at for step in steps]
    inner = [
        (region.block, part) for step in steps for region, part in zip(step.at.regions, step.branches, strict=True)
    ]
    return all(a.is_before_in_block(b) for a, b in pairwise(ops)) and all(_is_in_order(*pair) for pair in inner)
