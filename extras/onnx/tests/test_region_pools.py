"""Maxima of parts of regions, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import RNG, expect_same, normal, one_node

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

CORNERS = RNG.integers(-2, 12, (7, 2))
REGIONS = np.concatenate([RNG.integers(0, 2, (7, 1)), CORNERS, CORNERS + RNG.integers(-1, 9, (7, 2))], 1)


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("counts", [[1, 1], [2, 3], [5, 4]])
def test_maxima(scale: float, counts: list[int]) -> None:
    inputs = [normal(2, 3, 8, 9), REGIONS.astype(np.float32)]
    expect_same("MaxRoiPool", inputs, domain="", run=interpret, spatial_scale=scale, pooled_shape=counts)


def test_refusal() -> None:
    model, _ = one_node("MaxRoiPool", [normal(2, 3, 8, 9), normal(4, 5)], domain="", pooled_shape=[0, 1])
    with pytest.raises(CompileError, match="expected two numbers of parts, found"):
        from_onnx(model)
