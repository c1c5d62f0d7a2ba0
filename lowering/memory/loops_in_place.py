"""Loops that keep a carried buffer in one place: what a trip computes may replace what it has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import func, memref, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.op_edits import replace_by, terminator_of, with_types
from relex.dialects.symbols import resolve
from relex.dialects.tir import CallLoopsOp, PrimFuncOp

FindVariant = Callable[[PrimFuncOp, int, int], PrimFuncOp | None]
"""Returns the variant of a loop function with one buffer for an input and an output; None if there is none."""


def loops_in_place(function: func.FuncOp, variant_of: FindVariant) -> None:
    """Let loops that alternate between two buffers use the first alone, wherever a trip is done with what the one
    before computed when it begins to write: where its last reader is the call that writes, that call works in place."""
    for loop in [op for op in function.walk(region_first=True) if isinstance(op, scf.ForOp | scf.WhileOp)]:
        for number in reversed(range(len(_arguments(loop)))):
            pair = _pair(loop, number)
            if pair is not None and (edit := _edit(pair, variant_of)) is not None:
                edit()
                _merge(loop, pair)


class _Places(NamedTuple):
    """Two buffers in a block that a trip runs."""

    block: Block
    first: BlockArgument
    second: BlockArgument


@dataclass(frozen=True)
class _Pair:
    """A buffer that a loop carries, and the one that it changes places with: in each block that a trip runs."""

    number: int
    """The number of the first among what the loop carries; the second has the next one."""
    places: Sequence[_Places]
    gives_first: bool
    """Whether an `scf.while` gives the first one, which its test must leave as it is."""


def _arguments(loop: scf.ForOp | scf.WhileOp) -> Sequence[SSAValue]:
    return loop.iter_args if isinstance(loop, scf.ForOp) else loop.arguments


def _pair(loop: scf.ForOp | scf.WhileOp, number: int) -> _Pair | None:
    """Return the buffers that change places, of which the first has this number; None if they do not."""
    if number + 1 >= len(_arguments(loop)) or not _are_own(_arguments(loop)[number : number + 2], loop):
        return None
    gives_first = False
    if isinstance(loop, scf.ForOp):
        _, *arguments = loop.body.block.args
        places = [_Places(loop.body.block, arguments[number], arguments[number + 1])]
        end = loop.body.block.last_op
        second = loop.results[number + 1]
    else:
        before, after = loop.before_region.block, loop.after_region.block
        passed = [*terminator_of(before).operands[1:]]
        own = before.args[number : number + 2]
        if any(passed.count(argument) != 1 for argument in own):
            return None
        positions = [passed.index(argument) for argument in own]
        places = [_Places(before, *own), _Places(after, *(after.args[i] for i in positions))]
        end, second = after.last_op, loop.results[positions[1]]
        gives_first = bool(loop.results[positions[0]].uses)
        if gives_first and second.uses:
            return None
    _, first_inside, second_inside = places[-1]
    assert end is not None
    exchanged = tuple(end.operands[number : number + 2]) == (second_inside, first_inside)
    once = all([*end.operands].count(value) == 1 for value in (first_inside, second_inside))
    if not exchanged or not once or (isinstance(loop, scf.ForOp) and second.uses):
        return None
    return _Pair(number, places, gives_first)


def _are_own(buffers: Sequence[SSAValue], loop: Operation) -> bool:
    """Return whether only a loop uses two buffers, apart from what comes before it for the first one."""
    block = loop.parent
    if any([*loop.operands].count(buffer) != 1 for buffer in buffers):
        return False
    for buffer in buffers:
        if not isinstance(buffer.owner, memref.AllocOp) or buffer.owner.parent is not block or block is None:
            return False
        for user in (use.operation for use in buffer.uses if not isinstance(use.operation, memref.DeallocOp)):
            if user is loop:
                continue
            at = block.find_ancestor_op_in_block(user)
            if (
                buffer is not buffers[0]
                or at is None
                or not isinstance(user, _ACCESS)
                or not at.is_before_in_block(loop)
            ):
                return False
    return True


def _edit(pair: _Pair, variant_of: FindVariant) -> Callable[[], None] | None:
    """Return what makes a trip work in one buffer, before both become one; None if it cannot."""
    order = {op: (i, j) for i, (block, _, _) in enumerate(pair.places) for j, op in enumerate(block.ops)}
    read: list[tuple[int, int]] = []
    written: list[tuple[int, int]] = []
    for block, first, second in pair.places:
        for found, value in ((read, first), (written, second)):
            statements = _statements(value, block)
            if statements is None:
                return None
            found += [order[op] for op in statements]
    if not written or (pair.gives_first and min(written)[0] == 0):
        return None
    if max(read, default=(-1, 0)) < min(written):
        return lambda: None
    writer = next(op for op, place in order.items() if place == min(written))
    _, first, second = pair.places[min(written)[0]]
    if max(read) == min(written) and isinstance(writer, memref.CopyOp):
        is_whole = writer.source is first and writer.destination is second
        return (lambda: Rewriter.erase_op(writer)) if is_whole else None
    if max(read) > min(written) or not isinstance(writer, CallLoopsOp):
        return None
    arguments = [*writer.arguments]
    # The call may take a view of either besides, which the same loops read or write.
    is_once = read.count(min(written)) == written.count(min(written)) == 1
    if not is_once or first not in arguments or second not in arguments:
        return None
    callee = resolve(writer, writer.callee, PrimFuncOp)
    source, target = arguments.index(first), arguments.index(second)
    if source >= callee.num_inputs or target < callee.num_inputs:
        return None
    variant = variant_of(callee, source, target)
    if variant is None:
        return None

    def work_in_place() -> None:
        kept = [value for i, value in enumerate(arguments) if i != source]
        replace_by(writer, CallLoopsOp(variant.sym_name.data, kept))

    return work_in_place


_ACCESS = (CallLoopsOp, func.CallOp, memref.CopyOp, memref.DimOp, memref.LoadOp, memref.StoreOp)
"""Ops that use buffers, and do not keep them."""

_VIEWS = (memref.CastOp, memref.CollapseShapeOp, memref.ExpandShapeOp, memref.SubviewOp)


def _statements(value: SSAValue, block: Block) -> list[Operation] | None:
    """Return the ops of a block, but for its terminator, that use a buffer, themselves or in their regions; None if a
    use may refer to it in a way that is not understood."""
    found: list[Operation] = []
    for use in value.uses:
        op = block.find_ancestor_op_in_block(use.operation)
        if op is None:
            return None
        if isinstance(use.operation, memref.DimOp) or (op is block.last_op and use.operation is op):
            continue
        if isinstance(use.operation, _VIEWS):
            inner = _statements(use.operation.results[0], block)
            if inner is None:
                return None
            found += inner
        elif isinstance(use.operation, _ACCESS):
            found.append(op)
        else:
            return None
    return found


def _merge(loop: scf.ForOp | scf.WhileOp, pair: _Pair) -> None:
    """Replace the two buffers of a loop by the first, which needs not be carried any more."""
    buffer, unused = _arguments(loop)[pair.number : pair.number + 2]
    carried = [value for _, first, second in pair.places for value in (first, second)]
    for region in loop.regions:
        end = terminator_of(region.block)
        if isinstance(end, scf.ConditionOp):
            positions = [i for i, value in enumerate(end.operands) if value in carried]
        else:
            positions = [pair.number, pair.number + 1]
        end.operands = [value for i, value in enumerate(end.operands) if i not in positions]
    if isinstance(loop, scf.ForOp):
        gone = [pair.number, pair.number + 1]
    else:
        _, first, second = pair.places[1]
        gone = [first.index, second.index]
    for value in carried:
        value.replace_all_uses_with(buffer)
        value.block.erase_arg(value)
    shift = len(loop.operands) - len(_arguments(loop))
    operands = [value for i, value in enumerate(loop.operands) if i - shift not in (pair.number, pair.number + 1)]
    new = with_types(loop, operands, [result.type for i, result in enumerate(loop.results) if i not in gone])
    given = iter(new.results)
    Rewriter.replace_op(loop, new, [buffer if i in gone else next(given) for i in range(len(loop.results))])
    for use in [*unused.uses]:
        Rewriter.erase_op(use.operation)
    assert isinstance(unused.owner, Operation)
    Rewriter.erase_op(unused.owner)
