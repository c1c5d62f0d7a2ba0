"""Operators that the standard has under another name, or not at all, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal

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
