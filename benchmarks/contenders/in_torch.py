"""Rows in PyTorch: eager, and compiled by its default compiler."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.contenders import Backend, Compiled, Weights, thread_limit
from benchmarks.rows import ArrayOperators, Row

warnings.filterwarnings("ignore", module="torch")
logging.disable(logging.WARNING)
# Otherwise it reads compiled code from its on-disk cache, which would distort compile times.
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
torch: Any = import_module("torch")
functional: Any = import_module("torch.nn.functional")
torch.set_num_threads(thread_limit())


class TorchOperators(ArrayOperators):
    """The operators in PyTorch."""

    def dense(self, x: Any, w: Any) -> Any:
        return functional.linear(x, w)

    def relu(self, x: Any) -> Any:
        return torch.relu(x)

    def exp(self, x: Any) -> Any:
        return torch.exp(x)

    def sum(self, x: Any, axis: int | None) -> Any:
        return torch.sum(x, axis)

    def max(self, x: Any, axis: int) -> Any:
        return torch.amax(x, axis)

    def softmax(self, x: Any) -> Any:
        return torch.softmax(x, -1)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return functional.layer_norm(x, scale.shape, scale, shift, 1e-5)

    def attention(self, q: Any, k: Any, v: Any, scale: float) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, scale=scale)

    def transpose(self, x: Any) -> Any:
        return x.T.contiguous()

    def conv2d(self, x: Any, kernels: Any, padding: int) -> Any:
        return functional.conv2d(x, kernels, padding=padding)

    def max_pool2d(self, x: Any, size: int) -> Any:
        return functional.max_pool2d(x, size)

    def flatten(self, x: Any) -> Any:
        return x.flatten(1)


class Model(torch.nn.Module):
    """A row with its weights as a PyTorch module."""

    def __init__(self, row: Row, weights: Weights):
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.row, self.operators = row, TorchOperators()
        for name, array in weights.items():
            self.register_buffer(f"weight_{name}", torch.from_numpy(array))

    def forward(self, *inputs: Any) -> Any:
        """Evaluate the row."""
        known: Sequence[Any] = [getattr(self, f"weight_{name}") for name in self.row.weights]
        return self.row.apply(self.operators, [*inputs, *known])


def on_arrays(model: Any) -> Compiled:
    """Return a function on NumPy arrays that calls a model."""

    @torch.inference_mode()
    def call(*arrays: Any) -> Any:
        return model(*map(torch.from_numpy, arrays)).numpy()

    return call


def eager(model: tuple[Row, Weights]) -> Compiled:
    """Return a function that evaluates a row eagerly."""
    return on_arrays(Model(*model).eval())


def compiled(model: tuple[Row, Weights]) -> Compiled:
    """Compile a row with TorchInductor."""
    inductor: Any = import_module("torch._inductor.config")
    # Weights become constants.
    inductor.freezing = True
    torch.compiler.reset()
    row = model[0]
    function = on_arrays(torch.compile(Model(*model).eval()))
    # Compilation happens on the first call.
    function(*[np.zeros(shape, row.dtype) for shape in row.inputs.values()])
    return function


EAGER = Backend(eager)
COMPILED = Backend(compiled)
