"""The larger and the smaller of numbers: NaN where one is NaN, +0 above -0. NumPy leaves open which zero it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relex.dialects.relex.operator import ieee_arithmetic

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


def maximum(a: Array, b: Array) -> Array:
    """The larger of two elements."""
    import numpy as np

    if a.dtype.kind != "f":
        return np.maximum(a, b)
    with ieee_arithmetic():
        # The sum of two zeros is -0 only for two of these.
        return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    """The smaller of two elements."""
    import numpy as np

    if a.dtype.kind != "f":
        return np.minimum(a, b)
    with ieee_arithmetic():
        return np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


def largest(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """The largest element along some dimensions. Of no elements there must be no result."""
    import numpy as np

    if not x.size:
        return np.sum(x, axis=tuple(axes), keepdims=keepdims, dtype=x.dtype)
    result: Array = np.asarray(np.max(x, axis=tuple(axes), keepdims=keepdims))
    if x.dtype.kind != "f":
        return result
    plus_zero = np.any((x == 0) & ~np.signbit(x), axis=tuple(axes), keepdims=keepdims)
    zero = np.where(plus_zero, 0.0, -0.0).astype(x.dtype)
    return np.where(result == 0, zero, result)


def smallest(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """The smallest element along some dimensions. Of no elements there must be no result."""
    import numpy as np

    if not x.size:
        return largest(x, axes, keepdims=keepdims)
    if x.dtype.kind != "f":
        return np.min(x, axis=tuple(axes), keepdims=keepdims)
    return -largest(-x, axes, keepdims=keepdims)
