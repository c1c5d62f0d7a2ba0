"""Semantics of `tir`: loops run iteration by iteration, blocks with their variables bound."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import name_of, stop
from relex.dialects.tir import BlockOp, ForOp, InitOp, IterKind, LoopKind, loops_around
from relex.dialects.tir.accesses import variables_in
from relex.dialects.tir.indices import reduction_loop
from relex.reference.interpreter.budget import take
from relex.reference.interpreter.checks import MONITOR, Touches
from relex.reference.interpreter.program import STEPS, Frame, Preparation, Run, Step
from relex.reference.interpreter.scalars import INDEX, size
from relex.reference.interpreter.whole_array import whole_arrays


@STEPS.rule(ForOp)
def interpret_for(op: ForOp, preparation: Preparation) -> Run:
    """Run a loop: a nest on whole arrays where possible, except in a checked run, which records the accesses of
    parallel loops."""
    variable, extent = preparation.slot(op.variable), size(op.extent, preparation)
    steps = preparation.steps(op.body.block.ops)
    blocks = [inner for inner in op.walk() if isinstance(inner, BlockOp)]
    reductions = [_Reduction(block, op, preparation) for block in blocks if _starts_in(block, op)]
    is_watched = preparation.checked and op.kind.data is LoopKind.PARALLEL
    drivers = [reduction_loop(block) for block in blocks if block.init is not None]
    starts_inside = all(loop is not None and op.is_ancestor(loop) for loop in drivers)
    at_once = whole_arrays(op, preparation) if starts_inside and not preparation.checked else None

    def run(frame: Frame, *_: Any) -> None:
        if at_once is not None and at_once(frame):
            return
        touches = Touches(op, [op.variable])
        if is_watched:
            MONITOR.get().begin(touches)
        for reduction in reductions:
            reduction.begin(frame)
        count = extent(frame)
        take(count * len(steps))
        for i in range(count):
            touches.current = (i,)
            frame[variable] = INDEX.type(i)
            for step in steps:
                step(frame)
        for reduction in reductions:
            reduction.end(frame)
        if is_watched:
            MONITOR.get().end(touches)

    return run


@STEPS.rule(BlockOp)
def interpret_block(op: BlockOp, preparation: Preparation) -> Run:
    """Bind the block's variables, then run its init if it is due, and its body."""
    bindings = [(preparation.slot(v.variable), preparation.slot(v.binding)) for v in op.iter_vars]
    init = _init_step(op, preparation)
    steps = (init, *preparation.steps(inner for inner in op.body.block.ops if not isinstance(inner, InitOp)))

    def run(frame: Frame, *_: Any) -> None:
        take(len(steps))
        for variable, binding in bindings:
            frame[variable] = frame[binding]
        for step in steps:
            step(frame)

    return _checked_block(op, preparation, run) if preparation.checked else run


def _checked_block(op: BlockOp, preparation: Preparation, run: Run) -> Run:
    """Run a block, and stop if a variable is out of range or two spatial values access one element in conflict."""
    ranges = [(v, preparation.slot(v.binding), size(v.extent, preparation)) for v in op.iter_vars]
    spatial = [v for v in op.iter_vars if v.kind is IterKind.SPATIAL]
    places = preparation.slots(v.binding for v in spatial)
    own = preparation.state_slot(op)
    nested = [preparation.state_slot(inner) for inner in op.walk() if isinstance(inner, BlockOp) and inner is not op]

    def checked_run(frame: Frame, *_: Any) -> None:
        for v, binding, extent in ranges:
            if not 0 <= frame[binding] < extent(frame):
                stop(op, f"expected {name_of(v.variable)} in 0..{extent(frame) - 1}, found {frame[binding]}")
        for slot in nested:
            frame[slot] = None
        touches = frame[own] = frame[own] or Touches(op, [v.variable for v in spatial])
        touches.current = tuple([int(frame[slot]) for slot in places])
        MONITOR.get().begin(touches)
        run(frame)
        MONITOR.get().end(touches)

    return checked_run


def _starts_in(block: BlockOp, loop: ForOp) -> bool:
    return block.init is not None and reduction_loop(block) is loop


def _init_step(block: BlockOp, preparation: Preparation) -> Step:
    """Run the block's init when the spatial variables have values that the reduction has not met yet."""
    init = block.init
    if init is None:
        return lambda frame: None
    steps = preparation.steps(init.body.block.ops)
    if reduction_loop(block) is None:
        return _guarded_init(block, steps, preparation)
    spatial = _variables(block, IterKind.SPATIAL, preparation)
    state = preparation.state_slot(init)

    def step(frame: Frame) -> None:
        place = tuple([frame[slot] for slot in spatial])
        if place not in frame[state]:
            frame[state].add(place)
            for inner in steps:
                inner(frame)

    return step


def _guarded_init(block: BlockOp, steps: Sequence[Step], preparation: Preparation) -> Step:
    """Run the init where all reduce variables are 0, as no loop drives the reduction."""
    reduce = _variables(block, IterKind.REDUCE, preparation)

    def step(frame: Frame) -> None:
        if not any([frame[slot] for slot in reduce]):
            for inner in steps:
                inner(frame)

    return step


def _variables(block: BlockOp, kind: IterKind, preparation: Preparation) -> tuple[int, ...]:
    return preparation.slots(v.variable for v in block.iter_vars if v.kind is kind)


def _is_outside(value: int | SSAValue, loop: ForOp) -> bool:
    return isinstance(value, int) or not loop.is_ancestor(value.owner)


class _Reduction:
    """A block's reduction, from the first to the last iteration of the outermost loop that drives it."""

    def __init__(self, block: BlockOp, loop: ForOp, preparation: Preparation):
        assert block.init is not None
        self._block = block
        self._met = preparation.state_slot(block.init)
        """The slot of the spatial values that the reduction has met."""
        outside = [v.extent for v in block.iter_vars if v.kind is IterKind.REDUCE and _is_outside(v.extent, loop)]
        self._reduced = [size(extent, preparation) for extent in outside]
        spatial = [v for v in block.iter_vars if v.kind is IterKind.SPATIAL]
        scope = loop.parent_op() or loop
        inside = {inner.variable for inner in loops_around(block) if loop.is_ancestor(inner)}
        driven = [v for v in spatial if variables_in(v.binding, scope) & inside]
        self._variables = preparation.slots(v.variable for v in driven)
        self._extents = [size(v.extent, preparation) for v in driven]
        bound = [v for v in spatial if v not in driven]
        self._bindings = [
            (preparation.slot(v.variable), preparation.slot(v.binding), size(v.extent, preparation)) for v in bound
        ]
        values = [v.binding for v in bound] + [v.extent for v in spatial if isinstance(v.extent, SSAValue)]
        values += [v for op in block.init.walk() for v in op.operands if not block.is_ancestor(v.owner)]
        self._steps = preparation.steps(_needed(loop, block, values))
        self._init = preparation.steps(block.init.body.block.ops)
        self._is_possible = not any(variables_in(value, scope) & inside for value in values)

    def begin(self, frame: Frame) -> None:
        frame[self._met] = set()

    def end(self, frame: Frame) -> None:
        """Run the init for all values of the spatial variables if there was nothing to reduce."""
        if all([extent(frame) for extent in self._reduced]):
            return
        if not self._is_possible:
            stop(self._block, "expected values to reduce over, as the init depends on the loops of the reduction")
        for step in self._steps:
            step(frame)
        for variable, binding, extent in self._bindings:
            frame[variable] = frame[binding]
            if not 0 <= frame[binding] < extent(frame):
                return  # Loops may exceed the variable where the block has a guard.
        for values in product(*(map(INDEX.type, range(extent(frame))) for extent in self._extents)):
            for slot, value in zip(self._variables, values, strict=True):
                frame[slot] = value
            for step in self._init:
                step(frame)


def _needed(loop: ForOp, block: BlockOp, values: Sequence[SSAValue]) -> list[Operation]:
    """Return the ops in `loop`, but outside `block`, that values depend on."""
    found: set[Operation] = set()
    pending = list(values)
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Operation) or owner in found or not loop.is_ancestor(owner):
            continue
        if block.is_ancestor(owner):
            continue
        found.add(owner)
        pending.extend(owner.operands)
    return [op for op in loop.walk() if op in found]
