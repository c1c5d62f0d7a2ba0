"""Semantics of `func`, `cf`, `scf` and memory scopes: control flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import cf, func, memref, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation

from relex.dialects import relex, tir
from relex.dialects.errors import fail_assertion, fail_sizes, stop
from relex.dialects.failures import failure_of, notes_index
from relex.dialects.libraries import LibraryFunction, library_function
from relex.dialects.sizes.attributes import has_unknown
from relex.dialects.upstream.hints import isa
from relex.reference.interpreter.budget import take
from relex.reference.interpreter.checks import MONITOR, Touches
from relex.reference.interpreter.library import library_call
from relex.reference.interpreter.memory import Buffer
from relex.reference.interpreter.program import STEPS, Binary, BlockSteps, Frame, Preparation, Run, Values
from relex.reference.interpreter.scalars import dtype_of


@STEPS.rule(func.CallOp, relex.CallOp, tir.CallLoopsOp)
def interpret_call(op: func.CallOp | relex.CallOp | tir.CallLoopsOp, preparation: Preparation) -> Run:
    """Call a function of the module or a library function."""
    if notes_index(op):
        return _note_index
    callee = preparation.program.resolve(op, op.callee)
    library = library_function(callee.op)
    return callee if library is None else _library_function(op, library, preparation)


def _library_function(op: Operation, library: LibraryFunction, preparation: Preparation) -> Run:
    call, count = library_call(op, library.name, preparation), len(library.inputs)
    dtypes = [dtype_of(op, t.element_type) for t in (*library.inputs, *library.outputs)]

    def run(*buffers: Buffer) -> None:
        if preparation.checked:
            for value, buffer in zip(op.operands, buffers, strict=True):
                MONITOR.get().uses(op, value, buffer)
        arrays = [
            buffer.array.view(dtype) if dtype.kind == "u" and not buffer.array.dtype.names else buffer.array
            for buffer, dtype in zip(buffers, dtypes, strict=True)
        ]
        call(arrays[:count], arrays[count:])

    return run


@STEPS.rule(cf.BranchOp)
def interpret_branch(op: cf.BranchOp, preparation: Preparation) -> Run:
    """Continue in the successor."""

    def run(*arguments: Any) -> tuple[Block, Values]:
        return op.successor, arguments

    return run


@STEPS.rule(cf.ConditionalBranchOp)
def interpret_conditional_branch(op: cf.ConditionalBranchOp, preparation: Preparation) -> Run:
    """Continue in one of two successors."""
    count, then, otherwise = len(op.then_arguments), op.then_block, op.else_block

    def run(condition: Any, *arguments: Any) -> tuple[Block, Values]:
        return (then, arguments[:count]) if condition else (otherwise, arguments[count:])

    return run


@STEPS.rule(cf.SwitchOp)
def interpret_switch(op: cf.SwitchOp, preparation: Preparation) -> Run:
    """Continue in the successor of the matching case, or in the default one."""
    ends = np.cumsum([0, len(op.default_operands), *(len(operands) for operands in op.case_operand)])
    blocks = zip((op.default_block, *op.case_blocks), ends[:-1], ends[1:], strict=True)
    default, *others = [(block, slice(int(start), int(end))) for block, start, end in blocks]
    values = op.case_values.get_values() if op.case_values is not None else ()
    cases = dict(zip(values, others, strict=True))

    def run(flag: Any, *arguments: Any) -> tuple[Block, Values]:
        block, own = cases.get(int(flag), default)
        return block, arguments[own]

    return run


_FOUND: ContextVar[Any] = ContextVar("index of the next assertion")


def _note_index(index: Any) -> None:
    _FOUND.set(index)


@STEPS.rule(cf.AssertOp)
def interpret_assert(op: cf.AssertOp, preparation: Preparation) -> Run:
    """Stop the run unless the condition holds."""
    failure = failure_of(op)

    def run(condition: Any) -> None:
        if condition:
            return
        if failure.is_of_sizes:
            fail_sizes(op, failure.message, int(_FOUND.get()))
        fail_assertion(op, failure.message, int(_FOUND.get()) if failure.names_index else None)

    return run


@STEPS.rule(scf.IfOp)
def interpret_if(op: scf.IfOp, preparation: Preparation) -> Binary:
    """Run one of two regions."""
    then = preparation.body(op.true_region.block)
    otherwise = preparation.body(op.false_region.block) if op.false_region.blocks else BlockSteps((), (), ())
    return lambda frame, condition: (then if condition else otherwise).run(frame)


@STEPS.rule(scf.ForOp)
def interpret_for(op: scf.ForOp, preparation: Preparation) -> Run:
    """Run the iterations, passing on the loop-carried values."""
    body, dtype = preparation.body(op.body.block), dtype_of(op, op.lb.type)
    changing = _may_change(op.result_types)

    def run(frame: Frame, lower: Any, upper: Any, step: Any, *carried: Any) -> Values:
        for i in _counts(op, dtype, lower, upper, step):
            before, carried = carried, body.run(frame, (i, *carried))
            for k in changing:
                _take_if_changed(before[k], carried[k])
        return carried

    return run


def _counts(op: Operation, dtype: np.dtype[Any], lower: Any, upper: Any, step: Any) -> Iterator[Any]:
    """Return the numbers from `lower` up to, but not including, `upper`."""
    if step <= 0:
        stop(op, f"expected a step of 1 or more, found {step}")
    return map(dtype.type, range(int(lower), int(upper), int(step)))


@STEPS.rule(scf.WhileOp)
def interpret_while(op: scf.WhileOp, preparation: Preparation) -> Run:
    """Run both regions in turn until the condition fails."""
    before, after = preparation.body(op.before_region.block), preparation.body(op.after_region.block)
    changing = _may_change(op.operand_types)

    def run(frame: Frame, *values: Any) -> Values:
        while True:
            condition, *forwarded = before.run(frame, values)
            if not condition:
                return tuple(forwarded)
            last, values = values, after.run(frame, forwarded)
            for k in changing:
                _take_if_changed(last[k], values[k])

    return run


def _may_change(types: Sequence[Attribute]) -> list[int]:
    """Return which of the values that a loop carries may have another shape after a trip."""
    return [k for k, t in enumerate(types) if isa(t, TensorType) and has_unknown(t)]


def _take_if_changed(before: Any, after: Any) -> None:
    """Count a step for each element of a tensor whose shape a trip has changed: sizes may double from trip to trip, and
    a limited run ends before its memory does."""
    if np.shape(before) != (shape := np.shape(after)):
        take(prod(shape))


@STEPS.rule(scf.IndexSwitchOp)
def interpret_index_switch(op: scf.IndexSwitchOp, preparation: Preparation) -> Binary:
    """Run the region of the matching case, or the default one."""
    default = preparation.body(op.default_region.block)
    bodies = [preparation.body(region.block) for region in op.case_regions]
    cases = dict(zip(op.cases.get_values(), bodies, strict=True))
    return lambda frame, argument: cases.get(int(argument), default).run(frame)


@STEPS.rule(scf.ExecuteRegionOp, memref.AllocaScopeOp, relex.DataflowOp)
def interpret_region(
    op: scf.ExecuteRegionOp | memref.AllocaScopeOp | relex.DataflowOp, preparation: Preparation
) -> Run:
    """Run a region of blocks that branch to each other."""
    return preparation.region(op.regions[0]).run


@STEPS.rule(scf.ParallelOp)
def interpret_parallel(op: scf.ParallelOp, preparation: Preparation) -> Run:
    """Run the iterations in order; a checked run records their accesses."""
    rank, body, last = len(op.lowerBound), preparation.body(op.body.block), op.body.block.last_op
    regions = last.reductions if isinstance(last, scf.ReduceOp) else ()
    reductions = [preparation.body(region.block) for region in regions]
    dtype, checked = dtype_of(op, op.body.block.args[0].type), preparation.checked

    def run(frame: Frame, *values: Any) -> Values:
        bounds = zip(values[:rank], values[rank : 2 * rank], values[2 * rank : 3 * rank], strict=True)
        totals, touches = values[3 * rank :], Touches(op, op.body.block.args)
        if checked:
            MONITOR.get().begin(touches)
        for indices in product(*(_counts(op, dtype, *b) for b in bounds)):
            touches.current = tuple(map(int, indices))
            triples = zip(reductions, totals, body.run(frame, indices), strict=True)
            totals = tuple([reduction.run(frame, (total, term))[0] for reduction, total, term in triples])
        if checked:
            MONITOR.get().end(touches)
        return totals

    return run
