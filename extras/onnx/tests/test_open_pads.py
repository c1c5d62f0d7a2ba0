"""Pads whose widths are computed from dynamic sizes, as U-Nets of PyTorch have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, value
from onnx import ModelProto, helper, numpy_helper

from relex.dialects.errors import CompileError, ShapeError
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


def test_elements_around_are_refused() -> None:
    with pytest.raises(CompileError, match="expected a number that is known for pads of dynamic widths"):
        from_onnx(centred(mode="edge"))
