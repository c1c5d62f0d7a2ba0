"""Checks of the loops of graph functions: that their steps let them end, and that nobody has stopped them."""

from __future__ import annotations

from xdsl.dialects import arith, cf, func, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i1,
)
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail
from relex.dialects.op_edits import insert_before, terminator_of
from relex.dialects.symbols import symbol_of
from relex.dialects.target.machine import GOES_ON, STOPPED
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk
from relex.passes.graph.simplify_regions import is_on_tensors


def check_loops(module: ModuleOp) -> None:
    """Let the loops of graph functions ask after each trip whether they go on, and refuse steps below 1."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and is_on_tensors(op)]
    loops = [op for function in functions for op in walk(function) if isinstance(op, scf.ForOp | scf.WhileOp)]
    for loop in loops:
        if isinstance(loop, scf.ForOp):
            _check_step(loop)
        goes_on = func.CallOp(GOES_ON, [], [i1])
        check = cf.AssertOp(goes_on.results[0], StringAttr(STOPPED))
        goes_on.location = check.location = loop.location
        Rewriter.insert_op([goes_on, check], InsertPoint.before(terminator_of(loop.regions[-1].block)))
    if loops:
        if (other := next((op for op in module.ops if symbol_of(op) == GOES_ON), None)) is not None:
            fail(other, f"expected no function named '{GOES_ON}' beside loops, which call another one of that name")
        module.body.block.add_op(_yes())


def _check_step(loop: scf.ForOp) -> None:
    step, kind = loop.step.owner, loop.step.type
    assert isa(kind, IndexType | IntegerType)
    if isinstance(step, arith.ConstantOp) and isa(step.value, IntegerAttr) and step.value.value.data > 0:
        return
    zero = arith.ConstantOp(IntegerAttr(0, kind))
    holds = arith.CmpiOp(loop.step, zero, "sgt")
    insert_before(loop, zero, holds, cf.AssertOp(holds.result, StringAttr("expected a step of 1 or more")))


def _yes() -> Operation:
    """Return the function that answers yes."""
    true = arith.ConstantOp(IntegerAttr(1, i1))
    body = Region(Block([true, func.ReturnOp(true.result)]))
    return func.FuncOp(GOES_ON, FunctionType.from_lists([], [i1]), body, visibility="private")
