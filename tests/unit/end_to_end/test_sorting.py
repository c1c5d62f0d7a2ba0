"""Orders of special numbers, and of many boxes, as a stable sort in Python has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import isnan
from typing import Any

import numpy as np
import pytest

from relex.frontend import BlockBuilder, Var, const, op
from relex.reference import interpret
from relex.runtime import build

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1, 2, -1, -2, 1e-40, -1e-40, 3.5]


def in_order(row: list[Any], descends: bool) -> list[int]:
    """The places of elements in their order; NaN counts as the largest."""

    def key(k: int) -> tuple[bool, Any]:
        return isnan(row[k]), 0 if isnan(row[k]) else row[k]

    places = sorted(reversed(range(len(row))) if descends else range(len(row)), key=key)
    return places[::-1] if descends else places


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("descends", [False, True])
def test_orders(dtype: str, descends: bool):
    bb = BlockBuilder()
    x = Var("x", ("n", "m"), dtype)
    with bb.function("main", [x]):
        bb.emit_func_output([op.argsort(x, 1, descends), op.sort(x, 1, descends)])
    function, rng = build(bb.get())["main"], np.random.default_rng(0)
    for shape in ((1, 1), (3, 17), (5, 100), (2, 1000), (0, 3), (3, 0)):
        numbers = (
            rng.choice(SPECIAL, shape) if "float" in dtype else rng.integers(0, 2 if dtype == "bool" else 99, shape)
        )
        array = numbers.astype(dtype)
        places, values = function(array)
        expected = np.array([in_order(row, descends) for row in array.tolist()], np.int64).reshape(shape)
        np.testing.assert_array_equal(places, expected)
        assert values.tobytes() == np.take_along_axis(array, expected, 1).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_nothing_to_sort(dtype: str):
    bb = BlockBuilder()
    x = Var("x", (3, 0), dtype)
    with bb.function("main", [x]):
        bb.emit_func_output([op.argsort(x, 1), op.sort(x, 1)])
    array = np.zeros((3, 0), dtype)
    for function in (build(bb.get())["main"], interpret(bb.get())["main"]):
        places, values = function(array)
        assert (places.dtype, places.shape, values.dtype, values.shape) == (np.int64, (3, 0), array.dtype, (3, 0))


@pytest.mark.parametrize("most", [0, 1, 50, 2**62])
def test_many_boxes(most: int):
    bb = BlockBuilder()
    boxes, scores = Var("boxes", (1, "n", 4), "float32"), Var("scores", (1, 2, "n"), "float32")
    with bb.function("main", [boxes, scores]):
        overlap, least = const(np.float32(0.3)), const(np.float32(0.2))
        bb.emit_func_output(op.non_max_suppression(boxes, scores, const(np.array(most)), overlap, least))
    program, rng = bb.get(), np.random.default_rng(0)
    functions = build(program)["main"], interpret(program)["main"]
    for count in (0, 1, 3, 17, 300):
        corners = rng.random((1, count, 2), np.float32) * 50
        sizes = rng.random((1, count, 2), np.float32) * 20 - 3  # Some are turned around.
        given = np.concatenate([corners, corners + sizes], 2), rng.integers(0, 9, (1, 2, count)).astype(np.float32) / 9
        np.testing.assert_array_equal(*(function(*given) for function in functions))


@cache
def best_boxes(most: int) -> Sequence[Callable[..., Any]]:
    """The function that chooses boxes whose scores are above an argument, in three ways."""
    bb = BlockBuilder()
    boxes, scores, bound = Var("b", (2, "n", 4), "float32"), Var("s", (2, 1, "n"), "float32"), Var("l", (), "float32")
    with bb.function("main", [boxes, scores, bound]):
        limits = const(np.array(most)), const(np.float32(0.5)), bound
        bb.emit_func_output(op.non_max_suppression(boxes, scores, *limits))
    program = bb.get()
    return build(program)["main"], build(program, strict=True)["main"], interpret(program)["main"]


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("least", [np.nan, -np.inf, 0.0, -0.0, np.inf])
@pytest.mark.parametrize("most", [0, 3, 1000])
def test_the_best_boxes_of_special_scores(least: float, most: int):
    """NaN is the best score if no least one is given; of equal scores, the first box is the best."""
    functions, rng = best_boxes(most), np.random.default_rng(0)
    special = np.array([np.nan, -np.inf, np.inf, 0.0, -0.0, 1, -1], np.float32)
    for count in (1, 2, 3, 4, 8, 31, 100):
        corners = rng.integers(0, 20, (2, count, 2)).astype(np.float32)
        given = np.concatenate([corners, corners + 3], 2), rng.choice(special, (2, 1, count)), np.float32(least)
        first, *others = (function(*given[:2], np.array(given[2])) for function in functions)
        for other in others:
            np.testing.assert_array_equal(first, other)
