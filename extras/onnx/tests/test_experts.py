"""Mixtures of experts, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

ROWS, WIDTH, INNER, EXPERTS = 5, 8, 6, 4


def inputs(pairs: int = 1, *, is_biased: bool = True) -> list[Any]:
    """Return rows, scores of experts, and two layers of each expert."""
    first, second = normal(EXPERTS, pairs * INNER, WIDTH), normal(EXPERTS, WIDTH, INNER)
    biases = (normal(EXPERTS, pairs * INNER), normal(EXPERTS, WIDTH)) if is_biased else (None, None)
    return [normal(ROWS, WIDTH), normal(ROWS, EXPERTS), first, biases[0], second, biases[1]]


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("normalized", [0, 1])
def test_experts(activation: str, k: int, normalized: int) -> None:
    given: dict[str, Any] = {"activation_type": activation, "k": k, "normalize_routing_weights": normalized}
    expect_same("MoE", inputs(), constants=(2, 3, 4, 5), is_open=False, run=interpret, **given)


def test_gated_experts() -> None:
    given: dict[str, Any] = {"activation_type": "swiglu", "swiglu_fusion": 1, "k": 2, "normalize_routing_weights": 1}
    expect_same("MoE", inputs(2), constants=(2, 3, 4, 5), is_open=False, **given)
    given |= {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.7}
    expect_same("MoE", inputs(2), constants=(2, 3, 4, 5), is_open=False, run=interpret, **given)


def test_rows_of_texts() -> None:
    """A batch of texts, and layers without biases."""
    x, *others = inputs(is_biased=False)
    texts = np.stack([x, -x])
    scores = normal(2 * ROWS, EXPERTS)
    expect_same("MoE", [texts, scores, *others[1:]], constants=(2, 4), is_open=False, run=interpret, k=2)


@pytest.mark.parametrize("is_shared", [0, 1])
def test_scores_and_experts_that_are_not_finite(is_shared: int) -> None:
    """A score of NaN leaves its row without experts, and what an expert makes of other rows does not matter."""
    x, scores, *weights = inputs()
    scores[0, 1], scores[1, 2], scores[2, 3] = np.nan, np.inf, -np.inf
    scores[3:, 0] = -9
    weights[2][0] = np.nan
    given: dict[str, Any] = {"k": 2, "normalize_routing_weights": is_shared, "run": interpret, "is_open": False}
    expect_same("MoE", [x, scores, *weights], constants=(2, 3, 4, 5), **given)


def test_refusals() -> None:
    model, _ = one_node("MoE", inputs(), activation_type="swiglu", k=1)
    with pytest.raises(CompileError, match=r"expected an activation among gelu, .* and swiglu of pairs, found swiglu"):
        from_onnx(model)
    gates = [*inputs(), normal(EXPERTS, INNER, WIDTH)]
    with pytest.raises(CompileError, match="gates that are separate weights"):
        from_onnx(one_node("MoE", gates)[0])
    for count in (0, EXPERTS + 1):
        with pytest.raises(CompileError, match=f"expected 1 to {EXPERTS} experts for a row, found {count}"):
            from_onnx(one_node("MoE", inputs(), is_open=False, k=count)[0])
