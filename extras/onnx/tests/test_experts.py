"""Mixtures of experts, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

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


def test_gates_that_are_separate() -> None:
    """A gate for each expert, which ONNX Runtime does not compute on a CPU."""
    x, scores, *weights = inputs(is_biased=False)
    weights += [normal(EXPERTS, INNER, WIDTH)]
    model, feed = one_node("MoE", [x, scores, *weights], is_open=False, k=EXPERTS, activation_type="silu")
    hidden = np.einsum("rw,eiw->eri", x, weights[0])
    inner = hidden / (1 + np.exp(-hidden)) * np.einsum("rw,eiw->eri", x, weights[4])
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    wanted = np.einsum("eri,ewi,re->rw", inner, weights[2], shares)
    found = interpret(from_onnx(model))["main"](*feed.values())
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


BLOCK = 16
QUANTIZED_WIDTH, QUANTIZED_INNER = 32, 48


def quantized_inputs(bits: int, block: int, *, has_zeros: bool, pairs: int = 1) -> list[Any]:
    """Return rows, scores of experts, and two layers of a few bits with scales of rows, or of blocks of them."""

    def layer(rows: int, width: int) -> tuple[list[Any], Any]:
        scales = (EXPERTS, rows, width // block) if block else (EXPERTS, rows)
        zeros = (*scales[:-1], -(-scales[-1] * bits // 8))
        digits, zeros = (RNG.integers(0, 256, shape, np.uint8) for shape in ((EXPERTS, rows, width * bits // 8), zeros))
        factors = RNG.uniform(0.005, 0.02, scales).astype(np.float32)
        return [digits, factors, normal(EXPERTS, rows)], zeros if has_zeros else None

    first, first_zeros = layer(pairs * QUANTIZED_INNER, QUANTIZED_WIDTH)
    second, second_zeros = layer(QUANTIZED_WIDTH, QUANTIZED_INNER)
    rows = [normal(ROWS, QUANTIZED_WIDTH), normal(ROWS, EXPERTS)]
    return [*rows, *first, *second, None, None, None, first_zeros, second_zeros]


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize(("bits", "block"), [(2, 0), (2, BLOCK), (4, 0), (4, BLOCK), (8, 0)])
def test_quantized_experts(bits: int, block: int, has_zeros: bool) -> None:
    given: dict[str, Any] = {"expert_weight_bits": bits, "k": 2, "activation_type": "silu", "is_open": False}
    if block:
        given["block_size"] = block
    expect_same("QMoE", quantized_inputs(bits, block, has_zeros=has_zeros), run=interpret, **given)


@pytest.mark.parametrize("normalized", [0, 1])
def test_given_shares_of_quantized_experts(normalized: int) -> None:
    given: dict[str, Any] = {"activation_type": "swiglu", "swiglu_fusion": 1, "k": 2}
    shares = [None, np.abs(normal(ROWS, EXPERTS))]
    tensors = [*quantized_inputs(4, BLOCK, has_zeros=True, pairs=2), *shares]
    given |= {"run": interpret} if normalized else {}
    expect_same("QMoE", tensors, is_open=False, block_size=BLOCK, normalize_routing_weights=normalized, **given)


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


def halves(tensors: list[Any]) -> list[Any]:
    return [x if x is None or x.dtype != np.float32 else x.astype(np.float16) for x in tensors]


@pytest.mark.parametrize("is_biased", [False, True])
def test_experts_of_half_floats(is_biased: bool) -> None:
    given: dict[str, Any] = {"k": 2, "activation_type": "silu", "is_open": False, "run": interpret, "rtol": 1e-2}
    expect_same("MoE", halves(inputs(is_biased=is_biased)), **given)


def test_quantized_experts_of_half_floats() -> None:
    given: dict[str, Any] = {"k": 2, "activation_type": "silu", "is_open": False, "run": interpret, "rtol": 1e-2}
    expect_same("QMoE", halves(quantized_inputs(4, 0, has_zeros=True)), **given)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_scores_that_are_equal(k: int) -> None:
    """The last ones of the experts count."""
    x, scores, *weights = inputs()
    scores[:] = [[0, 0, 0, 0], [2, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1], [np.inf, 1, 1, np.inf]]
    expect_same("MoE", [x, scores, *weights], is_open=False, run=interpret, k=k)
    x, scores, *weights = quantized_inputs(4, 0, has_zeros=False)
    scores[:] = [[0, 0, 0, 0], [2, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 1, 0, 1]]
    expect_same("QMoE", [x, scores, *weights], is_open=False, run=interpret, k=k, activation_type="silu")


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
def test_rows_that_are_not_finite(activation: str) -> None:
    x, *others = inputs()
    x[0, 0], x[1, 1] = np.nan, np.inf
    expect_same("MoE", [x, *others], is_open=False, run=interpret, activation_type=activation)


def test_refusals() -> None:
    model, _ = one_node("MoE", inputs(), activation_type="swiglu", k=1)
    with pytest.raises(CompileError, match=r"expected an activation among gelu, .* and swiglu of pairs, found swiglu"):
        from_onnx(model)
    with pytest.raises(CompileError, match="sparse mixers"):
        from_onnx(one_node("MoE", inputs(), use_sparse_mixer=1)[0])
    quantized = quantized_inputs(4, 0, has_zeros=False)
    with pytest.raises(CompileError, match="weights of floats, and layers that differ in bits"):
        from_onnx(one_node("QMoE", quantized, quant_type="fp8")[0])
    with pytest.raises(CompileError, match="expected numbers of 2, 4 or 8 bits, found 3"):
        from_onnx(one_node("QMoE", quantized, expert_weight_bits=3)[0])
    for count in (0, EXPERTS + 1):
        with pytest.raises(CompileError, match=f"expected 1 to {EXPERTS} experts for a row, found {count}"):
            from_onnx(one_node("MoE", inputs(), is_open=False, k=count)[0])
