"""The Python type whose objects are called natively: `entry.ll`, compiled for this process."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from relex.dialects.exceptions import RelexError
from relex.runtime.descriptors import ALIGNED, SIZES, code_address
from relex.runtime.linking import LoadedCode, link_ir, read_ir
from relex.runtime.results import OUT
from relex.runtime.singleton import once

VARIABLE = "RELEX_CALLS"
"""The environment variable that says how new executables are called: `native` (where that is supported) or `ctypes`."""

METHOD = "_call_checked"
"""The method that takes all calls that match no plan."""

FAILING = "_raise_failure"
"""The method that raises the error of an assertion that fails."""

NUMPY_ABI = 0x2000000
"""The version of NumPy's C ABI that `entry.ll` is written for."""

_HASHES = (tuple.__basicsize__ - 24) // 8
"""How many words a tuple has between its length and its items: since Python 3.14, its hash."""

_CPYTHON = (
    "PyVectorcall_Call", "PyObject_GetAttr", "PyObject_Vectorcall", "PyTuple_New", "PyTuple_SetItem", "Py_IncRef",
    "Py_DecRef", "PyLong_FromLongLong", "PyEval_SaveThread", "PyEval_RestoreThread", "PyTuple_Type", "_Py_NoneStruct",
)  # fmt: skip
_NUMPY = {"PyArray_Type": 2, "PyArray_NewFromDescr": 94}
_NUMPY_ABI_VERSION = 0


class Entry:
    """Compiled `entry.ll`: the type, and the address of its vectorcall."""

    def __init__(self, code: LoadedCode):
        self._code = code
        new_type = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("PyType_FromSpec", ctypes.pythonapi))
        self.type: type[Any] = new_type(code.address("spec"))
        self.address = code.address("call")


def native_entry() -> Entry | None:
    """Return the native entry, or None if `RELEX_CALLS` forbids it or this Python or NumPy is not supported.

    Raises `RelexError` for other values of the variable.
    """
    wish = os.environ.get(VARIABLE, "native")
    if wish not in ("native", "ctypes"):
        raise RelexError(f"expected {VARIABLE} to be native or ctypes, found '{wish}'")
    return _entry() if wish == "native" else None


@once
def _entry() -> Entry | None:
    return Entry(_compile()) if layouts_are_known() else None


def layouts_are_known() -> bool:
    """Return whether Python and NumPy objects have the layout that `entry.ll` assumes: the layout of 64-bit CPython
    with a GIL."""
    return (
        platform.python_implementation() == "CPython"
        and sys.maxsize == 2**63 - 1
        and object.__basicsize__ == 16  # Larger without a GIL.
        and _numpy_abi_version() == NUMPY_ABI
        and _fields_are_found()
    )


class _Ndarray(ctypes.Structure):
    """The layout of an array in `entry.ll`."""

    _fields_ = (
        ("owners", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("base", ctypes.c_void_p),
        ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


class _Dtype(ctypes.Structure):
    """The layout of a dtype in `entry.ll`."""

    _fields_ = (
        ("owners", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("scalar", ctypes.c_void_p),
        ("kind", ctypes.c_char),
        ("character", ctypes.c_char),
        ("order", ctypes.c_char),
        ("flags", ctypes.c_char),
        ("number", ctypes.c_int),
    )


class _Pair(ctypes.Structure):
    """The layout of a tuple of two in `entry.ll`."""

    _fields_ = (
        ("owners", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("length", ctypes.c_ssize_t),
        ("hashes", ctypes.c_ssize_t * _HASHES),
        ("items", ctypes.c_void_p * 2),
    )


def _fields_are_found() -> bool:
    """Return whether the fields of an array, a dtype and a tuple have the expected values in memory."""
    array = np.zeros((3, 5), np.float32)
    seen, dtype = _Ndarray.from_address(id(array)), _Dtype.from_address(id(array.dtype))
    pair = (array, array.dtype)
    found = _Pair.from_address(id(pair))
    return (
        (seen.type, seen.data, seen.rank) == (id(np.ndarray), array.__array_interface__["data"][0], 2)
        and (seen.sizes[0], seen.sizes[1], seen.strides[0], seen.strides[1]) == (3, 5, 20, 4)
        and (seen.base, seen.dtype, seen.flags & 0x501) == (None, id(array.dtype), 0x501)
        and (dtype.kind, dtype.character, dtype.order, dtype.number) == (b"f", b"f", b"=", array.dtype.num)
        and (found.type, found.length, *found.items) == (id(tuple), 2, id(array), id(array.dtype))
    )


def _compile() -> LoadedCode:
    text = read_ir("relex.runtime.entry", "entry.ll", aligned=ALIGNED, sizes=SIZES, hashes=_HASHES)
    symbols = {name: code_address(getattr(ctypes.pythonapi, name)) for name in _CPYTHON}
    symbols |= {name: _numpy_api()[place] for name, place in _NUMPY.items()}
    names = {"name_of_method": METHOD, "name_of_results": OUT, "name_of_failing": FAILING}
    symbols |= {symbol: id(sys.intern(name)) for symbol, name in names.items()}
    return link_ir(text, ("spec", "call"), symbols)


@lru_cache(maxsize=1)
def _numpy_api() -> Any:
    """The function table of NumPy's C API."""
    capsule = import_module("numpy._core._multiarray_umath")._ARRAY_API
    unwrap = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(unwrap(capsule, None), ctypes.POINTER(ctypes.c_size_t))


def _numpy_abi_version() -> int:
    return ctypes.CFUNCTYPE(ctypes.c_uint)(_numpy_api()[_NUMPY_ABI_VERSION])()
