"""MLIR's memref descriptors, through which compiled code passes row-major buffers.

A descriptor is words of 64 bits: the allocated and the aligned address, an offset in elements, the sizes, the strides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


def descriptor(shape: Sequence[int], address: int = 0) -> list[int]:
    """The words for a buffer of this shape."""
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    return [address, address, 0, *shape, *strides]


def address_of(array: Array) -> int:
    """Where the first element is."""
    return array.__array_interface__["data"][0]


def read_descriptor(place: int, rank: int, dtype: np.dtype[Any]) -> Array:
    """The buffer that the descriptor at an address describes, as an array on the same memory, which nothing keeps."""
    _, aligned, offset, *sizes = (ctypes.c_int64 * (3 + rank)).from_address(place)
    return np.asarray(_Memory(aligned + offset * dtype.itemsize, tuple(sizes), dtype))


def writable(array: Array) -> Array:
    """The same memory, which may be written. The result keeps it."""
    return np.asarray(_Memory(address_of(array), array.shape, array.dtype, array.strides, array))


class _Memory:
    """Bytes at an address, in the form that NumPy makes arrays of. `owner` is what keeps them."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        strides: tuple[int, ...] | None = None,
        owner: object = None,
    ):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            "typestr": dtype.str,
            "strides": strides,
        }
