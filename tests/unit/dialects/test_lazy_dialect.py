"""Dialects whose ops are imported one by one."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import UnregisteredConstructException

from relex.dialects.context import LazyContext, make_context
from relex.dialects.relex import AddOp, DataflowOp, DenseOp, Relex

RELEX_OPS = list(Relex.operations)


@pytest.mark.parametrize("op", RELEX_OPS, ids=lambda op: op.name)
def test_an_op_is_found_by_its_name(op: type[Operation]):
    """`relex.max_pool2d` is `MaxPool2dOp`."""
    assert Relex.find(op.name) is op


@pytest.mark.parametrize("name", ["relex.nonsense", "relex.Add", "relex._add", "tir.add", "add", "relex", "relex."])
def test_other_names_are_of_no_op(name: str):
    assert Relex.find(name) is None


def loaded(context: Context) -> set[str]:
    return {op.name for op in context.loaded_ops if op.name.startswith("relex.")}


def test_a_context_loads_the_ops_that_are_asked_for():
    context = make_context()
    assert context.get_op("relex.add") is context.get_op("relex.add") is AddOp
    assert loaded(context) == {"relex.add"}
    assert context.get_op("dense", dialect_stack=["func", "relex"]) is DenseOp
    assert loaded(context) == {"relex.add", "relex.dense"}


def test_the_innermost_dialect_comes_first():
    context = make_context()
    assert context.get_op("return", dialect_stack=["relex", "func"]) is ReturnOp
    assert context.get_op("add", dialect_stack=["arith", "relex"]) is AddOp


def test_all_ops_are_loaded_after_some():
    """A name that no op has is looked for among all of them."""
    context = make_context()
    context.get_op("relex.dataflow")
    with pytest.raises(UnregisteredConstructException, match="nonsense"):
        context.get_op("relex.nonsense")
    assert loaded(context) == {op.name for op in RELEX_OPS}
    assert context.get_op("relex.dataflow") is DataflowOp


def test_copies_of_a_context_go_their_own_ways():
    context = make_context()
    context.get_op("relex.add")
    copy = context.clone()
    assert isinstance(copy, LazyContext)
    copy.get_op("relex.dense")
    assert (loaded(context), loaded(copy)) == ({"relex.add"}, {"relex.add", "relex.dense"})


def test_contexts_of_xdsl_load_the_whole_dialect():
    context = Context()
    context.register_dialect("relex", lambda: Relex)
    assert context.get_op("relex.add") is AddOp
    assert loaded(context) == {op.name for op in RELEX_OPS}
