"""The physical limits of rows."""

from __future__ import annotations

from math import prod
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.arrays import Array
from benchmarks.contenders.in_numpy import NumPyOperators
from benchmarks.rows import Row
from relex.tools.run.roofline import FmaPeak, Stream, seconds_of


class CountingOperators(NumPyOperators):
    """Counts the multiplications and additions of matrix products and convolutions."""

    def __init__(self) -> None:
        self.flops = 0

    def _counted(self, result: Array, terms: int) -> Array:
        self.flops += 2 * result.size * terms
        return result

    def dense(self, x: Any, w: Any) -> Any:
        return self._counted(super().dense(x, w), x.shape[-1])

    def matmul(self, x: Any, y: Any) -> Any:
        return self._counted(super().matmul(x, y), x.shape[-1])

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return self._counted(super().conv2d(x, kernels, padding), prod(kernels.shape[1:]))


class RowLimits:
    """The two limits of a row, measured on each request."""

    def __init__(self, row: Row):
        operators = CountingOperators()
        arrays: list[Array] = [np.zeros(shape, row.dtype) for shape in (*row.inputs.values(), *row.weights.values())]
        result: Array = row.apply(operators, arrays)
        self.flops = operators.flops
        self.peak = FmaPeak(row.dtype)
        self.stream = Stream(sum(array.nbytes for array in arrays), result.nbytes)

    def burst(self, seconds: float) -> tuple[float, float]:
        """Return the least time of arithmetic and of memory traffic, measured for about this number of seconds."""
        samples: list[tuple[float, float]] = []
        # Others have used the caches since the previous burst.
        self.peak.run()
        self.stream.run()
        until = perf_counter() + seconds
        while not samples or perf_counter() < until:
            samples.append((seconds_of(self.peak.run), seconds_of(self.stream.run)))
        arithmetic, traffic = (median(column) for column in zip(*samples, strict=True))
        return arithmetic * self.flops / self.peak.flops, traffic / self.stream.passes
