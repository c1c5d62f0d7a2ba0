"""Minimum and maximum: NaN if an element is NaN, with +0 above -0. NumPy does not specify which zero it returns."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.arrays import Array, np


def maximum(a: Array, b: Array | float) -> Array:
    """Return the maximum of two elements; a number takes the type of `a`."""
    b = np.asarray(b, a.dtype)
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    # The sum of two zeros is -0 only if both are.
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Array, b: Array | float) -> Array:
    """Return the minimum of two elements; a number takes the type of `a`."""
    b = np.asarray(b, a.dtype)
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    return np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


def largest(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """Return the maximum along some dimensions. Without elements, the result must be empty, too. Other arrays than
    NumPy's have methods of this name."""
    if (own := getattr(x, "largest", None)) is not None:
        return own(axes, keepdims)
    if not x.size:
        return np.sum(x, axis=tuple(axes), keepdims=keepdims, dtype=x.dtype)
    result: Array = np.asarray(np.max(x, axis=tuple(axes), keepdims=keepdims))
    if x.dtype.kind != "f":
        return result
    plus_zero = np.any((x == 0) & ~np.signbit(x), axis=tuple(axes), keepdims=keepdims)
    zero = np.where(plus_zero, 0.0, -0.0).astype(x.dtype)
    return np.where(result == 0, zero, result)


def smallest(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """Return the minimum along some dimensions. Without elements, the result must be empty, too. Other arrays than
    NumPy's have methods of this name."""
    if (own := getattr(x, "smallest", None)) is not None:
        return own(axes, keepdims)
    if not x.size:
        return largest(x, axes, keepdims=keepdims)
    if x.dtype.kind != "f":
        return np.min(x, axis=tuple(axes), keepdims=keepdims)
    return -largest(-x, axes, keepdims=keepdims)
