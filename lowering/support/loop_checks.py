"""Checks of the loops of graph functions: that their steps let them end, and that nobody has stopped them."""

from __future__ import annotations

from xdsl.builder import Builder
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
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail
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
        end = loop.regions[-1].block.last_op
        assert end is not None
        builder = Builder(InsertPoint.before(end))
        goes_on = builder.insert(func.CallOp(GOES_ON, [], [i1]))
        check = builder.insert(cf.AssertOp(goes_on.results[0], StringAttr(STOPPED)))
        goes_on.location = check.location = loop.location
    if loops:
        if (other := next((op for op in module.ops if symbol_of(op) == GOES_ON), None)) is not None:
            fail(other, f"expected no function named '{GOES_ON}' beside loops, which call another one of that name")
        module.body.block.add_op(_yes())


def _check_step(loop: scf.ForOp) -> None:
    step, kind = loop.step.owner, loop.step.type
    assert isa(kind, IndexType | IntegerType)
    if isinstance(step, arith.ConstantOp) and isa(step.value, IntegerAttr) and step.value.value.data > 0:
        return
    builder = Builder(InsertPoint.before(loop))
    zero = builder.insert(arith.ConstantOp(IntegerAttr(0, kind)))
    holds = builder.insert(arith.CmpiOp(loop.step, zero, "sgt"))
    check = builder.insert(cf.AssertOp(holds.result, StringAttr("expected a step of 1 or more")))
    for op in (zero, holds, check):
        op.location = loop.location


def _yes() -> Operation:
    """Return the function that answers yes."""
    true = arith.ConstantOp(IntegerAttr(1, i1))
    body = Region(Block([true, func.ReturnOp(true.result)]))
    return func.FuncOp(GOES_ON, FunctionType.from_lists([], [i1]), body, visibility="private")
