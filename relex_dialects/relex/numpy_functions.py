"""The functions of formulas in NumPy: what elementwise operators mean."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import INTEGERS, numpy_dtype
from relex.dialects.relex.extremes import maximum, minimum


def erf(x: Array) -> Array:
    """Return the error function, computed in double precision and rounded to the type of `x`."""
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def cast(x: Array, element_type: Attribute) -> Array:
    """Convert elements to another type, as `relex.astype` does."""
    dtype = numpy_dtype(element_type)
    if element_type not in INTEGERS or x.dtype.kind != "f":
        return x.astype(dtype)
    wide = x.astype(np.float64)
    low, end = float(np.iinfo(dtype).min), -float(np.iinfo(dtype).min)
    inside = (low <= wide) & (wide < end)
    small, large = np.iinfo(dtype).min, np.iinfo(dtype).max
    beyond = np.where(wide < low, small, np.where(wide >= end, large, 0))
    return np.where(inside, np.where(inside, wide, 0).astype(dtype), beyond.astype(dtype))


class NumPyFunctions:
    """Functions by their names: those above, else NumPy's."""

    cast = staticmethod(cast)
    erf = staticmethod(erf)
    maximum = staticmethod(maximum)
    minimum = staticmethod(minimum)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, {"select": "where"}.get(name, name))
