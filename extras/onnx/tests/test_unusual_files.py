"""Files that are written in unusual ways, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import ModelProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

X = np.array([[1, -2], [-3, 4], [5, -6]], np.float32)


def of(nodes: list[Any], functions: Any = (), sparse: Any = ()) -> ModelProto:
    """A model from `x` to `y`."""
    graph = helper.make_graph(nodes, "net", [value("x", FLOAT, ["n", 2])], [value("y", FLOAT, ["n", 2])])
    graph.sparse_initializer.extend(sparse)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=sets, functions=functions, ir_version=10)


def check(model: ModelProto) -> None:
    expect_as_onnx_runtime(model, {"x": X}, run=interpret)


def test_functions_of_one_name() -> None:
    functions = [
        helper.make_function(
            "mine", "F", ["a"], ["b"], [node(name, "a", "b")], [helper.make_opsetid("", 17)], overload=key
        )
        for name, key in (("Relu", "one"), ("Neg", "other"))
    ]
    calls = [("x", "t", "one"), ("t", "y", "other")]
    check(of([helper.make_node("F", [a], [b], domain="mine", overload=key) for a, b, key in calls], functions))


def sparse(values: list[float], places: Any, *shape: int) -> Any:
    numbers = numpy_helper.from_array(np.array(values, np.float32), "w")
    return helper.make_sparse_tensor(numbers, numpy_helper.from_array(np.array(places), "places"), shape)


@pytest.mark.parametrize("places", [[0, 3], [[0, 1], [1, 0]]])
def test_sparse_tensors(places: Any) -> None:
    weight = sparse([5, 7], places, 2, 2)
    check(of([node("MatMul", "x w", "y")], sparse=[weight]))
    constant = helper.make_node("Constant", [], ["w"], sparse_value=weight)
    check(of([constant, node("MatMul", "x w", "y")]))


@pytest.mark.parametrize(
    ("places", "shape"), [([0, 4], (2, 2)), ([-1, 0], (2, 2)), ([0], (2, 2)), ([0, 1], (2**40, 2))]
)
def test_places_that_a_sparse_tensor_lacks(places: Any, shape: tuple[int, ...]) -> None:
    constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse([5, 7], places, *shape))
    with pytest.raises(CompileError, match=r"out of range|but NNZ is 2|expected a sparse tensor of at most"):
        from_onnx(of([constant, node("MatMul", "x w", "y")]))


def test_nodes_in_any_order() -> None:
    shifted = helper.make_graph([node("Add", "t u", "v")], "then", [], [value("v", FLOAT, ["n", 2])])
    other = helper.make_graph([node("Neg", "t", "w")], "otherwise", [], [value("w", FLOAT, ["n", 2])])
    nodes = [
        helper.make_node("If", ["is_large"], ["y"], then_branch=shifted, else_branch=other),
        node("Greater", "total t0", "is_large"),
        node("ReduceSum", "x", "total", keepdims=0),
        node("Sub", "total total", "t0"),
        node("Abs", "t", "u"),
        node("Exp", "x", "t"),
    ]
    expect_as_onnx_runtime(of(nodes), {"x": X}, {"x": -X}, run=interpret, rtol=1e-5)


def test_nodes_in_a_circle() -> None:
    with pytest.raises(CompileError, match="topologically sorted"):
        from_onnx(of([node("Add", "x y", "t"), node("Neg", "t", "y")]))
