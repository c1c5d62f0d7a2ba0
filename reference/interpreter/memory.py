"""Buffers: the memory of memrefs, and its state in a checked run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Operation, SSAValue

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype, is_sub_byte
from relex.dialects.errors import OutOfMemoryError, name_of, stop

PATTERN = 0xA5
"""The value of each byte of a fresh integer in a checked run."""


class Memory:
    """An allocation that buffers and their views share: the bytes of a contiguous array."""

    __slots__ = ("array", "freed_by")

    def __init__(self, array: Array):
        self.array = array
        self.freed_by: Operation | None = None


class Buffer:
    """An array in some memory, read and written in place. Its offset counts from `base`, a byte of the memory: the
    first one, or where a `memref.view` begins."""

    __slots__ = ("array", "base", "memory")

    def __init__(self, array: Array, memory: Memory | None = None, base: int = 0):
        self.base = base
        self.array = array.view(signless(array.dtype)) if array.dtype.kind in "uV" else array
        self.memory = memory or Memory(self.array)

    @classmethod
    def read_only(cls, array: Array) -> Buffer:
        """Return a buffer that stops the run when it is written."""
        view = np.asarray(array, order="C").view()
        view.flags.writeable = False
        return cls(view)

    @property
    def start(self) -> int:
        """The offset of the first element in the memory, in bytes."""
        return address(self.array) - address(self.memory.array)

    @property
    def offset(self) -> int:
        """The offset of the first element, in bytes, that the type of the buffer states in elements."""
        return self.start - self.base

    def place(self, index: Sequence[int]) -> tuple[Memory, int]:
        """Identify an element, in the same way for all buffers that contain it."""
        return self.memory, self.start + sum(i * step for i, step in zip(index, self.array.strides, strict=True))


def signless(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that the integers of buffers have, which have no sign: the dtype of signed ones, also in its
    fields; bytes, for integers of fewer than 8 bits."""
    if dtype.names is None:
        return np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" or is_sub_byte(dtype) else dtype
    return np.dtype((dtype.type, [(name, signless(dtype[name])) for name in dtype.names]))


def address(array: Array) -> int:
    """Return the address of the first element."""
    return array.__array_interface__["data"][0]


# NumPy moves elements that have fields many times slower than those without.


def gather(array: Array, index: Any) -> Any:
    """Return elements of an array."""
    if not array.dtype.names or not any(map(np.ndim, index)):
        return array[index]
    return _without_fields(array)[index].view(array.dtype)


def scatter(array: Array, index: Any, values: Any) -> None:
    """Set elements of an array."""
    if array.dtype.names and np.shape(values) and values.dtype == array.dtype and array.dtype[0] == np.int64:
        _words(array)[index] = _words(values)
    else:
        array[index] = values


def copied(array: Array) -> Array:
    """Return a copy of an array."""
    return _without_fields(array).copy().view(array.dtype) if array.dtype.names else array.copy()


def _without_fields(array: Array) -> Array:
    return array.view(np.dtype((np.void, array.dtype.itemsize)))


def _words(array: Any) -> Array:
    """Return the words of elements that consist of such, in a last dimension."""
    assert array.dtype.names
    first: Any = array[array.dtype.names[0]]
    return as_strided(first, (*first.shape, array.dtype.itemsize // 8), (*first.strides, 8))


def fresh_array(shape: tuple[int, ...], dtype: np.dtype[Any], *, checked: bool) -> Array:
    """Return an array of unspecified contents: in a checked run NaN, a pattern, or true and false in turn."""
    try:
        array = np.empty(shape, dtype)
    except (MemoryError, ValueError) as e:
        raise OutOfMemoryError(str(e)) from e
    if not checked:
        return array
    if is_float_dtype(dtype):
        array.fill(np.nan)
    elif dtype.kind == "b":
        array[...] = (np.arange(array.size) % 2 == 0).reshape(shape)
    else:
        array.fill(np.frombuffer(bytes([PATTERN] * dtype.itemsize), dtype)[0])
    return array


def check_size(op: Operation, shape: tuple[int, ...]) -> None:
    """Stop at `op` if a size is negative."""
    if any(size < 0 for size in shape):
        stop(op, f"expected sizes of 0 or more, found {min(shape)}")


def dimension(op: Operation, name: SSAValue, array: Array, index: int) -> np.int64:
    """Return the size of a dimension of an array; stops at `op` if there is none. Errors refer to the array as
    `name`."""
    if not 0 <= index < array.ndim:
        stop(op, f"expected a dimension of {name_of(name)}, which has {array.ndim}, found {index}")
    return np.int64(array.shape[index])


def any_of(condition: Any) -> bool:
    """Return whether a condition holds, or holds for any element."""
    return bool(condition.any() if condition.ndim else condition)


def check_bounds(op: Operation, name: SSAValue, array: Array, index: tuple[Any, ...]) -> None:
    """Stop at `op` unless all indices, numbers or arrays of them, are in bounds. Errors refer to the buffer as
    `name`."""
    for dimension, (place, size) in enumerate(zip(index, array.shape, strict=True)):
        outside = (place < 0) | (place >= size)
        if not any_of(outside):
            continue
        if size == 0:
            stop(op, f"expected no access to {name_of(name)}, which has no elements")
        found = np.extract(outside, place)[0]
        allowed = f"0..{size - 1}" if size > 1 else "0"
        stop(op, f"expected index {dimension} of {name_of(name)} in {allowed}, found {found}")
