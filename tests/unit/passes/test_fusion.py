"""Random graphs keep what they compute through every step of fusion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import Array, MakeOperator, random_array
from test_random_graphs import Graph
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import parse_module
from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AddOp,
    ArgmaxOp,
    BroadcastToOp,
    ConcatOp,
    DenseOp,
    DivideOp,
    EwiseFMAOp,
    ExpOp,
    LayerNormOp,
    MatmulOp,
    MaximumOp,
    MaxOp,
    MeanOp,
    MultiplyOp,
    NegativeOp,
    PadOp,
    PermuteDimsOp,
    ReluOp,
    ReshapeOp,
    SoftmaxOp,
    StridedSliceOp,
    SubtractOp,
    SumOp,
)
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.verifier import verify_module
from relex.lowering import LegalizeOpsPass
from relex.passes import (
    AnnotateOpPatternPass,
    CompactBuffersPass,
    FuseOpsPass,
    FuseTirPass,
    InlineBlocksPass,
    MergeLoopsPass,
    RelexPass,
)
from relex.reference import interpret
from relex.runtime import build

DIGITS = Path(__file__).parents[3] / "examples" / "digits"

STEPS: tuple[RelexPass, ...] = (
    AnnotateOpPatternPass(),
    FuseOpsPass(),
    FuseTirPass(),
    InlineBlocksPass(),
    MergeLoopsPass(),
    CompactBuffersPass(),
)

MAKERS: list[tuple[MakeOperator, int]] = [
    *((operator, 2) for operator in (AddOp, DivideOp, MaximumOp, MultiplyOp, SubtractOp) * 2),
    *((operator, 1) for operator in (ExpOp, NegativeOp, ReluOp) * 2),
    (EwiseFMAOp, 3),
    (DenseOp, 2),
    (MatmulOp, 2),
    (SoftmaxOp, 1),
    (partial(LayerNormOp, axes=[-1], epsilon=1e-5), 3),
    *((partial(operator, axis=-1, keepdims=True), 1) for operator in (ArgmaxOp, MaxOp, MeanOp, SumOp)),
    (partial(SumOp, axis=0), 1),
    (PermuteDimsOp, 1),
    (partial(ReshapeOp, shape=[-1]), 1),
    (partial(BroadcastToOp, shape=[2, 3, 4]), 1),
    (partial(ConcatOp, axis=0), 2),
    (partial(PadOp, pad_width=[1, 0, 0, 2]), 1),
    (partial(StridedSliceOp, axes=[0], begin=[1], end=[3]), 1),
]
"""Operators of every pattern, with the number of their operands."""


def random_graph(rng: np.random.Generator, size: int) -> Graph:
    """Operators on each other's results, or as many of them as find operands that fit; some with many users."""
    shapes = [(3, 4), (3, 1), (4,), (4, 4), ()]
    graph = Graph([random_array(rng, "float32", shape) for shape in shapes])
    graph.add_constant(random_array(rng, "float32", (3, 4)))
    for _ in range(20 * size):
        make, count = MAKERS[rng.integers(len(MAKERS))]
        chosen = [int(i) for i in rng.integers(max(0, len(graph.values) - 12), len(graph.values), count)]
        if all(graph.values[i][1].size <= 64 for i in chosen) and fits(make, graph, chosen):
            graph.add(make, chosen)
        if len(graph.values) == len(shapes) + 1 + size:
            break
    return graph


def fits(make: MakeOperator, graph: Graph, chosen: Sequence[int]) -> bool:
    try:
        make(*(create_ssa_value(graph.values[i][0].type) for i in chosen))
    except InferenceError:
        return False
    return True


def run(module: ModuleOp, arguments: Sequence[Array]) -> list[Array]:
    results: Array | tuple[Array, ...] = interpret(module)["main"](*arguments)
    return list(results) if isinstance(results, tuple) else [results]


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 50))
@example(seed=1277, size=41)
def test_random_graphs(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, size)
    returned = [len(graph.values) - 1, *(int(i) for i in rng.integers(len(graph.values), size=3))]
    module = LegalizeOpsPass(strict=True)(graph.module(returned))
    expected = run(module, graph.inputs)
    for step in STEPS:
        module = step(module)
        verify_module(module)
        for found, wanted in zip(run(module, graph.inputs), expected, strict=True):
            assert (found.shape, found.tobytes()) == (wanted.shape, wanted.tobytes())
        assert str(step(module)) == str(module)


CUSTOM = """
func.func @batch(%x: tensor<360x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                 %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<360x10xf32> {
  %0 = relex.call @fused_dense_add0(%x, %w0, %b0)
      : (tensor<360x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<360x128xf32>
  %1 = relex.relu %0 : (tensor<360x128xf32>) -> tensor<360x128xf32>
  %2 = relex.call @fused_dense_add1(%1, %w1, %b1)
      : (tensor<360x128xf32>, tensor<10x128xf32>, tensor<10xf32>) -> tensor<360x10xf32>
  func.return %2 : tensor<360x10xf32>
}
func.func private @fused_dense_add0(%x: tensor<360x784xf32>, %w: tensor<128x784xf32>, %b: tensor<128xf32>)
    -> tensor<360x128xf32> attributes {relex.primitive} {
  %0 = relex.dense %x, %w : (tensor<360x784xf32>, tensor<128x784xf32>) -> tensor<360x128xf32>
  %1 = relex.add %0, %b : (tensor<360x128xf32>, tensor<128xf32>) -> tensor<360x128xf32>
  func.return %1 : tensor<360x128xf32>
}
func.func private @fused_dense_add1(%x: tensor<360x128xf32>, %w: tensor<10x128xf32>, %b: tensor<10xf32>)
    -> tensor<360x10xf32> attributes {relex.primitive} {
  %0 = relex.dense %x, %w : (tensor<360x128xf32>, tensor<10x128xf32>) -> tensor<360x10xf32>
  %1 = relex.add %0, %b : (tensor<360x10xf32>, tensor<10xf32>) -> tensor<360x10xf32>
  func.return %1 : tensor<360x10xf32>
}
"""
"""The perceptron after a custom fusor."""


@pytest.mark.parametrize(
    ("passes", "functions"),
    [
        ([FuseTirPass()], {"fused_dense_add0", "fused_dense_add1", "relu"}),
        ([*STEPS], {"fused_dense_add_relu", "fused_dense_add1"}),
    ],
)
def test_digits(passes: Sequence[RelexPass], functions: set[str]) -> None:
    """Custom groups, and what the general fusor makes of them, classify every digit as NumPy does."""
    module = LegalizeOpsPass()(parse_module(CUSTOM))
    for p in passes:
        module = p(module)
    assert {f.sym_name.data for f in module.ops if isinstance(f, PrimFuncOp)} == functions
    with np.load(DIGITS / "digits.npz") as digits, np.load(DIGITS / "weights.npz") as weights:
        images = digits["images"].reshape(-1, 784).astype(np.float32) / np.float32(255)
        w0, b0, w1, b1 = (weights[name] for name in ("w0", "b0", "w1", "b1"))
    scores = build(module)["batch"](images, w0, b0, w1, b1)
    expected = np.maximum(images @ w0.T + b0, 0) @ w1.T + b1
    np.testing.assert_array_equal(scores.argmax(1), expected.argmax(1))
