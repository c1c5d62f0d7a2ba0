"""Rows in NumPy, one operator at a time: a contender, and the reference for the results of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders import Backend, Compiled, Weights
from benchmarks.rows import ArrayOperators, Row


class NumPyOperators(ArrayOperators):
    """The operators in NumPy."""

    def relu(self, x: Any) -> Any:
        return np.maximum(x, x.dtype.type(0))

    def exp(self, x: Any) -> Any:
        return np.exp(x)

    def sum(self, x: Any, axis: int | None) -> Any:
        return x.sum(axis)

    def max(self, x: Any, axis: int) -> Any:
        return x.max(axis)

    def softmax(self, x: Any) -> Any:
        powers = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered * centered).mean(-1, keepdims=True)
        return centered / np.sqrt(variance + x.dtype.type(1e-5)) * scale + shift

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        return self.matmul(self.softmax(self.matmul(q, np.swapaxes(k, 1, 2)) * scale), v)

    def transpose(self, x: Any) -> Any:
        return np.ascontiguousarray(x.T)

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        sides = (padding, padding)
        padded = np.pad(x, ((0, 0), (0, 0), sides, sides))
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernels.shape[2:], axis=(2, 3))
        batch, _, height, width = windows.shape[:4]
        columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(batch, height, width, -1)
        return (columns @ kernels.reshape(len(kernels), -1).T).transpose(0, 3, 1, 2)

    def max_pool2d(self, x: Any, size: int) -> Any:
        return np.maximum.reduce([x[..., i::size, j::size] for i in range(size) for j in range(size)])

    def flatten(self, x: Any) -> Any:
        return x.reshape(len(x), -1)


def compile_row(model: tuple[Row, Weights]) -> Compiled:
    """Return a function that evaluates a row."""
    row, weights = model
    operators, known = NumPyOperators(), list(weights.values())
    return lambda *inputs: row.apply(operators, [*inputs, *known])


NUMPY = Backend(compile_row)
