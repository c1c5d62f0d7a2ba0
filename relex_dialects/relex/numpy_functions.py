"""The functions of formulas in NumPy: what elementwise operators mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import converted, integer_limits, is_float_dtype, is_sub_byte, numpy_dtype, record_of
from relex.dialects.relex.extremes import maximum, minimum


def erf(x: Array) -> Array:
    """Return the error function, computed in double precision and rounded to the type of `x`."""
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def cast(x: Array, element_type: Attribute) -> Array:
    """Convert elements to another type, as `relex.astype` does."""
    dtype, element = numpy_dtype(element_type), record_of(element_type)
    if x.dtype == dtype:
        return x
    if is_sub_byte(x.dtype):
        x = x.astype(np.int8)  # The extension has no conversions between such types.
    if element.is_float or element.is_bool or not is_float_dtype(x.dtype):
        return converted(x, dtype)
    wide = x.astype(np.float64)
    small, large = integer_limits(element_type)
    low, end = float(small), float(large) + 1
    inside = (low <= wide) & (wide < end)
    beyond = np.where(wide < low, small, np.where(wide >= end, large, 0))
    return np.where(inside, np.where(inside, wide, 0).astype(dtype), beyond.astype(dtype))


def bitcast(x: Array, element_type: Attribute) -> Array:
    """Reinterpret the bits of elements as another type of the same width."""
    return x.view(numpy_dtype(element_type))


def trunc_divide(x: Array, y: Array) -> Array:
    """Return the quotient of integers, rounded towards zero."""
    return (x - np.fmod(x, y)) // y


def power(x: Array, y: Array) -> Array:
    """Raise to a power. Of integers, a negative power is the reciprocal rounded towards zero, which is 0 for 0."""
    if x.dtype.kind == "f":
        return np.power(x, y)
    reciprocal = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0)).astype(x.dtype)
    return np.where(y < 0, reciprocal, np.power(x, np.maximum(y, 0)))


def look_up(x: Array, table: Sequence[float], element_type: Attribute) -> Array:
    """Return the numbers of a type in a table of 16 or 256 that the lowest bits of integers count to."""
    return np.asarray(table, numpy_dtype(element_type))[x.astype(np.int64) & (len(table) - 1)]


_FUNCTIONS = (bitcast, cast, erf, look_up, maximum, minimum, power, trunc_divide)
_OWN = {function.__name__: function for function in _FUNCTIONS}


class NumPyFunctions:
    """Functions by their names: those above, else NumPy's."""

    def __getattr__(self, name: str) -> Any:
        return _OWN.get(name) or getattr(np, {"select": "where"}.get(name, name))
