"""Layers that ONNX Runtime's optimizer writes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.dialects.exceptions import IndexRangeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [
        ((3, 4), (4, 5), {"alpha": 0.5}),
        ((4, 3), (5, 4), {"transA": 1, "transB": 1}),
        ((2, 4, 3), (2, 4, 5), {"transA": 1, "alpha": -2.0}),
        ((3, 2, 4), (2, 4, 5), {"transBatchA": 1}),
        ((4, 2, 3), (2, 4, 5), {"transA": 1, "transBatchA": 1}),
        ((2, 3, 4), (4, 2, 5), {"transBatchB": 1}),
        ((4,), (4, 5), {"transA": 1}),
    ],
)
def test_products(a: tuple[int, ...], b: tuple[int, ...], given: dict[str, Any]) -> None:
    expect_same("FusedMatMul", [normal(*a), normal(*b)], **given)


@pytest.mark.parametrize("given", [{"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.3}])
def test_functions_of_products(given: dict[str, Any]) -> None:
    a, b = normal(4, 3), normal(5, 4)
    expect_same("FusedGemm", [a.T, b.T, normal(5)], run=interpret, alpha=0.5, beta=2.0, **given)
    expect_same("FusedGemm", [a, b], run=interpret, transA=1, transB=1, **given)


ACTIVATIONS: list[tuple[str, list[float]]] = [
    ("Relu", []),
    ("Sigmoid", []),
    ("Tanh", []),
    ("LeakyRelu", [0.1]),
    ("Clip", [-0.5, 0.5]),
    ("HardSigmoid", [0.2, 0.5]),
]


@pytest.mark.parametrize(("activation", "numbers"), ACTIVATIONS)
def test_convolutions(activation: str, numbers: list[float]) -> None:
    x = normal(1, 3, 6, 5)
    x[0, 0, 0, 0] = np.nan
    given: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "activation": activation}
    given |= {"activation_params": numbers} if numbers else {}
    expect_same("FusedConv", [x, normal(4, 3, 3, 3), normal(4)], constants=(1, 2), **given)
    expect_same("FusedConv", [x, normal(4, 3, 3, 3), normal(4), normal(1, 4, 6, 5)], constants=(1, 2), **given)


def test_an_activation_that_convolutions_lack() -> None:
    x, weight = normal(1, 3, 6, 5), normal(4, 3, 3, 3)
    model, _ = one_node("FusedConv", [x, weight], constants=(1,), activation="Softplus", kernel_shape=[3, 3])
    with pytest.raises(CompileError, match=r"expected an activation among Clip, .*, found Softplus"):
        from_onnx(model)


@pytest.mark.sampled
@pytest.mark.parametrize(("operator", "biased"), [("BiasGelu", True), ("FastGelu", True), ("FastGelu", False)])
@pytest.mark.parametrize("shape", [(2, 3, 8), (5, 8), (1, 8)])
def test_gelu(operator: str, biased: bool, shape: tuple[int, ...]) -> None:
    x = 3 * normal(*shape)
    x[..., :3] = np.nan, np.inf, -np.inf
    expect_same(operator, [x, normal(8)] if biased else [x])


@pytest.mark.parametrize("given", [{}, {"alpha": 1.0}, {"alpha": -0.5}])
def test_quick_gelu(given: dict[str, float]) -> None:
    x = normal(3, 8)
    x[0, 0] = np.nan
    expect_same("QuickGelu", [x], **given)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("operator", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("skip", [(2, 3, 8), (3, 8), (1, 3, 8)])
@pytest.mark.parametrize("given", [{}, {"epsilon": 1e-2}])
def test_sums_that_are_normalized(operator: str, skip: tuple[int, ...], given: dict[str, float]) -> None:
    x = normal(2, 3, 8)
    x[0, 0, 0] = np.nan
    inputs = [x, normal(*skip), normal(8), *([normal(8)] if "Simplified" not in operator else [])]
    expect_same(operator, inputs, **given)
    expect_same(operator, [*inputs, normal(8)], "y", "", "", "sum", **given)


def test_sums_of_16_bits_that_are_normalized() -> None:
    inputs = [normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8)]
    expect_same("SkipLayerNormalization", [x.astype(np.float16) for x in inputs], rtol=2e-3)


def test_norms_by_mean_squares() -> None:
    expect_same("SimplifiedLayerNormalization", [normal(2, 3, 8), normal(8)], domain="", epsilon=1e-3)


def words() -> list[Any]:
    ids = RNG.integers(0, 9, (2, 5)).astype(np.int32)
    return [ids, RNG.integers(0, 2, (2, 5)).astype(np.int32), normal(9, 8), normal(7, 8), normal(2, 8)]


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("mask", [None, [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]])
@pytest.mark.parametrize("order", [None, [[3, 1, 0, 2, 6], [0, 0, 1, 1, 2]]])
@pytest.mark.parametrize("segments", [True, False])
def test_embeddings(mask: Any, order: Any, segments: bool) -> None:
    ids, kinds, table, places, table_of_kinds = words()
    mask, order = (None if given is None else np.array(given, np.int32) for given in (mask, order))
    of_kinds = [kinds, table_of_kinds] if segments else [None, None]
    inputs = [ids, of_kinds[0], table, places, of_kinds[1], normal(8), normal(8), mask, order]
    while inputs[-1] is None:
        inputs.pop()
    expect_same("EmbedLayerNormalization", inputs, "y", "counted", "sum", constants=(2, 3, 5, 6))


def test_words_that_a_table_lacks() -> None:
    model, feed = one_node("EmbedLayerNormalization", [*words(), normal(8), normal(8)], ("y", "counted"))
    main = build(from_onnx(model))["main"]
    feed["i0"][0, 0] = 9
    with pytest.raises(IndexRangeError):
        main(**feed)
