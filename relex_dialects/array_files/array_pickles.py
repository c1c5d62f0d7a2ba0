"""Arrays in pickles: dictionaries of NumPy arrays, and of lists of them. Nothing in the file is executed."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from relex.dialects.arrays import Array, np
from relex.dialects.errors import RelexError, kind_of
from relex.dialects.upstream.hints import isa

SUFFIXES = (".pkl", ".pickle")


def read_pickle(file: str | Path) -> dict[str, Any]:
    """Return the dictionary in a file. Raises `RelexError` for one with anything but arrays, numbers and texts in
    dictionaries and lists."""
    found: object = _plain(_Reader(BytesIO(Path(file).read_bytes())).load())
    if isa(found, dict[str, Any]):
        return found
    raise RelexError(f"expected a dictionary of arrays by name, found {kind_of(found)}")


class _DType:
    """A dtype of numbers while it is read."""

    def __init__(self, text: str, *_: object):
        self.dtype = np.dtype(text)
        if self.dtype.kind not in "biufV" or self.dtype.names is not None:
            raise RelexError(f"expected arrays of numbers, found elements of {text}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, *_ = state
        if order in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """An array while it is read."""

    array: Array

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, is_fortran, data = state
        self.fill(data, dtype, shape, "F" if is_fortran else "C")

    def fill(self, data: Any, dtype: _DType, shape: tuple[int, ...], order: Any) -> _Array:
        """Set the elements."""
        self.array = np.frombuffer(bytes(data), dtype.dtype).reshape(shape, order=order)
        return self


def _latin(text: str, encoding: str) -> bytes:
    """Old pickles hold bytes as text."""
    if encoding not in ("latin1", "latin-1"):
        raise RelexError(f"expected bytes as latin1, found {encoding}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Old pickles hold an empty array's bytes as a call."""
    return b""


def _array(*_: object) -> _Array:
    return _Array()


def _scalar(dtype: _DType, data: bytes) -> _Array:
    return _Array().fill(data, dtype, (), "C")


def _from_buffer(data: bytes, dtype: _DType, shape: tuple[int, ...], order: str) -> _Array:
    return _Array().fill(data, dtype, shape, order)


_NAMES: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("multiarray", "_reconstruct"): _array,
    ("multiarray", "scalar"): _scalar,
    ("numeric", "_frombuffer"): _from_buffer,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _latin,
    ("__builtin__", "bytes"): _no_bytes,
    ("collections", "OrderedDict"): OrderedDict,
}
"""Stand-ins for the functions and classes that pickles of arrays name, by the last part of their modules."""


class _Reader(pickle.Unpickler):
    """Reads a pickle without importing what it names."""

    def find_class(self, module: str, name: str) -> Any:
        place = module.removeprefix("numpy._core.").removeprefix("numpy.core.")
        if (place, name) not in _NAMES:
            raise RelexError(f"expected arrays of NumPy, found {module}.{name}")
        return _NAMES[place, name]


def _plain(value: Any) -> Any:
    """Return what was read, with arrays in place of their stand-ins."""
    match value:
        case _Array():
            return value.array
        case dict():
            return {name: _plain(part) for name, part in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_plain(part) for part in cast("list[Any]", value)]
        case bool() | int() | float() | str():
            return value
        case _:
            raise RelexError(f"expected arrays of NumPy, found {kind_of(value)}")
