"""The patterns of graph operators: those that classes state are the patterns of the loops that operators become."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from operator_cases import CASES
from programs import Array, MakeOperator, operator_program
from test_dynamic_operators import opened
from test_dynamic_operators import program as dynamic_program
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from relex.dialects import parse_module
from relex.dialects.relex import Operator, ReluOp, UnaryElementwise, UnaryFunction
from relex.dialects.relex.elementwise import Element, Functions
from relex.dialects.relex.types import tensor_type
from relex.dialects.table import find
from relex.dialects.tir import OpPattern, PrimFuncOp
from relex.dialects.tir.op_pattern import get_op_pattern, widest
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.legalize_ops import loops_of
from relex.lowering.te import Tensor, compute
from relex.passes.analysis.op_patterns import pattern_of_function
from relex.passes.graph.fuse_ops import OperatorPatterns
from relex.reference.fuzzing.graph_functions import random_graph

NARROW = """
func.func @main(%x: tensor<3x4xbf16>, %y: tensor<4xbf16>) -> (tensor<3xbf16>, tensor<bf16>, tensor<3x4xbf16>) {
  %0 = relex.sum %x axis = [1] : (tensor<3x4xbf16>) -> tensor<3xbf16>
  %1 = relex.matmul %y, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<bf16>
  %2 = relex.sum %x axis = [] : (tensor<3x4xbf16>) -> tensor<3x4xbf16>
  func.return %0, %1, %2 : tensor<3xbf16>, tensor<bf16>, tensor<3x4xbf16>
}"""
"""Reductions whose results are rounded, which is another step."""

BATCHED = """
func.func @main(%q: tensor<2x8x1x32xf32>, %k: tensor<2x8x32x1xf32>, %c: tensor<8x32x1xf32>)
    -> (tensor<2x8x1x1xf32>, tensor<2x8x1x1xf32>, tensor<2x1x8x1x32xf32>) {
  %0 = relex.matmul %q, %k : (tensor<2x8x1x32xf32>, tensor<2x8x32x1xf32>) -> tensor<2x8x1x1xf32>
  %1 = relex.matmul %q, %c : (tensor<2x8x1x32xf32>, tensor<8x32x1xf32>) -> tensor<2x8x1x1xf32>
  %2 = relex.permute_dims %q axes = [0, 2, 1, 3] : (tensor<2x8x1x32xf32>) -> tensor<2x1x8x32xf32>
  %3 = relex.reshape %2 shape = [2, 1, 8, 1, 32] : (tensor<2x1x8x32xf32>) -> tensor<2x1x8x1x32xf32>
  func.return %0, %1, %3 : tensor<2x8x1x1xf32>, tensor<2x8x1x1xf32>, tensor<2x1x8x1x32xf32>
}"""
"""Products that use each element once, or the elements of a common operand again; copies in the same order."""

SINGLE = (
    "conv1d_packed",
    "conv2d_packed",
    "conv3d_packed",
    "conv2d_blocked_packed",
    "conv2d_blocked_pairs",
    "conv2d_blocked_shorts",
)
"""Products of words, which are reductions for windows of single elements; their classes do not tell."""


def expect_patterns_of_loops(module: ModuleOp) -> None:
    for op in (op for op in module.walk() if isinstance(op, Operator) and not any(map(_is_empty, op.operand_types))):
        legalize = find(LEGALIZATIONS, op)
        assert legalize is not None
        loops = loops_of(op, legalize)
        if loops is None:
            assert op.COUNTS
            assert op.pattern is OpPattern.OPAQUE
            continue
        inferred = get_op_pattern(loops) or pattern_of_function(loops)
        stated = op.pattern
        assert stated is not None
        if op.name.removeprefix("relex.") in SINGLE:
            assert inferred.is_at_most(stated)
        else:
            assert stated is inferred, str(op)


def _is_empty(t: Attribute) -> bool:
    return 0 in tensor_type(t).get_shape()


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_operators(make: MakeOperator, operands: list[Array]) -> None:
    expect_patterns_of_loops(parse_module(operator_program(make, operands)))
    expect_patterns_of_loops(parse_module(dynamic_program(make, opened(make, operands))))


@pytest.mark.parametrize("text", [NARROW, BATCHED])
def test_types_matter(text: str) -> None:
    expect_patterns_of_loops(parse_module(text))


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs(seed: int) -> None:
    expect_patterns_of_loops(random_graph(Random(seed)))


@irdl_op_definition
class CubeOp(UnaryFunction):
    """An operator of others that has a formula: relex makes its loops."""

    name = "others.cube"

    def formula(self, f: Functions, x: Element) -> Element:
        return x * x * x


@irdl_op_definition
class RisingOp(UnaryElementwise):
    """An operator of others that has a pattern only because its class derives from one of relex."""

    name = "others.rising"

    def evaluate(self, x: Array) -> Array:
        return np.maximum.accumulate(x, axis=-1)


@irdl_op_definition
class OddOp(UnaryElementwise, pattern=OpPattern.OPAQUE):
    """An operator of others that states its own pattern, whatever its loops."""

    name = "others.odd"

    def evaluate(self, x: Array) -> Array:
        return x


def mirrored(op: Operator, x: Tensor) -> Tensor:
    return compute(x.shape, lambda i: x[3 - i], name="mirrored")


@pytest.fixture
def others() -> Iterator[None]:
    LEGALIZATIONS.add(mirrored, RisingOp, OddOp)
    yield
    del LEGALIZATIONS[RisingOp], LEGALIZATIONS[OddOp]


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(
    ("kind", "pattern", "is_looked_at"),
    [
        (CubeOp, OpPattern.ELEMENTWISE, False),
        (RisingOp, OpPattern.INJECTIVE, True),
        (OddOp, OpPattern.OPAQUE, False),
    ],
)
def test_patterns_count_if_who_states_them_makes_the_loops(
    kind: type[UnaryElementwise], pattern: OpPattern, is_looked_at: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Operator] = []
    patterns, loops = OperatorPatterns(strict=False), OperatorPatterns.loops

    def look(self: OperatorPatterns, op: Operator) -> PrimFuncOp | None:
        looked_at.append(op)
        return loops(self, op)

    monkeypatch.setattr(OperatorPatterns, "loops", look)
    op = kind(test.TestOp(result_types=[TensorType(f32, [4])]))
    assert (patterns.pattern(op), bool(looked_at)) == (pattern, is_looked_at)


def test_patterns_do_not_count_for_loops_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    op = ReluOp(test.TestOp(result_types=[TensorType(f32, [4])]))
    assert OperatorPatterns(strict=False).pattern(op) is OpPattern.ELEMENTWISE
    with monkeypatch.context() as patch:
        patch.setitem(LEGALIZATIONS, ReluOp, mirrored)
        assert OperatorPatterns(strict=False).pattern(op) is OpPattern.INJECTIVE
    assert OperatorPatterns(strict=False).pattern(op) is OpPattern.ELEMENTWISE


def test_the_hardest_step_counts() -> None:
    assert widest([]) is OpPattern.ELEMENTWISE
    assert widest([OpPattern.BROADCAST, OpPattern.ELEMENTWISE]) is OpPattern.BROADCAST
    assert widest([OpPattern.REDUCTION, OpPattern.OPAQUE]) is OpPattern.OPAQUE
    assert OpPattern.BROADCAST.is_at_most(OpPattern.BROADCAST)
    assert not OpPattern.OPAQUE.is_at_most(OpPattern.REDUCTION)
