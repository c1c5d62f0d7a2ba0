"""Attention whose state has a fixed size, and what belongs to it, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.dialects.exceptions import ShapeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

BATCH, PLACES, WIDTH, DEPTH, CHANNELS = 2, 3, 4, 5, 6


def attention_inputs(rule: str, queries: int, heads: int, *, is_next: bool) -> list[Any]:
    """Return queries, keys, values, a state if the text goes on, decays of heads or of elements, and rates."""
    q, k, v = (normal(BATCH, PLACES, n) for n in (queries * WIDTH, heads * WIDTH, heads * DEPTH))
    decay = -np.abs(normal(BATCH, PLACES, heads if is_next else heads * WIDTH)) if "gated" in rule else None
    rates = np.abs(normal(BATCH, PLACES, heads if is_next else 1)) if "delta" in rule else None
    return [q, k, v, normal(BATCH, heads, WIDTH, DEPTH) if is_next else None, decay, rates]


@pytest.mark.parametrize("is_next", [False, True])
@pytest.mark.parametrize(("queries", "heads"), [(2, 2), (4, 2), (2, 4)])
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_attention(rule: str, queries: int, heads: int, is_next: bool) -> None:
    inputs = attention_inputs(rule, queries, heads, is_next=is_next)
    given: dict[str, Any] = {"update_rule": rule, "q_num_heads": queries, "kv_num_heads": heads, "is_open": False}
    expect_same("LinearAttention", inputs, "y", "state", run=interpret, **given)


def test_compiled_attention() -> None:
    inputs = attention_inputs("gated_delta", 4, 2, is_next=True)
    given: dict[str, Any] = {"update_rule": "gated_delta", "q_num_heads": 4, "kv_num_heads": 2, "scale": 0.5}
    expect_same("LinearAttention", inputs, "y", "state", is_open=False, **given)


def test_gates() -> None:
    inputs = [normal(2, 3, 4), normal(4), normal(4), normal(2, 3, 4)]
    expect_same("LinearAttentionGate", inputs, "decay", "rates", run=interpret, constants=(1, 2))


@pytest.mark.parametrize("given", [{}, {"dilation": 2}, {"activation": "silu"}, {"channels_last": 1}])
@pytest.mark.parametrize("is_next", [False, True])
def test_convolutions(given: dict[str, Any], is_next: bool) -> None:
    x, past = normal(BATCH, CHANNELS, PLACES), normal(BATCH, CHANNELS, 3 * given.get("dilation", 1))
    if given.get("channels_last"):
        x, past = (np.ascontiguousarray(t.transpose(0, 2, 1)) for t in (x, past))
    inputs = [x, normal(CHANNELS, 1, 4), normal(CHANNELS) if is_next else None, past if is_next else None]
    expect_same("CausalConvWithState", inputs, "y", "state", run=interpret, constants=(1,), **given)


def test_no_places() -> None:
    """The state stays."""
    parts = [normal(BATCH, 0, n) for n in (2 * WIDTH, 2 * WIDTH, 2 * DEPTH)]
    given: dict[str, Any] = {"update_rule": "linear", "q_num_heads": 2, "kv_num_heads": 2, "is_open": False}
    expect_same("LinearAttention", [*parts, normal(BATCH, 2, WIDTH, DEPTH)], "y", "state", run=interpret, **given)
    expect_same("LinearAttention", parts, "y", "state", run=interpret, **given)
    kernel = normal(CHANNELS, 1, 4)
    for past in (normal(BATCH, CHANNELS, 3), None):
        inputs = [normal(BATCH, CHANNELS, 0), kernel, None, past]
        expect_same("CausalConvWithState", inputs, "y", "state", is_open=False, run=interpret)


def test_places_from_before_of_dynamic_number() -> None:
    inputs = [normal(BATCH, CHANNELS, PLACES), normal(CHANNELS, 1, 4), None, normal(BATCH, CHANNELS, 3)]
    model, feed = one_node("CausalConvWithState", inputs, ("y", "state"), is_open=False)
    model.graph.input[2].type.tensor_type.shape.dim[2].dim_param = "before"
    main = interpret(from_onnx(model))["main"]
    main(*feed.values())
    with pytest.raises(ShapeError, match="before = 2"):
        main(*[*feed.values()][:2], normal(BATCH, CHANNELS, 2))


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("sections", [[2, 1, 1], [4, 0, 0], [1, 2, 1]])
def test_positions_of_images(layout: int, sections: list[int]) -> None:
    tables = [RNG.integers(0, 9, (3, BATCH, PLACES)), normal(9, 4), normal(9, 4)]
    given: dict[str, Any] = {"mrope_section": sections, "mrope_layout": layout, "is_open": False, "run": interpret}
    expect_same("MRotaryEmbedding", [normal(BATCH, PLACES, 16), *tables], num_heads=2, **given)
    expect_same("MRotaryEmbedding", [normal(BATCH, 2, PLACES, 8), *tables], interleaved=1, **given)


@pytest.mark.parametrize(
    ("operator", "inputs", "given", "expected"),
    [
        ("LinearAttention", attention_inputs("linear", 2, 2, is_next=False), {"update_rule": "gated"}, "asks for"),
        (
            "LinearAttention",
            attention_inputs("linear", 2, 2, is_next=False),
            {"update_rule": "other"},
            "expected one of",
        ),
        ("CausalConvWithState", [normal(2, 6, 3), normal(6, 1, 4)], {"ndim": 2}, "images, several states"),
        ("CausalConvWithState", [normal(2, 6, 3), normal(6, 1, 4)], {"activation": "relu"}, "expected none, silu"),
        ("CausalConvWithState", [normal(2, 6, 3), normal(6, 4)], {}, "expected a kernel of three dimensions, found 2"),
        (
            "CausalConvWithState",
            [normal(2, 6, 3), normal(6, 1, 4), None, normal(2, 6, 2)],
            {},
            "expected 3 places from before, found 2",
        ),
        (
            "LinearAttention",
            attention_inputs("linear", 2, 2, is_next=False),
            {"update_rule": "linear", "kv_num_heads": 0},
            "expected one head or more, found 2 of queries and 0 of values",
        ),
        (
            "LinearAttention",
            attention_inputs("linear", 2, 2, is_next=False),
            {"update_rule": "linear", "q_num_heads": 9},
            "expected a number or more for each of 9 heads, found 8 in all",
        ),
        (
            "MRotaryEmbedding",
            [normal(2, 2, 3, 8), RNG.integers(0, 9, (3, 2, 3)), normal(9, 4), normal(9, 4)],
            {"mrope_section": [1, 1]},
            "expected three sections of 4 angles",
        ),
    ],
)
def test_refusals(operator: str, inputs: list[Any], given: dict[str, Any], expected: str) -> None:
    heads: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2} if operator == "LinearAttention" else {}
    with pytest.raises(CompileError, match=expected):
        from_onnx(one_node(operator, inputs, is_open=False, **(heads | given))[0])
