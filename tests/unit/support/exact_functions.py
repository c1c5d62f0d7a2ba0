"""Elementwise functions of floats with 100 digits, by `mpmath`: what `accuracy.py` compares relex with."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from many_digits import Number, mp

from relex.dialects.dtypes import FLOATS
from relex.dialects.relex import Elementwise, Formula, Operator, Relex, extremes
from relex.dialects.relex.elementwise import Predicate
from relex.dialects.relex.numpy_functions import NumPyFunctions, erf

Array = np.ndarray[Any, np.dtype[Any]]

Function = Callable[[Number], Number] | Callable[[Number, Number], Number]
InNumPy = Callable[[Array], Array] | Callable[[Array, Array], Array] | Callable[[Array, Array, Array], Array]

mpf: Callable[[object], Number] = mp.mpf


@dataclass(frozen=True)
class Exact:
    """A function: its value, what it gives for special numbers, and how far from it relex may be."""

    function: Function | None
    """The value for finite numbers other than 0; complex where there is none. None if NumPy's, in the type itself, is
    the nearest number, as the operator's definition says."""

    special: InNumPy
    """The function in NumPy, used where an operand is 0, infinite or NaN."""

    bounds: Mapping[str, float] = field(default_factory=dict[str, float])
    """The largest error in units of the last place, for the element types with one other than `BOUNDS`."""

    note: str = ""
    """Why there are others."""

    operands: int = 1

    def bound(self, element: str) -> float:
        """The largest error, in units in the last place, for an element type."""
        return self.bounds.get(element, BOUNDS[element])


BOUNDS = {"f16": 1.0, "bf16": 1.0, "f32": 4.0, "f64": 4.0}
"""The largest error in units in the last place, by element type."""


def _power(x: Number, y: Number) -> Number:
    """A power. Another one stands for those that are out of the range of all types, which take long to compute."""
    size = y * mp.log(abs(x), 2)
    if abs(size) > 1200:
        magnitude = mpf(2) ** (1200 if size > 0 else -1200)
        whole = y == mp.floor(y)
        return magnitude if x > 0 else mp.nan if not whole else magnitude * (-1) ** int(y % 2)
    return mp.power(x, y)


def _gelu(x: Number) -> Number:
    return x * _erfc(-x / mp.sqrt(2)) / 2


def _erfc(x: Number) -> Number:
    return mp.erfc(min(x, mpf(1000))) if x > -1000 else mpf(2)


def _erf(x: Number) -> Number:
    return mp.erf(x) if abs(x) < 1000 else mp.sign(x)


def _limited(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """A function that is out of the range of all types beyond 3000, where it takes no longer."""
    return lambda x: function(max(min(x, mpf(3000)), mpf(-3000)))


def _sigmoid(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Number) -> Number:
    return x if x > 3000 else mp.log1p(mp.exp(max(x, -3000)))


def _silu(x: Number) -> Number:
    return x if x > 3000 else x * _sigmoid(max(x, -3000))


def _mish(x: Number) -> Number:
    return x if x > 3000 else x * mp.tanh(_softplus(x))


def _gelu_by_tanh(x: Number) -> Number:
    inner = mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)
    return x * _sigmoid(max(min(2 * inner, mpf(10000)), mpf(-10000)))


def _elu_of(x: Number, alpha: float, above: Number) -> Number:
    return above if x > 0 else mpf(alpha) * mp.expm1(max(x, mpf(-3000)))


def _numpy_silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def _numpy_gelu(x: Array) -> Array:
    return x * 0.5 * (1 + erf(x * np.sqrt(0.5)))


_ANGLES = "f64 is left to the C library, which loses digits of huge angles next to a multiple of a right one"

_ROWS: dict[str, Exact] = {
    "acosh": Exact(lambda x: mp.acosh(x) if x >= 1 else mp.nan, np.arccosh),
    "add": Exact(lambda x, y: x + y, np.add, operands=2),
    "astype": Exact(lambda x: x, np.positive),
    "atanh": Exact(lambda x: mp.atanh(x) if abs(x) <= 1 else mp.nan, np.arctanh),
    "clip": Exact(lambda x: min(max(x, mpf(-1)), mpf(1.5)), lambda x: np.clip(x, -1, 1.5)),
    "cos": Exact(mp.cos, np.cos, bounds={"f64": 16.0}, note=_ANGLES),
    "cosh": Exact(_limited(mp.cosh), np.cosh),
    "divide": Exact(lambda x, y: x / y, np.divide, operands=2),
    "erf": Exact(_erf, erf),
    "ewise_fma": Exact(None, lambda x, y, z: x * y + z, operands=3),
    "exp": Exact(_limited(mp.exp), np.exp),
    "exp2": Exact(_limited(lambda x: mpf(2) ** x), np.exp2),
    "expm1": Exact(_limited(mp.expm1), np.expm1),
    "floor_mod": Exact(None, np.remainder, operands=2),
    "gelu": Exact(_gelu, _numpy_gelu),
    "log2": Exact(lambda x: mp.log(x, 2), np.log2),
    "maximum": Exact(max, extremes.maximum, operands=2),
    "minimum": Exact(min, extremes.minimum, operands=2),
    "mod": Exact(None, np.fmod, operands=2),
    "multiply": Exact(lambda x, y: x * y, np.multiply, operands=2),
    "negative": Exact(lambda x: -x, np.negative),
    "power": Exact(_power, np.power, operands=2),
    "relu": Exact(lambda x: max(x, mpf(0)), lambda x: np.maximum(x, 0)),
    "round": Exact(mp.nint, np.rint),
    "rsqrt": Exact(lambda x: 1 / mp.sqrt(x), lambda x: 1 / np.sqrt(x)),
    "sigmoid": Exact(_limited(_sigmoid), lambda x: 1 / (1 + np.exp(-x))),
    "sign": Exact(mp.sign, lambda x: np.where(x == 0, x, np.sign(x))),
    "silu": Exact(_silu, _numpy_silu),
    "sin": Exact(mp.sin, np.sin, bounds={"f64": 16.0}, note=_ANGLES),
    "sinh": Exact(_limited(mp.sinh), np.sinh),
    "subtract": Exact(lambda x, y: x - y, np.subtract, operands=2),
    "tan": Exact(mp.tan, np.tan, bounds={"f64": 16.0}, note=_ANGLES),
    "trunc": Exact(lambda x: mp.sign(x) * mp.floor(abs(x)), np.trunc),
}
"""What to compare operators on floats with, by the last part of their names; others are compared with their formulas,
computed with 100 digits."""


class MpFunctions:
    """The functions of formulas, with 100 digits."""

    def __getattr__(self, name: str) -> Any:
        return _OWN.get(name) or getattr(mp, name)


def _select(condition: bool, x: Any, y: Any) -> Any:
    return x if condition else y


_OWN: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "equal": operator.eq,
    "maximum": max,
    "minimum": min,
    "not_equal": operator.ne,
    "select": _select,
}
"""The functions that `mpmath` calls otherwise."""


def by_formula(kind: type[Formula]) -> Exact:
    """The function that an operator's own formula is, computed with 100 digits."""
    of_class: Any = kind

    def exact(*x: Number) -> Number:
        return kind.formula(of_class, MpFunctions(), *x)

    def in_numpy(*x: Array) -> Array:
        return kind.formula(of_class, NumPyFunctions(), *x)

    return Exact(exact, in_numpy, operands=len(kind.operand_names()))


def operators() -> Mapping[str, type[Operator]]:
    """The elementwise operators that compute floats."""
    kinds = [kind for kind in Relex.operations if issubclass(kind, Elementwise) and not issubclass(kind, Predicate)]
    return {kind.name.partition(".")[2]: kind for kind in kinds if not kind.MOVES and set(FLOATS) & set(kind.ALLOWED)}


def _exact(name: str, kind: type[Operator]) -> Exact:
    if name not in _ROWS and issubclass(kind, Formula):
        return by_formula(kind)
    return _ROWS[name]


OPERATORS: dict[str, Exact] = {name: _exact(name, kind) for name, kind in operators().items()}
"""The operators on floats, by the last part of their names."""

_SELU = (1.6732632423543772, 1.0507009873554805)


def _floor_quotient(x: Number, y: Number) -> Number:
    """Rounded down, unless the quotient has more digits than any float."""
    quotient = x / y
    return mp.floor(quotient) if abs(quotient) < mpf(2) ** 200 else quotient


def _numpy_floor_quotient(x: Array, y: Array) -> Array:
    return np.where(y == 0, x / y, np.floor_divide(x, y))


def _weighted(x: Array, y: Array) -> Array:
    return x / (1 + np.exp(-y))


COMPOSITIONS: dict[str, Exact] = {
    "celu": Exact(lambda x: _elu_of(x / mpf(1.25), 1.25, x), lambda x: np.where(x > 0, x, 1.25 * np.expm1(x / 1.25))),
    "elu": Exact(lambda x: _elu_of(x, 0.75, x), lambda x: np.where(x > 0, x, 0.75 * np.expm1(x))),
    "erfc": Exact(_erfc, np.vectorize(math.erfc, otypes=[np.float64])),
    "floor_quotient": Exact(_floor_quotient, _numpy_floor_quotient, operands=2),
    "gelu_by_tanh": Exact(
        _gelu_by_tanh,
        lambda x: np.where(x > 0, x, _weighted(x, x)),
        note="the cubic in the exponent, of up to 90 in f32 and 750 in f64, is rounded, which matters far below zero",
        bounds={"f32": 256.0, "f64": 2048.0},
    ),
    "hard_shrink": Exact(lambda x: x if abs(x) > 0.5 else mpf(0), lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
    "hard_sigmoid": Exact(lambda x: min(max(x + 3, mpf(0)), mpf(6)) / 6, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hard_swish": Exact(lambda x: x * min(max(x + 3, mpf(0)), mpf(6)) / 6, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hypot": Exact(mp.hypot, np.hypot, operands=2),
    "leaky_relu": Exact(lambda x: x if x >= 0 else x * mpf(0.1), lambda x: np.where(x < 0, x * 0.1, x)),
    "log_sigmoid": Exact(lambda x: -_softplus(-x), lambda x: -np.logaddexp(0, -x)),
    "logit": Exact(lambda x: mp.log(x / (1 - x)) if x != 1 else mp.inf, lambda x: np.log(x / (1 - x))),
    "mish": Exact(_mish, lambda x: x * np.tanh(np.logaddexp(0, x))),
    "selu": Exact(
        lambda x: mpf(_SELU[1]) * _elu_of(x, _SELU[0], x),
        lambda x: np.where(x > 0, x, _SELU[0] * np.expm1(x)) * _SELU[1],
    ),
    "soft_shrink": Exact(lambda x: x - min(max(x, mpf(-0.5)), mpf(0.5)), lambda x: x - np.clip(x, -0.5, 0.5)),
    "softplus": Exact(_softplus, lambda x: np.logaddexp(0, x)),
    "softsign": Exact(lambda x: x / (1 + abs(x)), lambda x: x / (1 + np.abs(x))),
    "swish": Exact(
        lambda x: x if x > 3000 else x * _sigmoid(max(x * mpf(1.5), mpf(-5000))),
        lambda x: _weighted(x, 1.5 * x),
        note="the product in the exponent, of up to 90 in f32 and 750 in f64, is rounded; with `alpha` 1 it is `silu`",
        bounds={"f32": 128.0, "f64": 1024.0},
    ),
}
"""The functions of the front ends that are computed in several steps, by their names in `compositions`."""
