"""The input arrays of all contenders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.rows import Row, Shapes

Array = np.ndarray[Any, np.dtype[Any]]
ALIGNMENT = 64
"""In bytes. The alignment of NumPy's arrays varies, and a vector access that crosses a cache line is slow."""


def aligned(array: Array) -> Array:
    """Copy an array to an aligned address."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def make_arrays(row: Row) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Return the inputs and the weights of a row by name, the same ones each time."""
    rng = np.random.default_rng(0)

    def draw(shapes: Shapes) -> dict[str, Array]:
        return {name: aligned(rng.standard_normal(shape).astype(row.dtype)) for name, shape in shapes.items()}

    return draw(row.inputs), draw(row.weights)
