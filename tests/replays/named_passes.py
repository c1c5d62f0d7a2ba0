"""The pass of relex that does what another compiler got wrong: with a mistake in it, `--check-each` names it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from replays import Replay
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms import get_all_passes
from xdsl.utils.hints import isa

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex import ConstantOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.target.machine import Target
from relex.dialects.target.target_attribute import set_target
from relex.dialects.tir import PrimFuncOp
from relex.lowering import PASSES as LOWERING_PASSES
from relex.lowering.relex_pipeline import pipeline
from relex.passes import PASSES, run_pass
from relex.reference import check_pass
from relex.reference.equivalence.differences import NotEquivalentError
from relex.tools.options.pipelines import find_pass, instantiate, parse_passes

ALL_PASSES = {**get_all_passes(), **PASSES, **LOWERING_PASSES}

COMPUTE_NOTHING = ("set-target", "fuse-ops", "annotate-op-pattern", "annotate-fast-math", "annotate-signatures")
"""Passes that only group operators, or state what is known of functions."""

TARGET = Target("x86_64-unknown-linux-gnu", "haswell")
"""What programs are compiled for: passes do the same on every machine."""

WRONG = 77
"""What a pass with a mistake computes in place of a result."""


def own_passes(replay: Replay) -> list[ModulePass]:
    """Return the passes that a program is to be unchanged by."""
    specs = parse_passes(replay.fields["passes"]) if "passes" in replay.fields else []
    return [instantiate("pass", find_pass(spec.name, ALL_PASSES), spec) for spec in specs]


def _passes(replay: Replay) -> Iterator[ModulePass]:
    """The passes of a program, then the passes of the compilation, down to the core level."""
    yield from own_passes(replay)
    for level, group in pipeline():
        if level != "llvm":
            yield from group


def named_pass(replay: Replay) -> tuple[ModulePass, ModuleOp]:
    """Return the first pass that computes a program in another way, and the program before it."""
    before = replay.module
    set_target(before, TARGET)
    for p in _passes(replay):
        after = run_pass(p, before)
        if p.name not in COMPUTE_NOTHING and str(after) != str(before):
            return p, before
        before = after
    raise ValueError(f"no pass rewrites {replay.reports}")


@dataclass(frozen=True)
class MistakenPass(ModulePass):
    """A pass after which one result of a function is another one."""

    name = "mistaken"

    right: ModulePass
    function: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.right.apply(ctx, op)
        for function in op.ops:
            if isinstance(function, func.FuncOp | PrimFuncOp) and function.sym_name.data == self.function:
                if isinstance(function, func.FuncOp) and function.function_type.outputs:
                    _return_wrong(function)
                else:
                    _store_wrong(function)


def _return_wrong(function: func.FuncOp) -> None:
    end = function.body.block.last_op
    assert isinstance(end, func.ReturnOp)
    kind = tensor_type(end.operands[0].type)
    wrong = ConstantOp(np.full(kind.get_shape(), WRONG).astype(numpy_dtype(kind.element_type)))
    Rewriter.insert_op(wrong, InsertPoint.before(end))
    end.operands[0] = wrong.result


def _store_wrong(function: PrimFuncOp | func.FuncOp) -> None:
    *_, store = [op for op in function.walk() if isinstance(op, memref.StoreOp)]
    wrong = arith.ConstantOp(_number(store.value.type))
    Rewriter.insert_op(wrong, InsertPoint.before(store))
    store.operands[0] = wrong.result


def _number(kind: Attribute) -> FloatAttr | IntegerAttr:
    if isa(kind, AnyFloat):
        return FloatAttr(WRONG, kind)
    assert isa(kind, IntegerType)
    return IntegerAttr(WRONG if kind.width.data > 1 else 1, kind)


def is_named(replay: Replay) -> bool:
    """Return whether the check names the pass if a mistake is in it, and lets the pass itself alone."""
    right, module = named_pass(replay)
    check_pass(right, module, samples=1)
    try:
        check_pass(MistakenPass(right, replay.name), module, samples=1)
    except NotEquivalentError as e:
        return f"pass '{MistakenPass.name}'" in str(e)
    return False
