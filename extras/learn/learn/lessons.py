"""What the exercises of the lessons compute, by NumPy, and what else is asked of solutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.tools.learn import later_lessons
from relex.tools.learn.aims import Aim, Bar
from relex.tools.learn.passes import GradedCase, PassAim


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _layer(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w.T + b, 0)


def _network(x: Array, w0: Array, b0: Array, w1: Array) -> Array:
    return _softmax(_layer(x, w0, b0) @ w1.T)


def _scaled(x: Array, y: Array) -> Array:
    return 2 * x + y


def _sums(x: Array) -> Array:
    return x.sum(1)


def _product(a: Array, b: Array) -> Array:
    return a @ b


def _neighbours(x: Array) -> Array:
    return x[:-1] + x[1:]


def _square_and_itself(x: Any) -> Array:
    return x * x + x


def _main(arguments: str, body: str, result: str) -> str:
    """Return a program of one graph function whose last value is `%y`."""
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nfunc.return %y : {result}\n}}"


_ROW = "tensor<6xf32>"
_UNARY = f": ({_ROW}) -> {_ROW}"
_BINARY = f": ({_ROW}, {_ROW}) -> {_ROW}"


def _chain(*lines: str) -> str:
    """Return a program on vectors of six elements, from the right sides of its lines; the last one is the result."""
    names = [f"%{n}" for n in range(len(lines) - 1)] + ["%y"]
    body = [
        f"{name} = {line} {_BINARY if line.count('%') == 2 else _UNARY}"
        for name, line in zip(names, lines, strict=True)
    ]
    return _main(f"%x: {_ROW}, %z: {_ROW}", "\n".join(body), _ROW)


def _turned(first: str, second: str) -> str:
    """Return a program that transposes cubes twice, by these axes."""
    cube, axes = "tensor<4x4x4xf32>", [f"axes = [{text}] " if text else "" for text in (first, second)]
    lines = [
        f"%0 = relex.permute_dims %x {axes[0]}: ({cube}) -> {cube}",
        f"%y = relex.permute_dims %0 {axes[1]}: ({cube}) -> {cube}",
    ]
    return _main(f"%x: {cube}", "\n".join(lines), cube)


_WIDE = "tensor<4x6xf32>"


def _dense_layer(*last: str) -> str:
    """Return a program of a dense layer with a bias, `%1`, and further lines."""
    lines = [
        f"%0 = relex.dense %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> {_WIDE}",
        f"%1 = relex.add %0, %b : ({_WIDE}, {_ROW}) -> {_WIDE}",
        *last,
    ]
    return _main(f"%x: tensor<4x8xf32>, %w: tensor<6x8xf32>, %b: {_ROW}", "\n".join(lines), _WIDE)


_RELU = f"%y = relex.relu %1 : ({_WIDE}) -> {_WIDE}"

PASSES: Mapping[str, PassAim] = {
    "3.1": PassAim(
        [
            GradedCase("relu(relu(x))", _chain("relex.relu %x", "relex.relu %0"), {"relex.relu": 1}),
            GradedCase("three in a row", _chain("relex.relu %x", "relex.relu %0", "relex.relu %1"), {"relex.relu": 1}),
            GradedCase("relu(tanh(x))", _chain("relex.tanh %x", "relex.relu %0")),
            GradedCase(
                "a relu that is used twice",
                _chain("relex.relu %x", "relex.relu %0", "relex.subtract %0, %1"),
                {"relex.relu": 1, "relex.subtract": 1},
            ),
        ]
    ),
    "3.2": PassAim(
        [
            GradedCase("x * x + z", _chain("relex.multiply %x, %x", "relex.add %0, %z"), {"relex.ewise_fma": 1}),
            GradedCase("x + x * z", _chain("relex.multiply %x, %z", "relex.add %x, %0"), {"relex.ewise_fma": 1}),
            GradedCase("p + p", _chain("relex.multiply %x, %z", "relex.add %0, %0")),
            GradedCase(
                "a product that is used twice",
                _chain("relex.multiply %x, %z", "relex.add %0, %x", "relex.subtract %1, %0"),
            ),
        ]
    ),
    "3.3": PassAim(
        [
            GradedCase("[1, 2, 0], then [2, 0, 1]", _turned("1, 2, 0", "2, 0, 1"), {"relex.permute_dims": 0}),
            GradedCase("[1, 2, 0], twice", _turned("1, 2, 0", "1, 2, 0")),
            GradedCase("[0, 2, 1], twice", _turned("0, 2, 1", "0, 2, 1"), {"relex.permute_dims": 0}),
            GradedCase("without axes, twice", _turned("", ""), {"relex.permute_dims": 0}),
            GradedCase("without axes, then [1, 2, 0]", _turned("", "1, 2, 0")),
        ]
    ),
    "3.4": PassAim(
        [
            GradedCase("a layer", _dense_layer(_RELU), {"relex.call": 1, "relex.dense": 0, "relex.relu": 0}),
            GradedCase("a layer without a relu", _dense_layer(_RELU.replace("relu", "tanh"))),
            GradedCase("a relu alone", _chain("relex.relu %x")),
        ]
    ),
    "3.5": PassAim(
        [
            GradedCase(
                "the network",
                _dense_layer(
                    f"%2 = relex.softmax %1 axis = 0 : ({_WIDE}) -> {_WIDE}",
                    f"%3 = relex.relu %2 : ({_WIDE}) -> {_WIDE}",
                    f"%4 = relex.softmax %1 axis = 0 : ({_WIDE}) -> {_WIDE}",
                    f"%y = relex.subtract %3, %4 : ({_WIDE}, {_WIDE}) -> {_WIDE}",
                ),
                {"relex.softmax": 1},
                kernels=2,
            ),
            GradedCase(
                "softmax along two axes",
                _dense_layer(
                    f"%2 = relex.softmax %1 axis = 0 : ({_WIDE}) -> {_WIDE}",
                    f"%3 = relex.softmax %1 axis = 1 : ({_WIDE}) -> {_WIDE}",
                    f"%y = relex.subtract %3, %2 : ({_WIDE}, {_WIDE}) -> {_WIDE}",
                ),
            ),
            GradedCase("x - z and z - x", _chain("relex.subtract %x, %z", "relex.subtract %z, %x", "relex.add %0, %1")),
            GradedCase(
                "equal ones of equal ones",
                _chain("relex.tanh %x", "relex.tanh %x", "relex.relu %0", "relex.relu %1", "relex.add %2, %3"),
                {"relex.tanh": 1, "relex.relu": 1},
            ),
        ]
    ),
    **later_lessons.PASSES,
}
"""The aims of the exercises whose solutions are passes."""

AIMS: Mapping[str, Aim] = {
    "1.1": Aim(_scaled, [[(16,), (16,)]]),
    "1.2": Aim(_sums, [[(8, 32)]]),
    "1.3": Aim(_product, [[(8, 24), (24, 16)]]),
    "1.4": Aim(_neighbours, [[(16,)]]),
    "1.5": Aim(_product, [[(128, 128), (128, 128)]], keeps=True, bar=Bar(5, "unscheduled")),
    "2.1": Aim(_layer, [[(4, 8), (16, 8), (16,)]]),
    "2.2": Aim(_network, [[(4, 8), (16, 8), (16,), (10, 16)]]),
    "2.3": Aim(_layer, [[(n, 8), (16, 8), (16,)] for n in (1, 3, 8)]),
    "2.4": Aim(_square_and_itself, [[(32,)]], needs="relex.call_tir"),
    "2.5": Aim(_layer, [[(1, 512), (512, 512), (512,)]], bar=Bar(2 / 3, "NumPy")),
    **later_lessons.AIMS,
}
"""The aims of the exercises whose solutions are programs."""

OPERATORS = later_lessons.OPERATORS
