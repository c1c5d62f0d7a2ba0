"""Whole networks: one of the package onnx, on small images, and a block of a transformer with open sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from networks import TOLERANCE, check, difference, models

from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

WIDTH, HEADS = 32, 4


def test_squeezenet() -> None:
    outcome = check("squeezenet", pixels=48)
    assert outcome.errors.keys() == {"build", "load", "relex-run"}
    assert outcome.is_right, outcome


def tokens(batch: int, length: int) -> Any:
    return np.random.default_rng(batch).normal(size=(batch, length, WIDTH)).astype(np.float32)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (3, 16)])
def test_transformer_block_of_known_sizes(sizes: tuple[int, int]) -> None:
    model = models.transformer_block(WIDTH, HEADS)
    x = tokens(*sizes)
    wanted = models.expected(model, x)
    module = from_onnx(model, shapes={"batch": sizes[0], "length": sizes[1]})
    assert difference(interpret(module)["main"](x), wanted) < TOLERANCE


def test_transformer_block_of_open_sizes() -> None:
    """One compilation serves all sizes."""
    model = models.transformer_block(WIDTH, HEADS)
    main = build(from_onnx(model))["main"]
    for sizes in ((1, 1), (2, 5), (3, 16), (1, 40)):
        x = tokens(*sizes)
        wanted = models.expected(model, x)
        assert difference(main(x), wanted) < TOLERANCE


@pytest.mark.parametrize(
    ("length", "past"), [(7, None), (5, 0), (1, 9)], ids=["normalized after", "causal", "causal, with earlier calls"]
)
def test_other_blocks(length: int, past: int | None) -> None:
    model = models.Block(WIDTH, HEADS, is_normalized_after=past is None, is_causal=past is not None).model()
    random = np.random.default_rng(0)
    caches = [random.normal(size=(2, HEADS, past, WIDTH // HEADS)).astype(np.float32) for _ in "kv" if past is not None]
    found = build(from_onnx(model))["main"](tokens(2, length), *caches)
    assert difference(found, models.expected(model, tokens(2, length), *caches)) < TOLERANCE
