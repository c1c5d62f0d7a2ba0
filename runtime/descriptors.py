"""MLIR memref descriptors, in which compiled code passes row-major buffers.

A descriptor consists of 64-bit words: the allocated and the aligned address, the offset in elements, sizes, strides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


Shape = tuple[int, ...]

ALIGNED, SIZES = 1, 3
"""The words of a descriptor that hold the aligned address and the first size. `entry.ll` reads them too."""


def descriptor(shape: Sequence[int], address: int = 0) -> list[int]:
    """Return the words of a descriptor for a buffer of this shape."""
    strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
    return [address, address, 0, *shape, *strides]


def address_of(array: Array) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]


def code_address(function: Any) -> int:
    """Return the address of a C function of `ctypes`."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def read_descriptor(place: int, rank: int, dtype: np.dtype[Any]) -> Array:
    """Return an array over the buffer that the descriptor at an address describes; it does not own the memory."""
    _, aligned, offset, *sizes = (ctypes.c_int64 * (SIZES + rank)).from_address(place)
    return np.asarray(_Memory(aligned + offset * dtype.itemsize, tuple(sizes), dtype)).view(dtype)


def writable(array: Array) -> Array:
    """Return a writable array over the same memory, which it keeps alive."""
    return np.asarray(_Memory(address_of(array), array.shape, array.dtype, array.strides, array)).view(array.dtype)


class _Memory:
    """Memory at an address, as NumPy's array interface. `owner` keeps it alive."""

    def __init__(
        self,
        address: int,
        shape: Shape,
        dtype: np.dtype[Any],
        strides: tuple[int, ...] | None = None,
        owner: object = None,
    ):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": shape,
            # The interface has no names for dtypes that are not NumPy's own.
            "typestr": f"|u{dtype.itemsize}" if dtype.kind == "V" else dtype.str,
            "strides": strides,
        }
