"""Rows in JAX, compiled by XLA."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.contenders import Backend, Compiled, Weights
from benchmarks.rows import ArrayOperators, Row

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")


class JaxOperators(ArrayOperators):
    """The operators in JAX."""

    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def exp(self, x: Any) -> Any:
        return jnp.exp(x)

    def sum(self, x: Any, axis: int | None) -> Any:
        return jnp.sum(x, axis)

    def max(self, x: Any, axis: int) -> Any:
        return jnp.max(x, axis)

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(x)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return jax.nn.standardize(x, epsilon=1e-5) * scale + shift

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        return jax.nn.softmax(q @ k.swapaxes(1, 2) * scale) @ v

    def transpose(self, x: Any) -> Any:
        return x.T

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return jax.lax.conv_general_dilated(x, kernels, (1, 1), [(padding, padding)] * 2)

    def max_pool2d(self, x: Any, size: int) -> Any:
        window = (1, 1, size, size)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")

    def flatten(self, x: Any) -> Any:
        return x.reshape(x.shape[0], -1)


def compile_row(model: tuple[Row, Weights]) -> Compiled:
    """Compile a row ahead of time."""
    row, weights = model
    operators, known = JaxOperators(), list(weights.values())
    shapes = [jax.ShapeDtypeStruct(shape, row.dtype) for shape in row.inputs.values()]

    def compute(*inputs: Any) -> Any:
        return row.apply(operators, [*inputs, *known])

    function = jax.jit(compute).lower(*shapes).compile()
    return lambda *arrays: np.asarray(function(*arrays))


JAX = Backend(compile_row)
