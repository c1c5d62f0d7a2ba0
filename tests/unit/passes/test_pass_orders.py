"""The passes on graphs compose: whatever their order, a program computes the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array
from test_random_graphs import DTYPES, OPERATORS, SHAPES, Graph
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from relex.dialects import parse_module, verify_module
from relex.dialects.relex import DataflowOp, DenseOp, MatmulOp, OutputOp
from relex.lowering import LegalizeOpsPass
from relex.passes import (
    BindParamsPass,
    FoldConstantsPass,
    FuseDenseAddPass,
    FuseEwiseFmaPass,
    RemoveUnusedPass,
    run_pass,
)
from relex.reference import interpret
from relex.runtime.library import LIBRARY

PASSES: tuple[ModulePass, ...] = (
    FuseEwiseFmaPass(),
    FuseDenseAddPass(),
    FoldConstantsPass(),
    FoldConstantsPass(limit=0, strict=True),
    RemoveUnusedPass(),
    CanonicalizePass(),
    CommonSubexpressionElimination(),
    DeadCodeElimination(),
    LegalizeOpsPass(strict=True),
)

MLP = """
func.func @main(%x: tensor<3x16xf32>, %w0: tensor<8x16xf32>, %b0: tensor<8xf32>,
                %w1: tensor<4x8xf32>, %b1: tensor<4xf32>) -> tensor<3x4xf32> {
  %scores = relex.dataflow -> tensor<3x4xf32> {
    %lv0 = relex.dense %x, %w0 : (tensor<3x16xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
    %lv1 = relex.add %lv0, %b0 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
    %lv2 = relex.relu %lv1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %lv3 = relex.dense %lv2, %w1 : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
    %gv = relex.add %lv3, %b1 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    relex.output %gv : tensor<3x4xf32>
  }
  func.return %scores : tensor<3x4xf32>
}
"""

TWO_USERS = """
func.func @main(%x: tensor<3x16xf32>, %w0: tensor<8x16xf32>, %b0: tensor<8xf32>) -> tensor<3x8xf32> {
  %0 = relex.dense %x, %w0 : (tensor<3x16xf32>, tensor<8x16xf32>) -> tensor<3x8xf32>
  %1 = relex.add %0, %b0 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %2 = relex.add %0, %b0 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %3 = relex.multiply %1, %2 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  %4 = relex.negative %b0 : (tensor<8xf32>) -> tensor<8xf32>
  %5 = relex.add %3, %4 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %6 = relex.negative %4 : (tensor<8xf32>) -> tensor<8xf32>
  %7 = relex.multiply %5, %6 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  %8 = relex.add %7, %7 : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  func.return %8 : tensor<3x8xf32>
}
"""

MIXTURE = """
func.func @main(%x: tensor<3x16xf32>, %w0: tensor<8x16xf32>, %b0: tensor<8xf32>,
                %w1: tensor<4x8xf32>, %b1: tensor<4xf32>) -> tensor<3x4xf32> {
  %out, %unused = relex.dataflow -> tensor<3x4xf32>, tensor<3x8xf32> {
    %lv0 = relex.call_tir @linear0(%x, %w0, %b0)
        : (tensor<3x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<3x8xf32>
    %lv1 = relex.call_dps_packed "env.relu"(%lv0) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %h = relex.dense %lv1, %w1 : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
    %lv2 = relex.add %h, %b1 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    relex.output %lv2, %lv1 : tensor<3x4xf32>, tensor<3x8xf32>
  }
  func.return %out : tensor<3x4xf32>
}
tir.prim_func private @linear0(%X: memref<3x16xf32>, %W: memref<8x16xf32>, %B: memref<8xf32>)
    outs(%Z: memref<3x8xf32>) {
  %Y = tir.alloc_buffer : memref<3x8xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j, %k in (3, 8, 16) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<8> = %j, %vk: reduce<16> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<3x8xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<3x8xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x16xf32>
      %w = memref.load %W[%vj, %vk] : memref<8x16xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<3x8xf32>
    }
  }
  tir.for %i, %j in (3, 8) {
    tir.block @Z (%vi: spatial<3> = %i, %vj: spatial<8> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<3x8xf32>
      %b = memref.load %B[%vj] : memref<8xf32>
      %s = arith.addf %y, %b : f32
      memref.store %s, %Z[%vi, %vj] : memref<3x8xf32>
    }
  }
}
"""

PROGRAMS = {"mlp": MLP, "two users": TWO_USERS, "mixture": MIXTURE}

_RNG = np.random.default_rng(0)
X = _RNG.integers(-3, 4, (3, 16)).astype(np.float32)
PARAMS = {
    "w0": _RNG.integers(-3, 4, (8, 16)).astype(np.float32),
    "b0": _RNG.integers(-3, 4, 8).astype(np.float32),
    "w1": _RNG.integers(-3, 4, (4, 8)).astype(np.float32),
    "b1": _RNG.integers(-3, 4, 4).astype(np.float32),
}
"""Whole numbers, so that no sum depends on its order."""


@pytest.fixture(scope="module", autouse=True)
def library() -> Iterator[None]:
    def relu(x: Array, y: Array) -> None:
        np.maximum(x, 0, out=y)

    LIBRARY["env.relu"] = relu
    yield
    del LIBRARY["env.relu"]


def after(passes: Sequence[ModulePass], module: ModuleOp) -> ModuleOp:
    for p in passes:
        module = run_pass(p, module)
        verify_module(module)
    return module


@cache
def parsed(program: str) -> tuple[ModuleOp, Array]:
    """A program, and what it computes."""
    module = parse_module(program)
    return module, interpret(module)["main"](X, **params_of(program))


def params_of(program: str) -> dict[str, Array]:
    return {name: value for name, value in PARAMS.items() if f"%{name}:" in program}


def check(program: str, order: Sequence[ModulePass], bound_after: int) -> None:
    """Run passes, and `bind-params` after `bound_after` of them if there are as many, and compare what the program
    computes."""
    (module, expected), params = parsed(program), params_of(program)
    if bound_after <= len(order):
        order = [*order[:bound_after], BindParamsPass(params=params), *order[bound_after:]]
        params = {}
    np.testing.assert_array_equal(interpret(after(order, module))["main"](X, **params), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_two(name: str) -> None:
    for i, order in enumerate(itertools.permutations(PASSES, 2)):
        check(PROGRAMS[name], order, i % 4)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(list(PROGRAMS)), st.permutations(PASSES), st.integers(0, len(PASSES) + 1))
def test_all_in_any_order(name: str, order: list[ModulePass], bound_after: int) -> None:
    check(PROGRAMS[name], order, bound_after)


@pytest.mark.parametrize("p", PASSES, ids=lambda p: p.name)
@pytest.mark.parametrize("name", PROGRAMS)
def test_once_is_enough(name: str, p: ModulePass) -> None:
    once = run_pass(p, parse_module(PROGRAMS[name]))
    assert str(run_pass(p, once)) == str(once)


def into_dataflow_block(module: ModuleOp) -> None:
    """Put all operators of @main into one dataflow block."""
    (function,) = module.ops
    body = function.regions[0].block
    *inner, last = body.ops
    block = Block()
    for op in inner:
        op.detach()
        block.add_op(op)
    block.add_op(OutputOp(*last.operands))
    dataflow = DataflowOp([value.type for value in last.operands], block)
    body.insert_op_before(dataflow, last)
    last.operands = dataflow.results


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    """Sums of floats depend on their order, so products of matrices are on integers only."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from(DTYPES))
    operators = [op for op in OPERATORS if not dtype.startswith("float") or op not in (DenseOp, MatmulOp)]
    shapes = data.draw(st.lists(SHAPES, min_size=1, max_size=2))
    graph = Graph([rng.integers(0, 2, shape).astype(dtype) for shape in shapes])
    for shape in data.draw(st.lists(SHAPES, max_size=3)):
        graph.add_constant(rng.integers(-1 if dtype != "bool" else 0, 2, shape).astype(dtype))
    for operator in data.draw(st.lists(st.sampled_from(operators), min_size=1, max_size=50)):
        # The values that came last make deeper graphs.
        if fitting := [chosen for chosen in graph.operands(operator) if max(chosen) >= len(graph.values) - 6]:
            graph.add(operator, data.draw(st.sampled_from(fitting)))
    returned = data.draw(st.lists(st.integers(0, len(graph.values) - 1), min_size=1, max_size=3))
    module = graph.module(returned)
    if data.draw(st.booleans()):
        into_dataflow_block(module)
    verify_module(module)
    expected = interpret(module)["main"](*graph.inputs)
    passes = data.draw(st.lists(st.sampled_from(PASSES), min_size=1, max_size=8))
    found = interpret(after(passes, module))["main"](*graph.inputs)
    for a, b in zip(found, expected, strict=True) if len(returned) > 1 else [(found, expected)]:
        np.testing.assert_array_equal(a, b)


def test_what_is_left_alone() -> None:
    """Passes run from Python leave the module as it was."""
    module = parse_module(MLP)
    before = str(module)
    after([*PASSES, BindParamsPass(params=PARAMS)], module)
    assert str(module) == before
    assert all(isinstance(op, Operation) for op in module.walk())
