"""The aims of the exercises of lessons 4 to 6, as `lessons` has them of the first three."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.runtime.library import Function
from relex.tools.learn.aims import Aim, Bar
from relex.tools.learn.graded_operators import OperatorAim
from relex.tools.learn.passes import GradedCase, PassAim


def _tanh(x: Array, out: Array) -> None:
    np.tanh(x, out=out)


def _linear(x: Array, w: Array, b: Array, out: Array) -> None:
    out[...] = x @ w.T + b


def _dense(x: Array, w: Array, out: Array) -> None:
    np.matmul(x, w.T, out=out)


def _count(x: Array, out: Array) -> None:
    out[...] = x


LIBRARY: Mapping[str, Function] = {
    "learn.tanh": _tanh,
    "learn.linear": _linear,
    "learn.dense": _dense,
    "learn.count": _count,
}
"""The library functions of lesson 4. They are registered while a solution is graded."""


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _relu_of_linear(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w.T + b, 0)


def _column_sums(x: Array) -> Array:
    return x.sum(0)


def _product(a: Array, b: Array) -> Array:
    return a @ b


def _scaled(x: Array, y: Array) -> Array:
    return 2 * x + y


def _relu_of_product(x: Array, w: Array) -> Array:
    return np.maximum(x @ w, 0)


def _leaky(x: Array) -> Array:
    return np.maximum(x, np.float32(0.1) * x)


def _scaled_rows(x: Array, scale: Array) -> Array:
    return x * scale[:, None]


def _norms(x: Any) -> Array:
    return np.sqrt((x * x).sum(1))


def _narrow_weights(x: Array, digits: Array, scales: Array) -> Array:
    return x @ (digits.astype(np.float32) * scales).T


STEP = np.float32(1 / 64)


def _bytes(x: Array) -> Array:
    return np.clip(np.round(x * 2 / STEP), -127, 127).astype(np.int8)


def _layers(*sizes: tuple[int, int]) -> str:
    """Return a program of dense layers on one row, with these numbers of inputs and outputs."""
    arguments = [f"%w{n}: tensor<{out}x{size}xf32>" for n, (size, out) in enumerate(sizes)]
    names = ["%x", *(f"%{n}" for n in range(len(sizes) - 1)), "%y"]
    lines = [
        f"{names[n + 1]} = relex.dense {names[n]}, %w{n} : (tensor<1x{size}xf32>, tensor<{out}x{size}xf32>) "
        f"-> tensor<1x{out}xf32>"
        for n, (size, out) in enumerate(sizes)
    ]
    result = f"tensor<1x{sizes[-1][1]}xf32>"
    head = f"func.func @main(%x: tensor<1x{sizes[0][0]}xf32>, {', '.join(arguments)}) -> {result} {{"
    return "\n".join([head, *lines, f"func.return %y : {result}", "}"])


PASSES: Mapping[str, PassAim] = {
    "4.5": PassAim(
        [
            GradedCase("a large layer", _layers((64, 32)), {"relex.call_dps_packed": 1, "relex.dense": 0}),
            GradedCase("a small layer", _layers((16, 8))),
            GradedCase("a layer of 1024 weights", _layers((32, 32)), {"relex.call_dps_packed": 1, "relex.dense": 0}),
            GradedCase(
                "two layers, the second small",
                _layers((64, 32), (32, 4)),
                {"relex.call_dps_packed": 1, "relex.dense": 1},
            ),
        ],
        LIBRARY,
    ),
}
"""The aims of the exercises whose solutions are passes."""

AIMS: Mapping[str, Aim] = {
    "4.1": Aim(np.tanh, [[(4, 8)]], needs="relex.call_dps_packed", library=LIBRARY, calls={"learn.tanh": 1}),
    "4.2": Aim(
        _relu_of_linear, [[(4, 8), (16, 8), (16,)]], needs="relex.relu", library=LIBRARY, calls={"learn.linear": 1}
    ),
    "4.3": Aim(
        _relu_of_linear, [[(n, 8), (16, 8), (16,)] for n in (1, 3, 8)], library=LIBRARY, calls={"learn.linear": 1}
    ),
    "4.4": Aim(_relu, [[(4, 8)]], library=LIBRARY, calls={"learn.count": 1}),
    "5.1": Aim(_column_sums, [[(512, 256)]], keeps=True, bar=Bar(4, "unscheduled")),
    "5.2": Aim(_product, [[(128, 128), (128, 128)]], keeps=True, bar=Bar(1.3, "the start")),
    "5.3": Aim(_scaled, [[(4096,), (4096,)]], keeps=True, local_bytes=0),
    "5.4": Aim(_relu_of_product, [[(64, 256), (256, 64)]], keeps=True, local_bytes=256),
    "5.5": Aim(_relu_of_product, [[(64, 256), (256, 64)]], keeps=True, bar=Bar(0.4, "the default schedule")),
    "6.4": Aim(_narrow_weights, [[(4, 8), (16, 8), (16, 1)]], types=("float32", "int8", "float32")),
    "6.5": Aim(_bytes, [[(8, 32)]]),
}
"""The aims of the exercises whose solutions are programs."""


def _on_rows(data: str, scale: str, result: str) -> str:
    """Return a program that scales rows, with operands of these types."""
    return f"""func.func @main(%x: {data}, %s: {scale}) -> {result} {{
  %y = mine.scale_rows %x, %s : ({data}, {scale}) -> {result}
  func.return %y : {result}
}}"""


_ROWS = "tensor<4x8xf32>"

OPERATORS: Mapping[str, OperatorAim] = {
    "6.1": OperatorAim(
        f"""func.func @main(%x: {_ROWS}) -> {_ROWS} {{
          %y = mine.leaky %x : ({_ROWS}) -> {_ROWS}
          func.return %y : {_ROWS}
        }}""",
        _leaky,
        [[(4, 8)]],
    ),
    "6.2": OperatorAim(
        _on_rows(_ROWS, "tensor<4xf32>", _ROWS),
        _scaled_rows,
        [[(4, 8), (4,)]],
        {
            "a scale for 5 rows of 4": _on_rows(_ROWS, "tensor<5xf32>", _ROWS),
            "a scale of rank 2": _on_rows(_ROWS, "tensor<4x1xf32>", _ROWS),
            "data of rank 3": _on_rows("tensor<4x8x2xf32>", "tensor<4xf32>", "tensor<4x8x2xf32>"),
            "a scale in f64 for data in f32": _on_rows(_ROWS, "tensor<4xf64>", _ROWS),
        },
    ),
    "6.3": OperatorAim(
        f"""func.func @main(%x: {_ROWS}) -> tensor<4xf32> {{
          %y = mine.norms %x : ({_ROWS}) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }}""",
        _norms,
        [[(4, 8)]],
    ),
}
"""The aims of the exercises whose solutions are operators."""
