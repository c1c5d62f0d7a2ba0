"""Numbers with a spread: how far apart two correct values of them may lie.

A number is stored as one element of a structured array, so that loads, stores and copies move all of it. Besides
`value` and `spread`, a float has the parts of a sum: `mass`, `terms` and `quantum`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relex.dialects.dtypes import element_type_of, is_float_dtype, record_of
from relex.reference.interpreter.memory import any_of

where: Any = np.where
"""`np.where`, for arrays without static types."""


class UndecidedBranch(Exception):
    """Control flow depends on a number that may have several values."""


class Bounded(np.void):
    """One number. Control flow may depend on it only if it has a single value."""

    def _decided(self) -> Any:
        if self["spread"] != 0:
            raise UndecidedBranch
        return self["value"]

    def __bool__(self) -> bool:
        return bool(self._decided())

    def __int__(self) -> int:
        return int(self._decided())

    __index__ = __int__


_FLOAT_PARTS = ("spread", "mass", "terms", "quantum")


@cache
def bounded_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which bounded numbers of a dtype are stored."""
    parts = _FLOAT_PARTS if is_float_dtype(dtype) else ("spread",)
    fields: Any = [("value", dtype), *((part, np.float64) for part in parts)]
    return np.dtype((Bounded, fields))


@dataclass(frozen=True)
class Format:
    """Properties of a float dtype that the bounds need."""

    roundoff: float
    """The largest relative error of a rounding."""
    tiny: float
    """The smallest positive number."""
    largest: float
    precision: int
    """The number of bits of a significand."""

    @classmethod
    @cache
    def of(cls, dtype: np.dtype[Any]) -> Format:
        """Return the properties of a float dtype."""
        element = record_of(element_type_of(dtype))
        tiny = 2.0 ** (1 - element.exponent_bias - element.fraction_bits)
        largest = (2.0 - 2.0**-element.fraction_bits) * 2.0**element.exponent_bias
        return cls(2.0 ** -(element.fraction_bits + 1), tiny, largest, element.digits)


SLACK = 1 + 1e-6
"""Covers the rounding errors of the bounds themselves."""


def plain(value: Any, spread: Any = 0.0) -> Any:
    """Return numbers whose correct values lie at most `spread` apart."""
    value = np.asarray(value)
    result = np.zeros(np.broadcast_shapes(value.shape, np.shape(spread)), bounded_dtype(value.dtype))
    result["value"] = value
    result["spread"] = spread
    return result[()]


def value_of(number: Any) -> Any:
    """Return the values of numbers, bounded or NumPy's."""
    return number["value"] if number.dtype.names else number


def spread_of(number: Any) -> Any:
    """Return how far apart two correct values may lie: 0 if there is only one, infinity if nothing is known."""
    if not number.dtype.names:
        return np.float64(0)
    if len(number.dtype.names) == 2 or not any_of(number["terms"] > 0):
        return number["spread"]
    return _spread_of_sum(number)


@np.errstate(all="ignore")
def _spread_of_sum(total: Any) -> Any:
    """Return the spread of sums of terms in any order. A sum of n numbers is off by at most n roundings of the sum of
    their absolute values; if all partial sums are multiples of one number and small enough to be representable, none is
    rounded."""
    value, mass = total["value"], total["mass"]
    fmt = Format.of(value.dtype)
    is_exact = mass <= total["quantum"] * 2.0**fmt.precision
    rounding = where(is_exact, 0.0, 2 * SLACK * fmt.roundoff * total["terms"] * mass)
    spread = total["spread"] + where(total["terms"] > 0, rounding, 0.0)
    spread = where((value == 0) & (total["terms"] > 0), np.maximum(spread, fmt.tiny), spread)
    # Infinite or NaN in any order, because a term is.
    spread = where(~np.isfinite(value) & np.isfinite(total["spread"]), 0.0, spread)
    may_overflow = (total["terms"] > 0) & ~(mass * SLACK + spread < fmt.largest)
    return where(may_overflow, np.inf, spread)


def quantum_of(value: Any) -> Any:
    """Return the largest power of two that numbers are multiples of; infinity for zero."""
    significand, exponent = np.frexp(np.asarray(value, np.float64))
    whole = where(np.isfinite(significand), np.ldexp(significand, 53), 0).astype(np.int64)
    quantum = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)
    return where(whole == 0, np.inf, quantum)


def add_terms(value: Any, a: Any, b: Any) -> Any:
    """Return `value`, the sum of `a` and `b`, as part of a sum in any order."""
    left, right = _as_sum(a), _as_sum(b)
    result = np.zeros(np.shape(value), bounded_dtype(value.dtype))
    result["value"] = value
    for part in ("spread", "mass"):
        result[part] = left[part] + right[part]
    result["terms"] = left["terms"] + right["terms"] + 1
    result["quantum"] = np.minimum(left["quantum"], right["quantum"])
    return result[()]


def _as_sum(number: Any) -> dict[str, Any]:
    """Return the parts of a number as a sum: of one term, unless it is a sum already."""
    value, spread = value_of(number), spread_of(number)
    is_finite = np.isfinite(value)
    quantum = where(spread == 0, quantum_of(value), 0.0)
    alone = {
        "spread": spread,
        "mass": where(is_finite, np.abs(value.astype(np.float64)) + spread, 0.0),
        "terms": np.zeros(np.shape(value)),
        "quantum": where(is_finite, quantum, np.inf),
    }
    if not number.dtype.names or not any_of(number["terms"] > 0):
        return alone
    return {part: where(number["terms"] > 0, number[part], of_one) for part, of_one in alone.items()}
