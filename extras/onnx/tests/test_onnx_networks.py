"""Whole networks: one of the package onnx, on small images, and a block of a transformer with dynamic sizes."""

from __future__ import annotations

from functools import cache
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
    """One import serves all sizes. That one compilation does, too, is shown by `test_causal_block`."""
    model = models.transformer_block(WIDTH, HEADS)
    main = interpret(from_onnx(model))["main"]
    for sizes in ((1, 1), (2, 5), (3, 16), (1, 40)):
        x = tokens(*sizes)
        wanted = models.expected(model, x)
        assert difference(main(x), wanted) < TOLERANCE


def test_block_that_normalizes_after() -> None:
    model = models.Block(WIDTH, HEADS, is_normalized_after=True).model()
    found = interpret(from_onnx(model))["main"](tokens(2, 7))
    assert difference(found, models.expected(model, tokens(2, 7))) < TOLERANCE


@cache
def causal_block() -> tuple[Any, Any]:
    """A model, and its function."""
    model = models.Block(WIDTH, HEADS, is_causal=True).model()
    return model, build(from_onnx(model))["main"]


@pytest.mark.parametrize(("length", "past"), [(5, 0), (1, 9)], ids=["alone", "with earlier calls"])
def test_causal_block(length: int, past: int) -> None:
    model, main = causal_block()
    random = np.random.default_rng(0)
    caches = [random.normal(size=(2, HEADS, past, WIDTH // HEADS)).astype(np.float32) for _ in "kv"]
    found = main(tokens(2, length), *caches)
    assert difference(found, models.expected(model, tokens(2, length), *caches)) < TOLERANCE
