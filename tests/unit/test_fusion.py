"""Random graphs keep what they compute through every step of fusion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array, MakeOperator, random_array
from test_random_graphs import Graph
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.test_value import create_ssa_value

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
from relex.dialects.verifier import verify_module
from relex.lowering import LegalizeOpsPass
from relex.passes import AnnotateOpPatternPass, FuseOpsPass, FuseTirPass, InlineBlocksPass, MergeLoopsPass, RelexPass
from relex.runtime import interpret

STEPS: tuple[RelexPass, ...] = (
    AnnotateOpPatternPass(),
    FuseOpsPass(),
    FuseTirPass(),
    InlineBlocksPass(),
    MergeLoopsPass(),
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


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 50))
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
