"""Models with results whose sizes depend on data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import NodeProto, TensorProto, helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.exceptions import ShapeError
from relex.frontend.onnx import from_onnx
from relex.runtime import build

NUMBERS = np.random.default_rng(0)
SIZES = (0, 1, 3, 17, 1000)


def model(nodes: list[NodeProto], inputs: dict[str, tuple[int, list[Any]]], result: int = FLOAT) -> Any:
    arguments = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
    graph = helper.make_graph(nodes, "net", arguments, [helper.make_tensor_value_info("y", result, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [["n"], ["n", 3], [2, "n"], [2, 3]])
def test_nonzero(shape: list[Any]) -> None:
    net = model([node("NonZero", "x", "y")], {"x": (FLOAT, shape)}, TensorProto.INT64)
    sizes = SIZES if "n" in shape else (1,)
    shapes = [[size if d == "n" else d for d in shape] for size in sizes]
    some = [{"x": NUMBERS.integers(0, 2, s).astype(np.float32)} for s in shapes]
    expect_as_onnx_runtime(net, *some, {"x": np.zeros(shapes[-1], np.float32)}, {"x": np.full(shapes[-1], np.nan, "f")})


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None) -> None:
    attributes = {} if axis is None else {"axis": axis}
    inputs = {"x": (FLOAT, ["n", 4]), "c": (TensorProto.BOOL, ["m"])}
    net = model([node("Compress", "x c", "y", **attributes)], inputs)
    for size in SIZES:
        available = {None: 4 * size, 0: size, -1: 4}[axis]
        for count in {available, available // 2}:
            given = {"x": NUMBERS.normal(size=(size, 4)).astype(np.float32), "c": NUMBERS.integers(0, 2, count) == 1}
            expect_as_onnx_runtime(net, given, {**given, "c": np.zeros(count, bool)})


def test_what_follows_from_places() -> None:
    """The elements at the places where there are some, by `Transpose` and `GatherND`."""
    nodes = [node("NonZero", "x", "p"), node("Transpose", "p", "q", perm=[1, 0]), node("GatherND", "x q", "y")]
    net = model(nodes, {"x": (FLOAT, ["n", 3])})
    expect_as_onnx_runtime(net, *({"x": NUMBERS.integers(0, 2, (n, 3)).astype(np.float32)} for n in SIZES[1:]))


def test_sizes_that_do_not_fit() -> None:
    nodes = [node("Compress", "x c", "k", axis=0), node("Add", "k z", "y")]
    net = model(nodes, {"x": (FLOAT, ["n"]), "c": (TensorProto.BOOL, ["n"]), "z": (FLOAT, ["m"])})
    main = build(from_onnx(net))["main"]
    x, c = np.ones(3, np.float32), np.array([True, False, True])
    assert main(x, c, np.ones(2, np.float32)).tolist() == [2, 2]
    with pytest.raises(ShapeError, match=r"expected .*kept == m, found 2"):
        main(x, c, np.ones(3, np.float32))
