"""Pads whose widths are computed from dynamic sizes, as U-Nets of PyTorch have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, value
from onnx import ModelProto, helper, numpy_helper

from relex.dialects.errors import ShapeError
from relex.frontend.onnx import from_onnx
from relex.runtime import build


def centred(kind: int = FLOAT, number: Any = 0, **given: Any) -> ModelProto:
    """A model that puts `x` in the middle of a tensor as large as `y`."""
    nodes = [
        helper.make_node("Shape", ["x"], ["inner"]),
        helper.make_node("Shape", ["y"], ["outer"]),
        helper.make_node("Sub", ["outer", "inner"], ["total"]),
        helper.make_node("Div", ["total", "two"], ["before"]),
        helper.make_node("Sub", ["total", "before"], ["after"]),
        helper.make_node("Concat", ["before", "after"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads", "number"], ["z"], **given),
    ]
    constants = [
        numpy_helper.from_array(np.array(2), "two"),
        numpy_helper.from_array(np.array(number, helper.tensor_dtype_to_np_dtype(kind)), "number"),
    ]
    arguments = [value("x", kind, ["a", "b"]), value("y", FLOAT, ["c", "d"])]
    graph = helper.make_graph(nodes, "centred", arguments, [helper.make_tensor_value_info("z", kind, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize(("dtype", "number"), [(np.float32, -2.5), (np.int64, 7), (np.bool_, True)])
def test_a_constant_around(dtype: Any, number: Any) -> None:
    put = build(from_onnx(centred(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), number)))["main"]
    for inner, outer in (((3, 5), (3, 5)), ((3, 5), (4, 9)), ((1, 1), (17, 2)), ((0, 3), (2, 3))):
        x = np.random.default_rng(0).integers(0, 9, inner).astype(dtype)
        widths = [((m - n) // 2, m - n - (m - n) // 2) for n, m in zip(inner, outer, strict=True)]
        wanted = np.pad(x, widths, constant_values=number)
        np.testing.assert_array_equal(put(x, np.zeros(outer, np.float32)), wanted, strict=True)


def test_negative_widths_are_refused_at_run_time() -> None:
    put = build(from_onnx(centred()))["main"]
    for outer in ((2, 9), (5, 4), (1, 1)):
        with pytest.raises(ShapeError, match=r"expected .* <= .* // 2.*, found [ab] = "):
            put(np.zeros((3, 5), np.float32), np.zeros(outer, np.float32))


def test_elements_around() -> None:
    """Widths and sizes are dynamic; a dimension without elements has none to be surrounded by."""
    put = build(from_onnx(centred(mode="edge")))["main"]
    for inner, outer in (((3, 5), (4, 9)), ((1, 1), (17, 2)), ((2, 3), (2, 3))):
        x = np.random.default_rng(0).normal(size=inner).astype(np.float32)
        widths = [((m - n) // 2, m - n - (m - n) // 2) for n, m in zip(inner, outer, strict=True)]
        np.testing.assert_array_equal(put(x, np.zeros(outer, np.float32)), np.pad(x, widths, "edge"), strict=True)
    with pytest.raises(ShapeError):
        put(np.zeros((0, 3), np.float32), np.zeros((2, 3), np.float32))


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("widths", [(0, 2, 0, 1), (1, 0, 2, 0), (0, -1, 0, 2), (3, 3, 3, 3)])
def test_elements_along_open_dimensions(mode: str, widths: tuple[int, ...]) -> None:
    pads = numpy_helper.from_array(np.array(widths), "pads")
    nodes = [helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)]
    result = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph(nodes, "around", [value("x", FLOAT, ["a", "b"])], [result], [pads])
    put = build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])))["main"]
    for shape in ((3, 8), (4, 5), (2, 4), (1, 4)):
        x = np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)
        cut = x[:, max(-widths[1], 0) :]
        pairs = [(max(n, 0), max(m, 0)) for n, m in zip(widths[:2], widths[2:], strict=True)]
        np.testing.assert_array_equal(put(x), np.pad(cut, pairs, mode=mode), strict=True)  # pyright: ignore


@pytest.mark.parametrize("number", [2.5, np.nan])
def test_a_number_of_the_program_around(number: float) -> None:
    pads = numpy_helper.from_array(np.array([0, 1, 2, -1]), "pads")
    nodes = [helper.make_node("Pad", ["x", "pads", "number"], ["y"])]
    given = [value("x", FLOAT, ["a", "b"]), value("number", FLOAT, [])]
    result = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph(nodes, "around", given, [result], [pads])
    put = build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])))["main"]
    for shape in ((3, 8), (1, 2)):
        x = np.ones(shape, np.float32)
        wanted = np.pad(x[:, :-1], [(0, 2), (1, 0)], constant_values=number)
        np.testing.assert_array_equal(put(x, np.float32(number)), wanted, strict=True)
