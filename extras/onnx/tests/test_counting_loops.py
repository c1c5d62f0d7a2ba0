"""Loops whose condition counts up to a size, against ONNX Runtime: TensorFlow's recurrent layers become such loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from models import FLOAT, INT64, node, value
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.exceptions import AssertionFailedError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

BOOL = int(TensorProto.BOOL)
ONE, ZERO = (numpy_helper.from_array(np.array(i), name) for i, name in ((1, "one"), (0, "zero")))

CONDITIONS = {
    "after": [node("Less", "next count", "more")],
    "greater": [node("Greater", "count next", "more"), node("Identity", "more", "again")],
    "floats": [
        node("Cast", "next", "a", to=FLOAT),
        node("Cast", "count", "b", to=FLOAT),
        node("Less", "a b", "more"),
    ],
    "trip": [node("Add", "trip one", "t"), node("Less", "t count", "more")],
    "both": [node("Less", "next count", "p"), node("Less", "trip limit", "q"), node("And", "p q", "more")],
}
"""Ways to say that a number is below the number of rows: directly, as floats, and so on."""


def rows(
    condition: Sequence[Any], *, start: Any = ZERO, most: str = "", first: Sequence[Any] | None = None
) -> ModelProto:
    """A loop over the rows of `x`, which carries their sum and a matrix, and gives the sum in each trip."""
    body = helper.make_graph(
        [
            node("Add", "i one", "next"),
            node("Gather", "x i", "row", axis=0),
            node("MatMul", "row kept", "mapped"),
            node("Add", "total mapped", "sum"),
            *condition,
            node("Identity", "sum", "part"),
            node("Identity", "kept", "kept_on"),
            node("Identity", "count", "count_on"),
        ],
        "body",
        [
            value("trip", INT64, []),
            value("running", BOOL, []),
            value("i", INT64, []),
            value("total", FLOAT, [2]),
            value("count", INT64, []),
            value("kept", FLOAT, [2, 2]),
        ],
        [
            value("more", BOOL, []),
            value("next", INT64, []),
            value("sum", FLOAT, [2]),
            value("count_on", INT64, []),
            value("kept_on", FLOAT, [2, 2]),
            value("part", FLOAT, [2]),
        ],
    )
    start = numpy_helper.from_array(numpy_helper.to_array(start), "start")
    constants = [ONE, ZERO, start, numpy_helper.from_array(np.array(3), "limit")]
    constants += [numpy_helper.from_array(np.zeros(2, np.float32), "none")]
    constants += [numpy_helper.from_array(np.array([[1, 2], [3, 5]], np.float32), "matrix")]
    constants += [numpy_helper.from_array(np.array([0]), "axis"), numpy_helper.from_array(np.array(True), "true")]
    nodes = [
        node("Shape", "x", "shape"),
        helper.make_node("Gather", ["shape", "axis"], ["counts"]),
        node("Squeeze", "counts axis", "count_0"),
        *([node("Less", "start count_0", "begins")] if first is None else first),
        helper.make_node(
            "Loop",
            [most, "begins", "start", "none", "count_0", "matrix"],
            ["i_end", "y", "count_end", "matrix_end", "ys"],
            body=body,
        ),
    ]
    outputs = [value("y", FLOAT, [2]), value("ys", FLOAT, ["m", 2])]
    graph = helper.make_graph(nodes, "net", [value("x", FLOAT, ["n", 2])], outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def numbers(count: int) -> dict[str, Any]:
    return {"x": np.arange(2 * count, dtype=np.float32).reshape(count, 2) - 3}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_numbers_of_rows(condition: str) -> None:
    expect_as_onnx_runtime(rows(CONDITIONS[condition]), *map(numbers, (5, 2, 1)), run=interpret)


def test_compiled() -> None:
    """What no trip changes is not carried."""
    model = rows(CONDITIONS["after"])
    expect_as_onnx_runtime(model, *map(numbers, (4, 1)))
    text = str(from_onnx(model))
    (loop,) = [line for line in text.splitlines() if "scf.for" in line]
    assert "2x2" not in loop


@pytest.mark.parametrize("most", ["one", "limit"])
def test_at_most(most: str) -> None:
    expect_as_onnx_runtime(rows(CONDITIONS["after"], most=most), *map(numbers, (5, 2, 1)), run=interpret)


def test_a_number_that_is_compared_before_it_is_increased() -> None:
    """The loop runs once more."""
    model = rows([node("Less", "i limit", "more")], first=[node("Less", "zero count_0", "begins")])
    expect_as_onnx_runtime(model, numbers(4), run=interpret)


def test_other_starts() -> None:
    start = numpy_helper.from_array(np.array(2))
    expect_as_onnx_runtime(rows(CONDITIONS["after"], start=start), *map(numbers, (5, 2, 1)), run=interpret)


def test_a_first_trip_in_any_case() -> None:
    first = [node("Identity", "true", "begins")]
    expect_as_onnx_runtime(rows(CONDITIONS["after"], first=first), *map(numbers, (5, 1)), run=interpret)


def test_a_first_condition_that_is_another_one() -> None:
    model = rows(CONDITIONS["after"], first=[node("Less", "one count_0", "begins")])
    expect_as_onnx_runtime(model, numbers(3), run=interpret)
    with pytest.raises(AssertionFailedError, match="first iteration to be as those for later ones"):
        interpret(from_onnx(model))["main"](**numbers(1))


@pytest.mark.parametrize(
    "condition",
    [
        [node("ReduceSum", "sum", "s", keepdims=0), node("Cast", "count", "c", to=FLOAT), node("Less", "s c", "more")],
        [node("Less", "next count", "p"), node("Not", "p", "more")],
        [node("Add", "i i", "j"), node("Less", "j count", "more")],
    ],
)
def test_conditions_that_do_not_count(condition: Any) -> None:
    """Rows are added one after another."""
    model = rows(condition)
    assert "scf.while" in str(from_onnx(model))
    feeds = ({"x": np.abs(numbers(count)["x"]) / 10} for count in (5, 2))
    expect_as_onnx_runtime(model, *feeds, rtol=1e-5, run=interpret)
