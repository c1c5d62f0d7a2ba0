"""Classes by support vectors and by linear functions, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, INT64, value
from onnx import ModelProto, helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
WIDTH = 3
ROWS: Any = np.concatenate([RNG.standard_normal((6, WIDTH)), [[np.nan, 0, 1], [0, 0, 0]]]).astype(np.float32)


def numbers(count: int) -> list[float]:
    return RNG.standard_normal(count).astype(np.float32).tolist()


def model(operator: str, **given: Any) -> ModelProto:
    node = helper.make_node(operator, ["x"], ["label", "scores"], domain="ai.onnx.ml", **given)
    results = [value("label", INT64, None), value("scores", FLOAT, None)]
    graph = helper.make_graph([node], "classes", [value("x", FLOAT, ["n", WIDTH])], results)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def machine(kernel: str, classes: int, *, has_chances: bool = False) -> dict[str, Any]:
    """Return attributes of a machine with two or three stored rows for each class."""
    counts = [2 + i % 2 for i in range(classes)]
    pairs = classes * (classes - 1) // 2
    chances = {"prob_a": [-abs(n) - 0.5 for n in numbers(pairs)], "prob_b": numbers(pairs)} if has_chances else {}
    return {
        "kernel_type": kernel,
        "kernel_params": [0.5, 0.25, 2.0],
        "vectors_per_class": counts,
        "support_vectors": numbers(sum(counts) * WIDTH),
        "coefficients": numbers(sum(counts) * (classes - 1)),
        "rho": numbers(pairs),
        "classlabels_ints": [3, 7, -1, 12][:classes],
        **chances,
    }


@pytest.mark.parametrize("has_chances", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vectors(kernel: str, classes: int, has_chances: bool) -> None:
    m = model("SVMClassifier", **machine(kernel, classes, has_chances=has_chances))
    expect_as_onnx_runtime(m, {"x": ROWS[:6]}, {"x": ROWS[6:]}, rtol=1e-4, atol=1e-5, run=interpret)


def test_compiled() -> None:
    m = model("SVMClassifier", **machine("RBF", 3, has_chances=True))
    expect_as_onnx_runtime(m, {"x": ROWS[:6]}, rtol=1e-4, atol=1e-5, run=build)


@pytest.mark.parametrize("has_chances", [False, True])
@pytest.mark.parametrize("transform", ["LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_that_are_transformed(transform: str, classes: int, has_chances: bool) -> None:
    m = model("SVMClassifier", **machine("RBF", classes, has_chances=has_chances), post_transform=transform)
    expect_as_onnx_runtime(m, {"x": ROWS[:6]}, rtol=1e-4, atol=1e-5, run=interpret)


@pytest.mark.parametrize("sign", ["mixed", "positive"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_functions(sign: str, classes: int) -> None:
    coefficients = numbers(classes * WIDTH)
    coefficients = [abs(n) for n in coefficients] if sign == "positive" else coefficients
    kernel = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    given = {"coefficients": coefficients, "rho": [0.25], "classlabels_ints": [3, 7, -1][:classes], **kernel}
    expect_as_onnx_runtime(model("SVMClassifier", **given), {"x": ROWS[:6]}, rtol=1e-4, atol=1e-5, run=interpret)


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


@pytest.mark.parametrize("names", [{}, {"classlabels_ints": [3, 7]}])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_two_classes_with_one_function(transform: str, names: dict[str, Any]) -> None:
    m = model("LinearClassifier", coefficients=numbers(WIDTH), intercepts=[0.1], post_transform=transform, **names)
    expect_as_onnx_runtime(m, {"x": ROWS}, rtol=1e-4, atol=1e-5, run=interpret)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_function_for_each_class(transform: str) -> None:
    """Of which some are 0."""
    given = {"coefficients": [1.0, 0, 0, 0, 2, 0, 0, 0, 3], "intercepts": [0.0] * 3, "classlabels_ints": [3, 7, 5]}
    m = model("LinearClassifier", post_transform=transform, **given)
    rows: Any = np.array([[1, 0, 2], [0, -1, 0], [0, 0, 0], [3, 1, 1]], np.float32)
    expect_as_onnx_runtime(m, {"x": rows}, {"x": ROWS}, rtol=1e-4, atol=1e-5, run=interpret)


@pytest.mark.parametrize("operator", ["LinearClassifier", "SVMClassifier"])
def test_a_single_row(operator: str) -> None:
    given = {"coefficients": numbers(WIDTH), "intercepts": [0.1], "classlabels_ints": [3, 7]}
    m = model(operator, **(machine("LINEAR", 3) if operator == "SVMClassifier" else given))
    del m.graph.input[0].type.tensor_type.shape.dim[0]
    expect_as_onnx_runtime(m, {"x": ROWS[0]}, rtol=1e-4, atol=1e-5, run=interpret)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("operator", ["LinearRegressor", "SVMRegressor", "SVMClassifier", "TreeEnsembleRegressor"])
def test_a_single_score_stays_as_it_is(operator: str, transform: str) -> None:
    leaf = {f"target_{name}": [0] for name in ("treeids", "nodeids", "ids")}
    nodes = {f"nodes_{name}": [0] for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")}
    kernel = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}
    given: dict[str, Any] = {
        "LinearRegressor": {"coefficients": numbers(WIDTH), "intercepts": [0.1]},
        "SVMRegressor": {"coefficients": numbers(WIDTH), "rho": [0.25], **kernel},
        "SVMClassifier": {"coefficients": numbers(WIDTH), "rho": [0.25], "classlabels_ints": [3], **kernel},
        "TreeEnsembleRegressor": {**nodes, **leaf, "nodes_modes": ["LEAF"], "nodes_values": [0.0]},
    }[operator]
    if operator == "TreeEnsembleRegressor":
        given |= {"target_weights": [0.25], "n_targets": 1, "base_values": [0.5]}
    m = model(operator, **given, post_transform=transform)
    if operator != "SVMClassifier":
        del m.graph.output[0], m.graph.node[0].output[0]
    expect_as_onnx_runtime(m, {"x": ROWS}, rtol=1e-4, atol=1e-5, run=interpret)


def test_too_few_names() -> None:
    for labels in ([3], [3, 4, 5]):
        with pytest.raises(CompileError, match=f"expected 2 classes, found {len(labels)}"):
            from_onnx(model("LinearClassifier", coefficients=numbers(3), intercepts=[0.0], classlabels_ints=labels))
    with pytest.raises(CompileError, match="expected 3 classes or more, found 2"):
        from_onnx(model("LinearClassifier", coefficients=numbers(9), intercepts=[0.0] * 3, classlabels_ints=[3, 7]))
    for transform in ("PROBIT", "OTHER"):
        with pytest.raises(CompileError, match=f"the function {transform}"):
            from_onnx(model("SVMClassifier", **machine("RBF", 2), post_transform=transform))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"vectors_per_class": [2, 3]}, "expected stored rows of 3 classes, found 2"),
        ({"vectors_per_class": [2, -1, 6]}, "expected numbers of rows that are 0 or more, found -1"),
        ({"rho": [1.0]}, "expected a number for each of 3 pairs of classes, found 1"),
        ({"classlabels_ints": [3], "vectors_per_class": [7]}, "expected a number for each of 0 pairs of classes"),
        ({"coefficients": [1.0, 2.0]}, "expected 7 coefficients for a class, found 1"),
        ({"prob_a": [1.0], "prob_b": [1.0]}, "expected 3 coefficients of probabilities, found 1 and 1"),
        ({"classlabels_ints": None, "classlabels_strings": ["a", "b", "c"]}, "classes whose names are strings"),
    ],
)
def test_refusals(changed: dict[str, Any], expected: str) -> None:
    given = machine("RBF", 3) | changed
    with pytest.raises(CompileError, match=expected):
        from_onnx(model("SVMClassifier", **{name: x for name, x in given.items() if x is not None}))
