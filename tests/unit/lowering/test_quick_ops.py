"""Frequent ops of the LLVM dialect are as their constructors make them, in a fraction of the time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from effort import count_calls
from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, IntegerAttr, f32, i1, i32, i64
from xdsl.ir import Block, Operation

from relex.lowering.llvm.quick_ops import arithmetic, branch_if, compare, element_pointer, intrinsic, load, store
from relex.lowering.llvm.types import PTR, SLT

POINTER, NUMBER, CONDITION, FLOAT = Block(arg_types=[PTR, i64, i1, f32]).args
NO_WRAP = IntegerAttr(3, i32)
THEN, ELSE = Block(arg_types=[i64, f32]), Block()
OPS: list[tuple[Callable[[], Operation], Callable[[], Operation]]] = [
    (
        lambda: element_pointer(POINTER, NUMBER, f32),
        lambda: llvm.GEPOp.from_mixed_indices(POINTER, [NUMBER], f32),
    ),
    (lambda: element_pointer(POINTER, 3, i64), lambda: llvm.GEPOp(POINTER, [3], i64)),
    (lambda: load(POINTER, f32), lambda: llvm.LoadOp(POINTER, f32)),
    (lambda: store(FLOAT, POINTER), lambda: llvm.StoreOp(FLOAT, POINTER)),
    (lambda: arithmetic(llvm.AddOp, NUMBER, NUMBER), lambda: llvm.AddOp(NUMBER, NUMBER)),
    (
        lambda: arithmetic(llvm.MulOp, NUMBER, NUMBER, NO_WRAP),
        lambda: llvm.MulOp(NUMBER, NUMBER, overflow=NO_WRAP),
    ),
    (lambda: arithmetic(llvm.SubOp, NUMBER, NUMBER), lambda: llvm.SubOp(NUMBER, NUMBER)),
    (lambda: arithmetic(llvm.SDivOp, NUMBER, NUMBER), lambda: llvm.SDivOp(NUMBER, NUMBER)),
    (lambda: arithmetic(llvm.AndOp, CONDITION, CONDITION), lambda: llvm.AndOp(CONDITION, CONDITION)),
    (lambda: compare(NUMBER, NUMBER, SLT), lambda: llvm.ICmpOp(NUMBER, NUMBER, SLT)),
    (
        lambda: branch_if(CONDITION, THEN, [NUMBER, FLOAT], ELSE, []),
        lambda: llvm.CondBrOp(CONDITION, THEN, [NUMBER, FLOAT], ELSE, []),
    ),
    (
        lambda: intrinsic("llvm.fma.f32", [FLOAT] * 3, [f32]),
        lambda: llvm.CallIntrinsicOp("llvm.fma.f32", [FLOAT] * 3, [f32]),
    ),
    (
        lambda: intrinsic("llvm.assume", [CONDITION], []),
        lambda: llvm.CallIntrinsicOp("llvm.assume", [CONDITION], []),
    ),
]


@pytest.mark.parametrize(("quick", "constructed"), OPS)
def test_ops_are_as_constructed(quick: Callable[[], Operation], constructed: Callable[[], Operation]) -> None:
    # The second one has the properties that the first one has found.
    for op in (quick(), quick()):
        other = constructed()
        assert type(op) is type(other)
        assert [*op.operands] == [*other.operands]
        assert (op.properties, op.attributes) == (other.properties, other.attributes)
        assert (op.result_types, [*op.successors]) == (other.result_types, [*other.successors])
    assert 2 * count_calls(quick) < count_calls(constructed)


def test_ops_share_no_properties() -> None:
    first, second = element_pointer(POINTER, 3, Float32Type()), element_pointer(POINTER, 3, Float32Type())
    assert isinstance(first, llvm.GEPOp)
    first.properties["elem_type"] = i64
    assert second.elem_type == f32
