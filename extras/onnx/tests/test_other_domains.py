"""Operators that the standard has under another name, or not at all, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.dialects.exceptions import ShapeError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

SHORT = RNG.integers(-999, 999, (2, 3, 4)).astype(np.int16)
CASES: list[tuple[str, list[Any], tuple[int, ...], dict[str, Any]]] = [
    ("Gelu", [normal(2, 3)], (), {}),
    ("Trilu", [normal(3, 4)], (), {"upper": 0}),
    ("GatherND", [normal(3, 4), np.array([[0, 1], [2, -1]])], (), {}),
    ("Pad", [normal(3, 4), np.array([1, 0, 0, 2]), np.array([2], np.float32)], (1,), {}),
    ("Range", [np.float32(1), np.float32(5.5)], (0, 1), {}),
    ("Range", [np.float32(1), np.float32(5.5), np.float32(2)], (0,), {}),
    ("ExpandDims", [normal(3, 4), np.array(-1, np.int32)], (1,), {}),
    ("MatMulInteger16", [SHORT, SHORT.reshape(2, 4, 3)], (), {}),
    ("CDist", [normal(3, 4), normal(5, 4)], (), {"metric": "euclidean"}),
    ("CDist", [normal(3, 4), normal(5, 4)], (), {}),
    ("TransposeMatMul", [normal(4, 3), normal(4, 5)], (), {"transA": 1}),
    ("GridSample", [normal(2, 3, 5, 4), normal(2, 3, 2, 2) / 2], (), {"mode": "bilinear"}),
    ("GridSample", [normal(2, 3, 5, 4), normal(2, 3, 2, 2) / 2], (), {"mode": "nearest", "padding_mode": "border"}),
    ("UnfoldTensor", [normal(2, 7, 3)], (), {"dim": 1, "size": 3, "step": 2}),
    ("UnfoldTensor", [normal(2, 7)], (), {"size": 7}),
    ("GatedAdd", [normal(2, 3, 4), normal(2, 3, 4), normal(2, 3, 1)], (), {}),
    ("ScaledSiLU", [normal(2, 3)], (), {"alpha": 1.5}),
    ("ScaledSiLU", [normal(2, 3).astype(np.float16), np.float32(0.5)], (1,), {}),
    ("GatedRMSNorm", [normal(2, 3, 8), normal(4), normal(2, 3, 8)], (), {"activation": "sigmoid"}),
    ("Inverse", [normal(3, 5, 5)], (), {}),
    ("Inverse", [np.array([[[0, 2], [1, 0]], [[0, 1], [4, 3]]], np.float32)], (), {}),
    ("GatedRMSNorm", [normal(2, 8), normal(8), normal(2, 8)], (), {"epsilon": 0.1}),
]


@pytest.mark.parametrize(("operator", "inputs", "constants", "given"), CASES)
def test_results(operator: str, inputs: list[Any], constants: tuple[int, ...], given: dict[str, Any]) -> None:
    expect_same(operator, inputs, constants=constants, run=interpret, is_open=operator != "GatherND", **given)


def test_different_elements_in_the_order_in_which_they_come() -> None:
    x = np.array([3, 1, 3, 2, 1, 3], np.float32)
    expect_same("Unique", [x], "y", "places", "counts", run=interpret)


@pytest.mark.parametrize("axis", [-1, 1])
def test_norms_over_some_dimensions(axis: int) -> None:
    gamma = normal(4) if axis == -1 else normal(3, 4)
    inputs = [normal(2, 3, 4), gamma]
    expect_same("SimplifiedLayerNormalization", inputs, constants=(1,), domain="", run=interpret, axis=axis)


@pytest.mark.parametrize("channels_last", [0, 1])
def test_quantized_convolutions(channels_last: int) -> None:
    x = RNG.integers(0, 255, (1, 6, 5, 3) if channels_last else (1, 3, 6, 5)).astype(np.uint8)
    weight = RNG.integers(-127, 127, (4, 3, 3, 3)).astype(np.int8)
    inputs = [x, np.float32(0.1), np.uint8(7), weight, np.float32(0.02), np.int8(0), np.float32(0.5), np.uint8(100)]
    given: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "channels_last": channels_last}
    expect_same("QLinearConv", inputs, constants=range(1, 8), run=interpret, **given)


@pytest.mark.parametrize("has_segments", [True, False])
def test_tables_that_are_quantized(has_segments: bool) -> None:
    def table(*shape: int) -> Any:
        return RNG.integers(0, 255, shape).astype(np.uint8)

    ids = RNG.integers(0, 6, (2, 5)).astype(np.int32)
    tables = [table(6, 8), table(5, 8), table(2, 8) if has_segments else None, table(8), table(8)]
    scales = [None if x is None else np.float32(0.01 * (i + 1)) for i, x in enumerate(tables)]
    zeros = [None if x is None else np.uint8(120 + i) for i, x in enumerate(tables)]
    inputs = [ids, ids % 2 if has_segments else None, *tables, (ids > 1).astype(np.int32), *scales, *zeros]
    constants = [k for k, x in enumerate(inputs) if x is not None and k not in (0, 1, 7)]
    names = ("y", "index")
    expect_same("QEmbedLayerNormalization", inputs, *names, constants=constants, run=interpret, rtol=1e-3, epsilon=1e-5)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_positions_that_are_not_finite(mode: str, padding: str, aligned: int) -> None:
    """They are at the first edge."""
    places = [[np.nan, 0.3], [np.inf, 0], [-np.inf, -np.inf], [3e38, 0.25], [0.1, -np.inf]]
    inputs = [normal(1, 2, 3, 4), np.array([[places]], np.float32)]
    given: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": aligned, "run": interpret}
    expect_same("GridSample", inputs, rtol=1e-3, **given)


def test_inverses_of_dynamic_sizes() -> None:
    """Sizes of different names have to be equal when it runs."""
    model, feed = one_node("Inverse", [normal(3, 3)])
    for number, name in enumerate(("rows", "columns")):
        model.graph.input[0].type.tensor_type.shape.dim[number].dim_param = name
    main = interpret(from_onnx(model))["main"]
    x = feed["i0"]
    np.testing.assert_allclose(main(x) @ x, np.eye(3), atol=1e-4)
    with pytest.raises(ShapeError, match="columns"):
        main(x[:2])
    expect_same("Inverse", [x], run=interpret)
    for shape, expected in (((3,), "matrices, found a tensor of rank 1"), ((3, 2), "square matrices, found 3 x 2")):
        with pytest.raises(CompileError, match=f"expected {expected}"):
            from_onnx(one_node("Inverse", [normal(*shape)], is_open=False)[0])


@pytest.mark.parametrize("is_open", [False, True])
def test_inverses_of_no_rows(is_open: bool) -> None:
    for shape in ((0, 0), (3, 0, 0), (0, 3, 3)):
        expect_same("Inverse", [normal(*shape)], is_open=is_open, run=interpret)


def test_windows_that_are_too_large() -> None:
    model, _ = one_node("UnfoldTensor", [normal(3, 2)], size=3)
    with pytest.raises(CompileError, match="expected windows of at most 2 elements, found 3"):
        from_onnx(model)
    model, feed = one_node("UnfoldTensor", [normal(2, 3)], dim=0, size=3)
    with pytest.raises(ShapeError, match=r"expected 3 <= i0_n, found i0_n = 2"):
        interpret(from_onnx(model))["main"](*feed.values())
    with pytest.raises(CompileError, match="expected a size and a step of 1 or more, found 2 and 0"):
        from_onnx(one_node("UnfoldTensor", [normal(2, 3)], size=2, step=0)[0])


def test_missing_inputs() -> None:
    model, _ = one_node("QEmbedLayerNormalization", [np.zeros((1, 2), np.int32), None, normal(3, 4)], is_open=False)
    with pytest.raises(CompileError, match="QEmbedLayerNormalization"):
        from_onnx(model)
