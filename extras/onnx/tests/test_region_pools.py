"""Maxima of parts of regions, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError, WrongIndexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

CORNERS = RNG.integers(-2, 12, (7, 2))
REGIONS = np.concatenate([RNG.integers(0, 2, (7, 1)), CORNERS, CORNERS + RNG.integers(-1, 9, (7, 2))], 1)


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("counts", [[1, 1], [2, 3], [5, 4]])
def test_maxima(scale: float, counts: list[int]) -> None:
    inputs = [normal(2, 3, 8, 9), REGIONS.astype(np.float32)]
    expect_same("MaxRoiPool", inputs, domain="", run=interpret, spatial_scale=scale, pooled_shape=counts)


def test_infinite_pixels_and_corners() -> None:
    x = normal(1, 2, 4, 4)
    x[0, 0, :2], x[0, 1, 3, 3] = -np.inf, np.inf
    nan, inf = np.nan, np.inf
    corners = [[0, 0, 1, 1], [0, 0, 3, 3], [9, 9, 9, 9], [0, 0, nan, 3], [nan, 0, 3, 3], [0, 0, 3, inf], [0, 0, 3e9, 3]]
    regions = np.array([[0, *corner] for corner in [*corners, [-1e10, 0, 1e10, 3]]], np.float32)
    expect_same("MaxRoiPool", [x, regions], domain="", run=interpret, pooled_shape=[2, 2])


def test_images_that_are_missing() -> None:
    for image in (np.nan, 2.0, -1.0):
        given = normal(2, 1, 4, 4), np.array([[image, 0, 0, 1, 1]], np.float32)
        model, feed = one_node("MaxRoiPool", given, domain="", pooled_shape=[1, 1])
        with pytest.raises(WrongIndexError, match="expected indices from 0 to"):
            interpret(from_onnx(model))["main"](*feed.values())


def test_refusal() -> None:
    model, _ = one_node("MaxRoiPool", [normal(2, 3, 8, 9), normal(4, 5)], domain="", pooled_shape=[0, 1])
    with pytest.raises(CompileError, match="expected two numbers of parts, found"):
        from_onnx(model)
