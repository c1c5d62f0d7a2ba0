"""Recurrent layers with quantized weights, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib import RNG, expect_same, normal

HIDDEN, WIDTH = 4, 3


def quantized(dtype: Any, directions: int, rows: int, per_column: bool) -> tuple[Any, Any, Any]:
    """Return a weight, its scales, and its zero points."""
    limits, columns = np.iinfo(dtype), 4 * HIDDEN
    matrix = RNG.integers(limits.min, limits.max + 1, (directions, rows, columns)).astype(dtype)
    shape = (directions, columns) if per_column else (directions,)
    scales = RNG.uniform(0.002, 0.006, shape).astype(np.float32)
    middle = (int(limits.max) + int(limits.min) + 1) // 2
    return matrix, scales, np.full(shape, middle if per_column else middle + 2).astype(dtype)


@pytest.mark.parametrize(
    ("steps", "is_open", "dtype", "direction", "per_column", "given"),
    [
        (1, False, np.uint8, "bidirectional", False, "bias state"),
        (1, False, np.int8, "reverse", True, "bias state peepholes"),
        (5, False, np.int8, "forward", False, "bias state"),
        (5, False, np.uint8, "forward", True, "lengths"),
        (5, True, np.uint8, "bidirectional", False, "bias"),
    ],
)
def test_lstm(steps: int, is_open: bool, dtype: Any, direction: str, per_column: bool, given: str) -> None:
    """The weight and the recurrence are constants, as the quantizer writes them. After the first step, a state whose
    last bit differs may be rounded to another byte. In ONNX Runtime each thread quantizes its part of a batch by the
    range of that part."""
    batch, directions = 1, 1 + (direction == "bidirectional")
    weight, scale_w, zero_w = quantized(dtype, directions, WIDTH, per_column)
    recurrence, scale_r, zero_r = quantized(dtype, directions, HIDDEN, per_column)
    inputs = [
        normal(steps, batch, WIDTH),
        weight,
        recurrence,
        normal(directions, 8 * HIDDEN) if "bias" in given else None,
        np.array([3], np.int32) if "lengths" in given else None,
        *([normal(directions, batch, HIDDEN), normal(directions, batch, HIDDEN)] if "state" in given else [None] * 2),
        normal(directions, 3 * HIDDEN) if "peepholes" in given else None,
        *(scale_w, zero_w, scale_r, zero_r),
    ]
    constants = [1, 2, 8, 9, 10, 11]
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "direction": direction, "rtol": 1e-4 if steps == 1 else 2e-2}
    expect_same("DynamicQuantizeLSTM", inputs, "y", "h", "c", constants=constants, is_open=is_open, **attributes)
