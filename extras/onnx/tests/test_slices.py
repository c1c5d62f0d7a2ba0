"""Parts between positions, against ONNX Runtime: backwards, and positions that follow from sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, INT64, model, node, value
from onnx import numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import ShapeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

LARGEST = 2**63 - 1
BACKWARDS = [
    (-100, -100, -1),
    (-4, -100, -1),
    (-2, -100, -2),
    (100, -100, -3),
    (-1, LARGEST, -1),
    (2, 2**31 - 1, -2),
    (-100, LARGEST, -100),
    (1, -3, -1),
]


def rows(count: int) -> Any:
    return np.arange(count * 2, dtype=np.float32).reshape(count, 2)


def constants(**given: int) -> list[Any]:
    return [numpy_helper.from_array(np.array([number], np.int64), name) for name, number in given.items()]


@pytest.mark.parametrize("count", [4, "n"])
@pytest.mark.parametrize(("start", "end", "step"), BACKWARDS)
def test_backwards(count: int | str, start: int, end: int, step: int) -> None:
    """A part begins within the tensor, and the largest integer is an end for which nothing is too far."""
    made = model(
        [node("Slice", "x start end zero step", "y")],
        [value("x", FLOAT, [count, 2])],
        ["y"],
        constants(start=start, end=end, zero=0, step=step),
    )
    expect_as_onnx_runtime(made, *({"x": rows(n)} for n in ([4] if count == 4 else [4, 1, 3])), run=interpret)


def test_backwards_between_positions_of_the_run() -> None:
    inputs = [value("x", FLOAT, ["n", 2]), *(value(name, INT64, [1]) for name in ("start", "end", "step"))]
    made = model([node("Slice", "x start end zero step", "y")], inputs, ["y"], constants(zero=0))
    feeds = [
        {"x": rows(4), **{name: np.array([n]) for name, n in zip(("start", "end", "step"), three, strict=True)}}
        for three in [*BACKWARDS, (-100, 2, 1), (1, LARGEST, 2)]
    ]
    expect_as_onnx_runtime(made, *feeds)


def ending(before: int) -> Any:
    nodes = [node("Shape", "x", "n", start=0, end=1), node("Sub", "n before", "end"), node("Slice", "x zero end", "y")]
    return model(nodes, [value("x", FLOAT, ["n", 2])], ["y"], constants(zero=0, before=before))


def test_positions_that_follow_from_sizes() -> None:
    expect_as_onnx_runtime(ending(2), *({"x": rows(n)} for n in (1, 2, 5)), run=interpret)
    expect_as_onnx_runtime(ending(4), *({"x": rows(n)} for n in (4, 5)), run=interpret)


def test_a_position_that_would_count_from_the_end_is_refused() -> None:
    """Of three rows, the fourth before the end is the last one but one to ONNX Runtime."""
    with pytest.raises(ShapeError, match="expected 4 <= n"):
        interpret(from_onnx(ending(4)))["main"](rows(3))


def test_positions_from_other_sizes() -> None:
    """How many rows a table has does not tell whether a length counts from its end."""
    nodes = [node("Shape", "x", "n", start=0, end=1), node("Sub", "n one", "end"), node("Slice", "t zero end", "y")]
    inputs = [value("x", FLOAT, ["n", 2]), value("t", FLOAT, ["m", 2])]
    made = model(nodes, inputs, ["y"], constants(zero=0, one=1))
    expect_as_onnx_runtime(made, *({"x": rows(n), "t": rows(m)} for n, m in ((1, 3), (3, 5), (4, 2))), run=interpret)


def test_positions_that_count_from_the_end_by_a_size() -> None:
    nodes = [node("Shape", "x", "n", start=0, end=1), node("Neg", "n", "start"), node("Slice", "t start end", "y")]
    inputs = [value("x", FLOAT, ["n", 2]), value("t", FLOAT, ["m", 2])]
    made = model(nodes, inputs, ["y"], constants(end=LARGEST))
    expect_as_onnx_runtime(made, *({"x": rows(n), "t": rows(m)} for n, m in ((1, 3), (3, 3), (4, 2))), run=interpret)
    with pytest.raises(ShapeError, match="expected 1 <= n"):
        interpret(from_onnx(made))["main"](rows(0), rows(3))
