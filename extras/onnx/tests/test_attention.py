"""Attention and rotary positions in the forms of ONNX Runtime, against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError, RelexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

B, S, H, N = 2, 5, 8, 2
"""Texts, places, width, heads."""


def integers(high: int, *shape: int) -> Any:
    return RNG.integers(0, high, shape).astype(np.int32)


def of(*numbers: Any) -> Any:
    return np.array(numbers, np.int32)


MASKS: list[Any] = [None, of(3, 5), of(3, 5, 1, 0), of([1, 1, 1, 0, 0], [1, 1, 0, 1, 1]), integers(2, B, S, S)]


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("mask", MASKS, ids=["none", "lengths", "ends-and-starts", "keys", "pairs"])
@pytest.mark.parametrize("given", [{}, {"unidirectional": 1}, {"scale": 0.3, "mask_filter_value": -2.0}])
def test_attention_of_a_text_to_itself(mask: Any, given: dict[str, Any]) -> None:
    inputs = [normal(B, S, H), normal(H, 3 * H), normal(3 * H), mask]
    inputs = inputs if mask is not None else inputs[:-1]
    # Whether a mask has one number for each text, or two, is only known of sizes that are.
    is_open = mask is None or mask.ndim > 1
    expect_same("Attention", inputs, num_heads=N, constants=(1, 2), is_open=is_open, **given)


def test_parts_of_attention() -> None:
    """What is seen before, a bias, and values of another width."""
    x, weights, bias, past = normal(B, S, H), normal(H, 3 * H), normal(3 * H), normal(2, B, N, 3, H // N)
    expect_same("Attention", [x, weights, bias, None, past], "y", "present", num_heads=N, unidirectional=1)
    expect_same("Attention", [x, weights, bias, None, None, normal(B, N, S, S)], num_heads=N)
    expect_same("Attention", [x, normal(H, 28), normal(28)], num_heads=N, qkv_hidden_sizes=[8, 8, 12])
    x[0, 1, 2] = np.nan
    expect_same("Attention", [x, weights, bias], num_heads=N)


@pytest.mark.parametrize("scale", [0.01, [0.01, 0.02, 0.005] * H])
def test_attention_by_integers(scale: Any) -> None:
    x, weights = integers(256, B, S, H).astype(np.uint8), (integers(255, H, 3 * H) - 127).astype(np.int8)
    numbers = [np.float32(0.02), np.array(scale, np.float32), of(3, 5), np.uint8(120)]
    zero = np.zeros(np.shape(scale), np.int8)
    inputs = [x, weights, normal(3 * H), *numbers, zero]
    expect_same("QAttention", inputs, num_heads=N, constants=(1, 2, 3, 4, 6, 7))


@pytest.mark.sampled
@pytest.mark.parametrize("mask", [None, of(3, 7), integers(2, B, 7)], ids=["none", "lengths", "keys"])
@pytest.mark.parametrize("more", [None, normal(1, N, S, 7)], ids=["plain", "biased"])
def test_attention_of_several_heads(mask: Any, more: Any) -> None:
    q, k, v = normal(B, S, H), normal(B, 7, H), normal(B, 7, 12)
    inputs = [q, k, v, normal(28), mask, more]
    while inputs[-1] is None:
        inputs.pop()
    expect_same("MultiHeadAttention", inputs, num_heads=N, scale=0.2, constants=(3,))


def test_heads_with_a_cache() -> None:
    q, k, v, past = normal(B, S, H), normal(B, S, H), normal(B, S, H), [normal(B, N, 3, 4), normal(B, N, 3, 4)]
    expect_same("MultiHeadAttention", [q, k, v, None, None, None, *past], "y", "keys", "values", num_heads=N)
    expect_same("MultiHeadAttention", [q, k, v], num_heads=N, unidirectional=1)


def test_what_attention_lacks() -> None:
    model, _ = one_node("MultiHeadAttention", [normal(B, S, H)], num_heads=N)
    with pytest.raises(CompileError, match="expected 3 tensors in one of five dimensions, found 3"):
        from_onnx(model)
    caches = [normal(B, N, 9, H // N), normal(B, N, 9, H // N)]
    rows = [normal(B, S, H), normal(B, S, H), normal(B, S, H)]
    step = [*[normal(B, 1, H)] * 3, None, None, *caches]
    with pytest.raises(CompileError, match="expected the length of caches that inputs share with results, found none"):
        from_onnx(one_node("DecoderMaskedMultiHeadAttention", step, num_heads=N, past_present_share_buffer=1)[0])
    with pytest.raises(CompileError, match="expected one head or more, found 0"):
        from_onnx(one_node("MultiHeadAttention", rows)[0])
    beams = [*rows, *[None] * 3, *caches, np.array([2], np.int32), np.zeros((B, 1, 9), np.int32)]
    with pytest.raises(CompileError, match="beams that share caches"):
        from_onnx(one_node("MultiHeadAttention", beams, num_heads=N)[0])
    packed = [normal(B, 1, H), *[None] * 4, of(0, 0), np.array(1, np.int32)]
    with pytest.raises(CompileError, match="expected one head or more, found 0 of queries and 0 of keys"):
        from_onnx(one_node("GroupQueryAttention", packed, ("y", "keys", "values"))[0])
    model, _ = one_node("Attention", [normal(B, S, H), normal(H, 3 * H)], num_heads=N, do_rotary=1)
    with pytest.raises(CompileError, match=r"'do_rotary': .* export the model without it"):
        from_onnx(model)


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("shape", "given"),
    [((B, S, 8), {}), ((B, N, S, 4), {}), ((B, S, 16), {"num_heads": 2, "rotary_embedding_dim": 4})],
)
@pytest.mark.parametrize("places", [np.array([2]), np.arange(10).reshape(2, 5)], ids=["from", "each"])
def test_rotary_positions(shape: Any, given: dict[str, int], interleaved: int, places: Any) -> None:
    expect_same(
        "RotaryEmbedding", [normal(*shape), places, normal(16, 2), normal(16, 2)], interleaved=interleaved, **given
    )


HEADS: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2}
TABLES = [normal(16, 8), normal(16, 8)]


def grouped(places: int, past: int | None, last: Any, total: int, tables: bool = False) -> list[Any]:
    cache = [None, None] if past is None else [normal(B, 2, past, 16), normal(B, 2, past, 16)]
    new = [normal(B, places, 64), normal(B, places, 32), normal(B, places, 32)]
    return [*new, *cache, last, np.array(total, np.int32), *(TABLES if tables else [])]


@pytest.mark.sampled
@pytest.mark.parametrize("given", [{}, {"scale": 0.3}, {"local_window_size": 2}, {"softcap": 5.0}])
@pytest.mark.parametrize("last", [of(4, 4), of(2, 4)], ids=["equal", "padded"])
def test_groups_of_heads(given: dict[str, Any], last: Any) -> None:
    inputs = grouped(5, None, last, 5)
    expect_same("GroupQueryAttention", inputs, "y", "keys", "values", constants=(6,), **HEADS, **given)


@pytest.mark.sampled
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("places", "past", "last", "total"),
    [
        (1, 6, of(6, 6), 7),
        (1, 6, of(4, 6), 7),
        (1, 9, of(4, 5), 6),
        (5, 9, of(4, 4), 5),
        (5, 0, of(4, 4), 5),
    ],
    ids=["next", "padded", "room", "first", "empty"],
)
def test_groups_with_a_cache(places: int, past: int, last: Any, total: int, interleaved: int) -> None:
    given = {"do_rotary": 1, "rotary_interleaved": interleaved, **HEADS}
    inputs = grouped(places, past, last, total, tables=True)
    expect_same("GroupQueryAttention", inputs, "y", "keys", "values", constants=(6, 7, 8), **given)


def test_groups_in_one_tensor() -> None:
    inputs = [normal(B, 5, 128), None, None, None, None, of(4, 4), np.array(5, np.int32), *TABLES]
    expect_same("GroupQueryAttention", inputs, "y", "keys", "values", constants=(6,), do_rotary=1, **HEADS)


@pytest.mark.parametrize("past", [None, 6])
def test_groups_with_one_more_key(past: int | None) -> None:
    """Each head may have a key without a value, or the softmax one without a likeness."""
    places = 5 if past is None else 1
    total = places + (past or 0)
    inputs = grouped(places, past, of(total - 1, total - 1), total)
    for given in ([*inputs, None, None, None, None, normal(4)], inputs):
        smooth = {} if len(given) > len(inputs) else {"smooth_softmax": 1}
        names = ("y", "keys", "values")
        expect_same("GroupQueryAttention", given, *names, constants=(6,), run=interpret, **HEADS, **smooth)


def results(inputs: list[Any]) -> Any:
    model, feed = one_node("MultiHeadAttention", inputs, num_heads=N)
    return interpret(from_onnx(model))["main"](*feed.values())


def test_queries_keys_and_values_beside_each_other() -> None:
    """ONNX Runtime has them for graphics processors only."""
    q, k, v = (normal(B, S, N, H // N) for _ in range(3))
    apart = [x.reshape(B, S, H) for x in (q, k, v)]
    np.testing.assert_array_equal(results([np.stack([q, k, v], 3)]), results(apart))
    np.testing.assert_array_equal(results([apart[0], np.stack([k, v], 3)]), results(apart))


@pytest.mark.parametrize("length", [0, 2, 8])
def test_caches_that_inputs_share_with_results(length: int) -> None:
    """New places come after as many as there are."""
    rows, caches = [normal(B, 1, H) for _ in range(3)], [normal(B, N, 9, H // N) for _ in range(2)]
    count = np.array([length], np.int32)
    given: dict[str, Any] = {"num_heads": N, "run": interpret}
    names = ("y", "keys", "values")
    expect_same("MultiHeadAttention", [*rows, *[None] * 3, *caches, count], *names, **given)
    step = [*rows, None, None, *caches, count]
    expect_same("DecoderMaskedMultiHeadAttention", step, *names, past_present_share_buffer=1, **given)


@pytest.mark.parametrize("rest", [np.nan, np.inf])
def test_what_lies_behind_the_places_of_a_cache(rest: float) -> None:
    """It does not reach the result, and stays as it is."""
    rows, caches = [normal(B, 1, H) for _ in range(3)], [normal(B, N, 9, H // N) for _ in range(2)]
    for cache in caches:
        cache[:, :, 3:] = rest
    given: dict[str, Any] = {"num_heads": N, "run": interpret}
    inputs = [*rows, *[None] * 3, *caches, np.array([3], np.int32)]
    expect_same("MultiHeadAttention", inputs, "y", "keys", "values", **given)
    expect_same("MultiHeadAttention", inputs, "y", "keys", "values", num_heads=N)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("hides", ["bias", "mask", "later", "all"])
def test_what_hides_places_of_shared_caches(hides: str, places: int) -> None:
    """Masks and biases have numbers for all keys that there are with the new ones."""
    total = 2 + places
    mask = np.array([[1] * total, [1, 0, *[1] * places]], np.int32) if hides in ("mask", "all") else None
    more = normal(1, N, places, total) if hides in ("bias", "all") else None
    rows, caches = [normal(B, places, H) for _ in range(3)], [normal(B, N, 9, H // N) for _ in range(2)]
    given: dict[str, Any] = {"num_heads": N, "unidirectional": int(hides in ("later", "all")), "run": interpret}
    inputs = [*rows, None, mask, more, *caches, np.array([2], np.int32)]
    expect_same("MultiHeadAttention", inputs, "y", "keys", "values", **given)


def test_a_bias_of_too_many_keys() -> None:
    rows, caches = [normal(B, 1, H) for _ in range(3)], [normal(B, N, 9, H // N) for _ in range(2)]
    inputs = [*rows, None, None, normal(1, N, 1, 9), *caches, np.array([2], np.int32)]
    model, feed = one_node("MultiHeadAttention", inputs, num_heads=N)
    with pytest.raises(RelexError, match="as many keys as there are with the new ones, found 9"):
        interpret(from_onnx(model))["main"](*feed.values())


def test_a_step_of_attention_to_another_text() -> None:
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    inputs = [normal(B, 1, H), normal(B, N, 5, H // N), normal(B, N, 5, H // N), mask]
    expect_same("DecoderMaskedMultiHeadAttention", inputs, num_heads=N, run=interpret)
