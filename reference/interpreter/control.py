"""Semantics of `func`, `cf`, `scf` and memory scopes: control flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import cf, func, memref, scf
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import stop
from relex.dialects.libraries import LibraryFunction, library_function
from relex.reference.interpreter.checks import Touches
from relex.reference.interpreter.library import library_call
from relex.reference.interpreter.program import (
    BRANCHES,
    MONITOR,
    STEPS,
    Body,
    Branch,
    Frame,
    Function,
    Preparation,
    Step,
    Values,
)
from relex.reference.interpreter.scalars import dtype_of


@STEPS.rule(func.CallOp)
def interpret_call(op: func.CallOp, preparation: Preparation) -> Step:
    """Call a function of the module or a library function."""
    callee = preparation.program.resolve(op, op.callee)
    library = library_function(callee.op)
    if library is not None:
        return _library_step(op, library, preparation)
    return call_step(op, callee, op.arguments, preparation)


def _library_step(op: func.CallOp, library: LibraryFunction, preparation: Preparation) -> Step:
    operands, call = preparation.slots(op.arguments), library_call(op, library.name, preparation)
    count = len(library.inputs)

    def step(frame: Frame) -> None:
        buffers = [frame[slot] for slot in operands]
        if preparation.checked:
            for value, buffer in zip(op.arguments, buffers, strict=True):
                frame[MONITOR].uses(op, value, buffer)
        arrays = [buffer.array for buffer in buffers]
        call(arrays[:count], arrays[count:])

    return step


def call_step(op: Operation, callee: Function, arguments: Sequence[SSAValue], preparation: Preparation) -> Step:
    """Return a step that calls a function with values as they are."""
    operands, results = preparation.slots(arguments), preparation.slots(op.results)

    def step(frame: Frame) -> None:
        set_values(frame, results, callee(frame[MONITOR], *[frame[slot] for slot in operands]))

    return step


def set_values(frame: Frame, slots: Iterable[int], values: Iterable[Any]) -> None:
    """Set slots of a frame."""
    for slot, value in zip(slots, values, strict=True):
        frame[slot] = value


@BRANCHES.rule(cf.BranchOp)
def interpret_branch(op: cf.BranchOp, preparation: Preparation) -> Branch:
    """Continue in the successor."""
    target, slots = op.successor, preparation.slots(op.arguments)
    return lambda frame: (target, tuple([frame[slot] for slot in slots]))


@BRANCHES.rule(cf.ConditionalBranchOp)
def interpret_conditional_branch(op: cf.ConditionalBranchOp, preparation: Preparation) -> Branch:
    """Continue in one of two successors."""
    condition = preparation.slot(op.cond)
    targets = (
        (op.else_block, preparation.slots(op.else_arguments)),
        (op.then_block, preparation.slots(op.then_arguments)),
    )

    def branch(frame: Frame) -> tuple[Any, Values]:
        block, slots = targets[bool(frame[condition])]
        return block, tuple([frame[slot] for slot in slots])

    return branch


@BRANCHES.rule(cf.SwitchOp)
def interpret_switch(op: cf.SwitchOp, preparation: Preparation) -> Branch:
    """Continue in the successor of the matching case, or in the default one."""
    flag = preparation.slot(op.flag)
    default = (op.default_block, preparation.slots(op.default_operands))
    values = op.case_values.get_values() if op.case_values is not None else ()
    operands = [preparation.slots(values) for values in op.case_operand]
    targets = dict(zip(values, zip(op.case_blocks, operands, strict=True), strict=True))

    def branch(frame: Frame) -> tuple[Any, Values]:
        block, slots = targets.get(int(frame[flag]), default)
        return block, tuple([frame[slot] for slot in slots])

    return branch


@STEPS.rule(cf.AssertOp)
def interpret_assert(op: cf.AssertOp, preparation: Preparation) -> Step:
    """Stop the run unless the condition holds."""
    condition = preparation.slot(op.arg)

    def step(frame: Frame) -> None:
        if not frame[condition]:
            stop(op, f"failed: {op.msg.data}")

    return step


@STEPS.rule(scf.IfOp)
def interpret_if(op: scf.IfOp, preparation: Preparation) -> Step:
    """Run one of two regions."""
    condition, results = preparation.slot(op.cond), preparation.slots(op.results)
    then = preparation.body(op.true_region.block)
    otherwise = preparation.body(op.false_region.block) if op.false_region.blocks else Body((), (), ())

    def step(frame: Frame) -> None:
        set_values(frame, results, (then if frame[condition] else otherwise).run(frame))

    return step


@STEPS.rule(scf.ForOp)
def interpret_for(op: scf.ForOp, preparation: Preparation) -> Step:
    """Run the iterations, passing on the loop-carried values."""
    bounds, initial = preparation.slots((op.lb, op.ub, op.step)), preparation.slots(op.iter_args)
    body, results = preparation.body(op.body.block), preparation.slots(op.results)
    dtype = dtype_of(op, op.lb.type)

    def step(frame: Frame) -> None:
        carried: Values = tuple([frame[slot] for slot in initial])
        for i in _counts(op, dtype, *[frame[slot] for slot in bounds]):
            carried = body.run(frame, (i, *carried))
        set_values(frame, results, carried)

    return step


def _counts(op: Operation, dtype: np.dtype[Any], lower: Any, upper: Any, step: Any) -> Iterator[Any]:
    """Return the numbers from `lower` up to, but not including, `upper`."""
    if step <= 0:
        stop(op, f"expected a step of 1 or more, found {step}")
    return map(dtype.type, range(int(lower), int(upper), int(step)))


@STEPS.rule(scf.WhileOp)
def interpret_while(op: scf.WhileOp, preparation: Preparation) -> Step:
    """Run both regions in turn until the condition fails."""
    initial, results = preparation.slots(op.arguments), preparation.slots(op.results)
    before, after = preparation.body(op.before_region.block), preparation.body(op.after_region.block)

    def step(frame: Frame) -> None:
        values: Values = tuple([frame[slot] for slot in initial])
        while True:
            condition, *forwarded = before.run(frame, values)
            if not condition:
                break
            values = after.run(frame, forwarded)
        set_values(frame, results, forwarded)

    return step


@STEPS.rule(scf.IndexSwitchOp)
def interpret_index_switch(op: scf.IndexSwitchOp, preparation: Preparation) -> Step:
    """Run the region of the matching case, or the default one."""
    argument, results = preparation.slot(op.arg), preparation.slots(op.results)
    default = preparation.body(op.default_region.block)
    bodies = [preparation.body(region.block) for region in op.case_regions]
    cases = dict(zip(op.cases.get_values(), bodies, strict=True))

    def step(frame: Frame) -> None:
        set_values(frame, results, cases.get(int(frame[argument]), default).run(frame))

    return step


@STEPS.rule(scf.ExecuteRegionOp, memref.AllocaScopeOp)
def interpret_region(op: scf.ExecuteRegionOp | memref.AllocaScopeOp, preparation: Preparation) -> Step:
    """Run a region of blocks that branch to each other."""
    region, results = preparation.region(op.regions[0]), preparation.slots(op.results)
    return lambda frame: set_values(frame, results, region.run(frame))


@STEPS.rule(scf.ParallelOp)
def interpret_parallel(op: scf.ParallelOp, preparation: Preparation) -> Step:
    """Run the iterations in order; a checked run records their accesses."""
    lower, upper, steps = (preparation.slots(v) for v in (op.lowerBound, op.upperBound, op.step))
    initial, results = preparation.slots(op.initVals), preparation.slots(op.results)
    body = preparation.body(op.body.block)
    last = op.body.block.last_op
    reductions = (
        [preparation.body(region.block) for region in last.reductions] if isinstance(last, scf.ReduceOp) else []
    )
    dtype, checked = dtype_of(op, op.body.block.args[0].type), preparation.checked

    def step(frame: Frame) -> None:
        bounds = zip(*([frame[slot] for slot in slots] for slots in (lower, upper, steps)), strict=True)
        totals = [frame[slot] for slot in initial]
        touches = Touches(op, op.body.block.args)
        if checked:
            frame[MONITOR].begin(touches)
        for indices in product(*(_counts(op, dtype, *b) for b in bounds)):
            touches.current = tuple(map(int, indices))
            terms = body.run(frame, indices)
            pairs = zip(reductions, totals, terms, strict=True)
            totals = [reduction.run(frame, (total, term))[0] for reduction, total, term in pairs]
        if checked:
            frame[MONITOR].end(touches)
        set_values(frame, results, totals)

    return step
