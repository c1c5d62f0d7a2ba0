"""Indices of ONNX models are checked where the standard says that they are an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from models import FLOAT, INT64, model, node, value
from onnx import NodeProto, TensorProto, helper, numpy_helper

from relex.dialects.errors import CompileError, IndexRangeError, ShapeError
from relex.frontend.onnx import from_onnx
from relex.passes import RemoveIndexChecksPass
from relex.reference import interpret
from relex.runtime import build

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def taken(x: Any, i: Any) -> Any:
    return x[i]


def taken_along(x: Any, i: Any) -> Any:
    return x[i][:, :1]


def stored(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i % len(x), 0] = 9
    return y


NODES: list[tuple[list[NodeProto], Callable[[Any, Any], Any]]] = [
    ([node("Gather", "x i", "y")], taken),
    ([node("Unsqueeze", "i one", "j"), node("GatherElements", "x j", "y", axis=0)], taken_along),
    ([node("Unsqueeze", "i one", "j"), node("GatherND", "x j", "y")], taken),
    ([node("Unsqueeze", "i one", "j"), node("ScatterElements", "x j nine", "y", axis=0)], stored),
    (
        [
            node("Unsqueeze", "i one", "j"),
            node("Concat", "j zero", "k", axis=1),
            node("Reshape", "nine all", "n"),
            node("ScatterND", "x k n", "y"),
        ],
        stored,
    ),
]
CONSTANTS: list[TensorProto] = [
    numpy_helper.from_array(np.array([1]), "one"),
    numpy_helper.from_array(np.array([[0], [0]]), "zero"),
    numpy_helper.from_array(np.array([-1]), "all"),
    numpy_helper.from_array(np.full((2, 1), 9, np.float32), "nine"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("nodes", "meaning"), NODES, ids=[nodes[-1].op_type for nodes, _ in NODES])
@pytest.mark.parametrize("rows", [4, "rows"])
def test_positions(nodes: list[NodeProto], meaning: Callable[[Any, Any], Any], rows: int | str) -> None:
    inputs = [value("x", FLOAT, [rows, 3]), value("i", INT64, [2])]
    module = from_onnx(model(nodes, inputs, ["y"], CONSTANTS))
    name = nodes[-1].op_type
    for main in (build(module)["main"], interpret(module)["main"]):
        for right in ([0, 3], [-1, -4], [2, 2]):
            np.testing.assert_array_equal(main(X, np.array(right)), meaning(X, np.array(right)))
        for wrong in ([0, 4], [-5, 0], [2**40, 1], [-(2**63), 1]):
            found = next(i for i in wrong if not -4 <= i < 4)
            with pytest.raises(
                IndexRangeError, match=rf"'{name}' node: expected indices from -\w+ to .*, found {found}$"
            ):
                main(X, np.array(wrong))


@pytest.mark.parametrize("least", [0, -5])
def test_many_constant_indices_take_one_check(least: int) -> None:
    """Each of them by itself would take minutes to compile."""
    indices = np.arange(1000) % 9 + least
    constant = numpy_helper.from_array(indices, "i")
    module = from_onnx(model([node("Gather", "x i", "y")], [value("x", FLOAT, ["rows", 3])], ["y"], [constant]))
    assert len([*module.walk()]) < 100
    main, x = build(module)["main"], np.arange(30, dtype=np.float32).reshape(10, 3)
    np.testing.assert_array_equal(main(x), x[indices])
    with pytest.raises(IndexRangeError, match=f"'Gather' node: .*, found {least or 8}$"):
        main(x[:4])


def test_no_indices() -> None:
    inputs = [value("x", FLOAT, ["rows", 3]), value("i", INT64, ["n"])]
    main = build(from_onnx(model([node("Gather", "x i", "y")], inputs, ["y"])))["main"]
    assert main(X[:0], np.zeros(0, np.int64)).shape == (0, 3)
    with pytest.raises(ShapeError):
        main(X[:0], np.zeros(1, np.int64))


def test_a_branch_that_is_not_taken_may_have_wrong_indices() -> None:
    branches = {
        f"{name}_branch": helper.make_graph([inner], name, [], [value(f"{name}_y", FLOAT, [2, 3])])
        for name, inner in (
            ("then", helper.make_node("Gather", ["x", "i"], ["then_y"])),
            ("else", helper.make_node("Gather", ["x", "j"], ["else_y"])),
        )
    }
    inputs = [
        value("x", FLOAT, [4, 3]),
        value("i", INT64, [2]),
        value("j", INT64, [2]),
        value("c", int(TensorProto.BOOL), []),
    ]
    main = build(from_onnx(model([node("If", "c", "y", **branches)], inputs, ["y"])))["main"]
    right, wrong = np.array([0, 1]), np.array([0, 9])
    np.testing.assert_array_equal(main(X, right, wrong, np.array(True)), X[:2])
    np.testing.assert_array_equal(main(X, wrong, right, np.array(False)), X[:2])
    for i, j, c in ((wrong, right, True), (right, wrong, False), (wrong, wrong, True)):
        with pytest.raises(IndexRangeError, match="found 9"):
            main(X, i, j, np.array(c))


def test_indices_that_are_known_to_be_wrong() -> None:
    constant = numpy_helper.from_array(np.array([0, 7]), "i")
    with pytest.raises(CompileError, match="'Gather' node: expected indices from -4 to 3, found 7"):
        from_onnx(model([node("Gather", "x i", "y")], [value("x", FLOAT, [4, 3])], ["y"], [constant]))


def test_without_checks() -> None:
    inputs = [value("x", FLOAT, [4, 3]), value("i", INT64, [2])]
    module = from_onnx(model([node("Gather", "x i", "y")], inputs, ["y"]))
    main = build(module, passes=[RemoveIndexChecksPass()])["main"]
    np.testing.assert_array_equal(main(X, np.array([9, 1])), X[[3, 1]])
