"""Ensembles of decision trees, against walks in Python."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from models import FLOAT, INT64, value
from onnx import helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError, CompileWarning
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "BRANCH_LEQ": le,
    "BRANCH_LT": lt,
    "BRANCH_GTE": ge,
    "BRANCH_GT": gt,
    "BRANCH_EQ": eq,
    "BRANCH_NEQ": ne,
}


class Split(NamedTuple):
    mode: str
    feature: int
    threshold: float
    yes: int
    no: int
    missing: int = 0
    """1 if NaN goes where a true comparison goes."""


Tree = dict[int, Split | dict[int, float]]
"""Nodes by their numbers; a leaf has votes for targets."""

TREES: list[Tree] = [
    {
        0: Split("BRANCH_LEQ", 0, 0.5, 1, 2, 0),
        1: {0: 1.0},
        2: Split("BRANCH_GT", 1, 1.0, 3, 4, 1),
        3: {1: 2.0, 2: 4.0},
        4: {2: 3},
    },
    {
        0: Split("BRANCH_LT", 2, 0.0, 1, 2, 1),
        1: {1: 0.5},
        2: Split("BRANCH_EQ", 0, 1.0, 3, 4, 0),
        3: {0: 8.0},
        4: {2: 0.25},
    },
    {0: {1: 0.125}},
    {0: Split("BRANCH_GTE", 1, 1.0, 1, 2, 0), 1: {0: 0.75}, 2: Split("BRANCH_NEQ", 2, 1.0, 1, 3, 1), 3: {1: 16.0}},
]

DATA = np.array(
    [[0.5, 1, 0], [1, 1.5, 1], [1, 0.5, 1], [0, 0, -1], [np.nan, 2, 0], [2, np.nan, np.nan], [1, 1, 1]], np.float32
)


def attributes(trees: list[Tree], kind: str) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {
        f"{prefix}_{name}": []
        for prefix, names in {
            "nodes": "treeids nodeids modes featureids values truenodeids falsenodeids missing_value_tracks_true",
            kind: "treeids nodeids ids weights",
        }.items()
        for name in names.split()
    }
    columns = list(made.values())
    for tree, nodes in enumerate(trees):
        for i, node in nodes.items():
            row = tree, i, *(node if isinstance(node, Split) else Split("LEAF", 0, 0.0, 0, 0))
            for column, entry in zip(columns[:8], row, strict=True):
                column.append(entry)
            leaf: dict[int, float] = {} if isinstance(node, Split) else node
            for target, weight in leaf.items():
                for column, entry in zip(columns[8:], (tree, i, target, weight), strict=True):
                    column.append(entry)
    return made


def votes(trees: list[Tree], row: Any, targets: int) -> list[list[float]]:
    """The votes of each tree for each target."""
    found: list[list[float]] = [[] for _ in range(targets)]
    for nodes in trees:
        node = nodes[0]
        while isinstance(node, Split):
            number = float(row[node.feature])
            holds = node.missing if number != number else COMPARE[node.mode](number, node.threshold)
            node = nodes[node.yes if holds else node.no]
        for target, weight in node.items():
            found[target].append(weight)
    return found


def model(operator: str, outputs: list[str], **given: Any) -> onnx.ModelProto:
    node = helper.make_node(operator, ["x"], outputs, domain="ai.onnx.ml", **given)
    graph = helper.make_graph([node], "forest", [value("x", FLOAT, ["n", 3])], [])
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    for output in graph.output:
        output.CopyFrom(helper.make_tensor_value_info(output.name, INT64 if output.name == "label" else FLOAT, None))
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


@pytest.mark.parametrize("aggregation", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression(aggregation: str) -> None:
    every: Tree = {0: {0: 1.0, 1: 2.0, 2: 3.0}}
    trees = TREES if aggregation in ("SUM", "AVERAGE") else [every, *TREES]
    join: Any = {"MIN": min, "MAX": max}.get(aggregation, sum)
    wanted = np.array([[join(of_one) for of_one in votes(trees, row, 3)] for row in DATA], np.float32)
    wanted = (wanted / len(trees) if aggregation == "AVERAGE" else wanted) + np.array([1, 2, 4], np.float32)
    given = {**attributes(trees, "target"), "base_values": [1.0, 2.0, 4.0]}
    m = model("TreeEnsembleRegressor", ["y"], n_targets=3, aggregate_function=aggregation, **given)
    np.testing.assert_allclose(interpret(from_onnx(m))["main"](DATA), wanted, rtol=1e-6)


def test_classification() -> None:
    m = model("TreeEnsembleClassifier", ["label", "y"], classlabels_int64s=[7, 5, 9], **attributes(TREES, "class"))
    wanted = np.array([[sum(of_one) for of_one in votes(TREES, row, 3)] for row in DATA], np.float32)
    labels, scores = interpret(from_onnx(m))["main"](DATA)
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)
    assert labels.tolist() == [[7, 5, 9][i] for i in wanted.argmax(axis=1)]


def test_compiled() -> None:
    trees: list[Tree] = [{0: Split("BRANCH_LEQ", 0, 0.5, 1, 2, 0), 1: {0: 1.0}, 2: {1: 2.0}}]
    m = model("TreeEnsembleClassifier", ["label", "y"], classlabels_int64s=[7, 5], **attributes(trees, "class"))
    labels, scores = build(from_onnx(m))["main"](DATA[:3])
    assert labels.tolist() == [7, 5, 5]
    assert scores.tolist() == [[1, 0], [0, 2], [0, 2]]


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("base", [[], [0.125], [0.125, 0.25]])
@pytest.mark.parametrize("weight", [0.25, -0.25])
@pytest.mark.parametrize("chosen", [0, 1])
def test_votes_for_one_of_two_classes(chosen: int, weight: float, base: list[float], transform: str) -> None:
    trees: list[Tree] = [
        {0: Split("BRANCH_LEQ", 0, 0.5, 1, 2), 1: {chosen: weight}, 2: {chosen: 0.625}},
        {0: Split("BRANCH_GT", 1, 1.0, 1, 2), 1: {chosen: 0.0}, 2: {chosen: 0.125}},
    ]
    given = {**attributes(trees, "class"), **({"base_values": base} if base else {}), "post_transform": transform}
    m = model("TreeEnsembleClassifier", ["label", "y"], classlabels_int64s=[3, 4], **given)
    expect_as_onnx_runtime(m, {"x": DATA}, run=interpret)


@pytest.mark.parametrize("base", [[], [1.0, 0.5, 0.25]])
def test_classes_without_votes(base: list[float]) -> None:
    """They are not chosen, though their score is 0 and others are negative."""
    trees: list[Tree] = [
        {0: Split("BRANCH_LEQ", 0, 0.5, 1, 2), 1: {2: -0.25}, 2: {0: -0.5, 1: -0.75}},
        {0: Split("BRANCH_GT", 1, 1.0, 1, 2), 1: {0: -0.125}, 2: {1: -0.125}},
    ]
    given = {**attributes(trees, "class"), **({"base_values": base} if base else {})}
    m = model("TreeEnsembleClassifier", ["label", "y"], classlabels_int64s=[7, 5, 9], **given)
    expect_as_onnx_runtime(m, {"x": DATA}, run=interpret)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "found a node that is below itself"),
        ({"nodes_modes": ["BRANCH_SIMILAR", "LEAF", "LEAF"]}, "expected comparisons among BRANCH_LEQ"),
        ({"nodes_featureids": [3, 0, 0]}, "expected 4 features, found 3"),
        ({"nodes_falsenodeids": [9, 0, 0]}, "expected nodes of the trees, found 9"),
        ({"base_values": [0.5, 0.25]}, "expected a number for each of 1 targets, found 2"),
    ],
)
def test_wrong_trees(change: dict[str, Any], expected: str) -> None:
    trees: list[Tree] = [{0: Split("BRANCH_LEQ", 0, 0.5, 1, 2, 0), 1: {0: 1.0}, 2: {0: 0.75}}]
    with pytest.raises(CompileError, match=expected):
        from_onnx(model("TreeEnsembleRegressor", ["y"], n_targets=1, **{**attributes(trees, "target"), **change}))


def test_zip_map_is_left_off() -> None:
    trees: list[Tree] = [{0: Split("BRANCH_LEQ", 0, 0.5, 1, 2, 0), 1: {0: -0.7}, 2: {0: 0.9}}]
    given: dict[str, Any] = {"classlabels_int64s": [0, 1], "post_transform": "LOGISTIC", **attributes(trees, "class")}
    m = model("TreeEnsembleClassifier", ["label", "p"], **given)
    plain = interpret(from_onnx(m))["main"](DATA)
    m.graph.node[0].output[1] = "scores"
    m.graph.node.append(helper.make_node("ZipMap", ["scores"], ["p"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]))
    with pytest.warns(CompileWarning, match="the result is the tensor of numbers for all classes"):
        module = from_onnx(m)
    for found, wanted in zip(interpret(module)["main"](DATA), plain, strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_trees_in_any_order() -> None:
    """Numbers of trees and nodes have gaps, and children may come before their parents."""
    trees: list[Tree] = [{0: Split("BRANCH_LEQ", 0, 0.5, 9, 4, 0), 9: {0: 1.0}, 4: {0: 2.0}}, {3: {0: 4.0}}]
    given = attributes(trees, "target")
    given["nodes_treeids"] = [8 * tree for tree in given["nodes_treeids"]]
    given["target_treeids"] = [8 * tree for tree in given["target_treeids"]]
    found = interpret(from_onnx(model("TreeEnsembleRegressor", ["y"], n_targets=1, **given)))["main"](DATA[:2])
    assert found.tolist() == [[5], [6]]
