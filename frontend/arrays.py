"""Arrays of the numbers that users write in Python."""

from __future__ import annotations

from typing import Any

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import DTYPES
from relex.dialects.errors import kind_of


def array_of(value: Any, dtype: Any = None) -> Array:
    """Return an array of numbers. Raises `TypeError` for anything else that NumPy would make numbers of: None, which
    becomes NaN, and text."""
    found = np.asarray(value)
    are_numbers = found.dtype.kind in "biuf" or found.dtype.name in DTYPES
    others: list[object] = [] if are_numbers else found.reshape(-1).tolist()
    for element in others:
        # Python's integers of more than 64 bits are objects.
        if found.dtype != object or not isinstance(element, int | float):
            raise TypeError(f"expected numbers, found {kind_of(element)}")
    return np.array(value, dtype)
