"""Shapes, widths and numbers of elements that the program computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import NodeProto, TensorProto, helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.exceptions import RelexError
from relex.frontend.onnx import from_onnx
from relex.runtime import build

INT64 = TensorProto.INT64
NUMBERS = np.random.default_rng(0)


def model(
    nodes: list[NodeProto], inputs: dict[str, tuple[int, list[Any]]], results: dict[str, int], opset: int = 18
) -> Any:
    arguments = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in results.items()]
    graph = helper.make_graph(nodes, "net", arguments, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def floats(*shape: int) -> Any:
    return NUMBERS.normal(size=shape).astype(np.float32)


def on_numbers(operator: str, shape: list[Any], count: int, **attributes: Any) -> Any:
    inputs: dict[str, tuple[int, list[Any]]] = {"x": (FLOAT, shape), "n": (INT64, [count])}
    return model([node(operator, "x n", "y", **attributes)], inputs, {"y": FLOAT})


def given(x: Any, *numbers: int) -> dict[str, Any]:
    return {"x": x, "n": np.array(numbers, np.int64)}


def test_reshape() -> None:
    net = on_numbers("Reshape", ["a", 3], 3)
    x = floats(4, 3)
    shapes = [(2, 2, 3), (-1, 2, 1), (0, 0, 1), (12, 1, 1), (0, -1, 1), (3, -1, 4)]
    expect_as_onnx_runtime(net, *(given(x, *shape) for shape in shapes))
    expect_as_onnx_runtime(
        net, given(floats(0, 3), 0, 3, 5), given(floats(1, 3), 3, 1, -1), given(floats(17, 3), 3, 17, 1)
    )
    main = build(from_onnx(net))["main"]
    for wrong in ((5, 1, 1), (-1, -1, 3), (-2, 2, 3), (2**62, 4, 3), (7, -1, 1), (2**40, 2**40, -1), (2**63 - 1, 1, 1)):
        with pytest.raises(RelexError, match=r"'relex\.(reshape|as_sizes)' expected"):
            main(x, np.array(wrong))


def test_reshape_of_nothing() -> None:
    net = on_numbers("Reshape", ["a", 2], 2, allowzero=1)
    expect_as_onnx_runtime(net, given(floats(0, 2), 0, 7), given(floats(0, 2), 3, 0), given(floats(3, 2), 1, 6))
    with pytest.raises(RelexError, match=r"'relex\.as_sizes' expected a size from 0"):
        build(from_onnx(net))["main"](floats(0, 2), np.array([0, -1]))


def test_reshape_to_a_shape_of_elements() -> None:
    """The shape depends on what `NonZero` finds."""
    nodes = [
        node("NonZero", "x", "p"),
        node("ReduceMax", "p", "n", keepdims=0, axes=[1]),
        node("Add", "n one", "m"),
        node("ConstantOfShape", "m", "y"),
    ]
    net = model(nodes, {"x": (FLOAT, ["n", 3]), "one": (INT64, [2])}, {"y": FLOAT}, opset=17)
    main = build(from_onnx(net))["main"]
    x = np.zeros((5, 3), np.float32)
    x[3, 1] = 2
    assert main(x, np.array([1, 1])).tolist() == np.zeros((4, 2)).tolist()


def test_expand() -> None:
    net = on_numbers("Expand", [3, 1], 3)
    expect_as_onnx_runtime(net, *(given(floats(3, 1), *n) for n in ((2, 3, 4), (1, 1, 1), (0, 3, 5), (17, 1, 0))))
    main = build(from_onnx(net))["main"]
    with pytest.raises(RelexError, match="expected 3 or 1 as a size, found 4"):
        main(floats(3, 1), np.array([2, 4, 1]))
    with pytest.raises(RelexError, match=r"'relex\.as_sizes' expected a size from 0 to"):
        main(floats(3, 1), np.array([2, 3, -1]))


def test_expand_dynamic_sizes() -> None:
    net = on_numbers("Expand", ["a", 1], 1)
    expect_as_onnx_runtime(net, *(given(floats(a, 1), n) for a in (0, 1, 17) for n in (0, 1, 5)))


def test_tile() -> None:
    net = on_numbers("Tile", ["a", 2], 2)
    expect_as_onnx_runtime(net, *(given(floats(a, 2), *n) for a in (0, 1, 5) for n in ((1, 1), (3, 2), (0, 4), (2, 0))))
    main = build(from_onnx(net))["main"]
    for wrong in ((-1, 1), (2**63 - 1, 1), (2**57, 2**57)):
        with pytest.raises(RelexError, match=r"'relex\.\w+' expected"):
            main(floats(5, 2), np.array(wrong))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL])
def test_constant_of_shape(kind: int) -> None:
    number = helper.make_tensor("value", kind, [1], [1])
    net = model([node("ConstantOfShape", "n", "y", value=number)], {"n": (INT64, [2])}, {"y": kind})
    expect_as_onnx_runtime(net, *({"n": np.array(n)} for n in ((0, 3), (2, 1), (17, 5))))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(mode: str) -> None:
    net = model([node("Pad", "x n", "y", mode=mode)], {"x": (FLOAT, ["a", 3]), "n": (INT64, [4])}, {"y": FLOAT})
    expect_as_onnx_runtime(net, *(given(floats(5, 3), *n) for n in ((0, 0, 0, 0), (1, 2, 0, 1), (4, 0, 3, 2))))
    with pytest.raises(RelexError, match=r"'relex\.as_sizes' expected a size from 0 to .* as number of d2"):
        build(from_onnx(net))["main"](floats(5, 3), np.array([0, 0, -1, 0]))


def test_top_k() -> None:
    nodes = [node("TopK", "x n", "y p", axis=0)]
    net = model(nodes, {"x": (FLOAT, ["a", 2]), "n": (INT64, [1])}, {"y": FLOAT, "p": INT64})
    expect_as_onnx_runtime(net, *(given(floats(7, 2), k) for k in (0, 1, 3, 7)), given(floats(0, 2), 0))
    main = build(from_onnx(net))["main"]
    for wrong in (8, -1, 2**60):
        with pytest.raises(RelexError, match=r"'relex\.as_sizes' expected|expected a elements at most, found 8"):
            main(floats(7, 2), np.array([wrong]))


@pytest.mark.parametrize(
    ("operator", "count", "message"),
    [
        ("Tile", 3, "expected 2 repeats, found 3"),
        ("Pad", 2, "expected 4 widths, found 2"),
        ("TopK", 2, "expected a number of elements, found 2 numbers"),
        ("Reshape", 0, "expected a shape with as many elements"),
    ],
)
def test_wrong_counts_of_numbers(operator: str, count: int, message: str) -> None:
    outputs = "y p" if operator == "TopK" else "y"
    inputs: dict[str, tuple[int, list[Any]]] = {"x": (FLOAT, ["a", 2]), "n": (INT64, [count])}
    with pytest.raises(RelexError, match=message):
        from_onnx(model([node(operator, "x n", outputs)], inputs, {"y": FLOAT}))


def test_shapes_of_open_length() -> None:
    net = model([node("Reshape", "x n", "y")], {"x": (FLOAT, [6]), "n": (INT64, ["k"])}, {"y": FLOAT})
    with pytest.raises(RelexError, match="expected sizes of a shape that are known at import"):
        from_onnx(net)
