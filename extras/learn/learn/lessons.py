"""What the exercises of the lessons compute, by NumPy, and what else is asked of solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from relex.dialects.arrays import Array


@dataclass(frozen=True)
class Bar:
    """How fast a solution is to be: at least `times` as fast as something else."""

    times: float
    than: Literal["unscheduled", "NumPy"]


@dataclass(frozen=True)
class Aim:
    """What a solution computes: a formula of its arguments, for some shapes of them. `needs` is an op that it must
    have; `keeps` says that only the schedule of the start may change."""

    formula: Callable[..., Array]
    shapes: Sequence[Sequence[tuple[int, ...]]]
    needs: str = ""
    keeps: bool = False
    bar: Bar | None = None


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


AIMS: Mapping[str, Aim] = {
    "1.1": Aim(_scaled, [[(16,), (16,)]]),
    "1.2": Aim(_sums, [[(8, 32)]]),
    "1.3": Aim(_product, [[(8, 24), (24, 16)]]),
    "1.4": Aim(_neighbours, [[(16,)]]),
    "1.5": Aim(_product, [[(128, 128), (128, 128)]], keeps=True, bar=Bar(8, "unscheduled")),
    "2.1": Aim(_layer, [[(4, 8), (16, 8), (16,)]]),
    "2.2": Aim(_network, [[(4, 8), (16, 8), (16,), (10, 16)]]),
    "2.3": Aim(_layer, [[(n, 8), (16, 8), (16,)] for n in (1, 3, 8)]),
    "2.4": Aim(_square_and_itself, [[(32,)]], needs="relex.call_tir"),
    "2.5": Aim(_layer, [[(1, 512), (512, 512), (512,)]], bar=Bar(2 / 3, "NumPy")),
}
"""The aims of all exercises."""
