"""Library functions, which `relex.call_dps_packed` calls by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from relex.dialects.exceptions import DTypeError, RelexError, UnknownNameError, expect_kind
from relex.runtime.descriptors import address_of, code_address, descriptor, writable

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Function = Callable[..., Any]
FunctionT = TypeVar("FunctionT", bound=Function)

LIBRARY: dict[str, Function] = {}
"""Registered functions by name. They take NumPy arrays: arguments first, then the results to fill."""


@dataclass(frozen=True)
class CFunction:
    """A C function at an address: `void f(descriptor *argument0, ..., descriptor *result0, ...)`.

    It takes pointers to MLIR memref descriptors, arguments first, then results, like a function with
    `llvm.emit_c_interface`. Compiled code calls it without entering Python. From Python, it is called with arrays.
    `owner` keeps the address valid.
    """

    address: int
    owner: object = field(default=None, compare=False, repr=False)

    def __call__(self, *arrays: Array) -> None:
        descriptors = [np.array(descriptor(array.shape, address_of(array)), np.int64) for array in arrays]
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
        prototype(self.address)(*map(address_of, descriptors))


def c_function(library: str | PathLike[str], symbol: str) -> CFunction:
    """Load a shared library and return one of its functions. Raises `UnknownNameError` if either does not exist."""
    expect_kind(library, str | PathLike, "the path of a library")
    expect_kind(symbol, str, "the name of a function")
    try:
        loaded = ctypes.CDLL(fspath(library))
        entry = getattr(loaded, symbol)
    except (OSError, AttributeError, ValueError) as e:
        raise UnknownNameError(f"cannot load '{symbol}' of '{fspath(library)}': {e}") from e
    return CFunction(code_address(entry), loaded)


@overload
def register_func(name: str, f: FunctionT, *, override: bool = False) -> FunctionT: ...


@overload
def register_func(name: str, *, override: bool = False) -> Callable[[FunctionT], FunctionT]: ...


def register_func(name: str, f: Function | None = None, *, override: bool = False) -> Any:
    """Register a function that programs call by name; replaces an earlier one only with `override`.

    `f` is a Python callable or a `CFunction`; without it, this is a decorator. It is called with NumPy arrays,
    arguments first, then the results, which it fills in place; its return value is ignored. The arrays are views of the
    program's memory, valid during the call; arguments are read-only. `build` looks functions up, and an executable
    keeps those that it found; an interpreted program looks them up in each call.

    Raises `RelexError` for a name that is taken or invalid, and `DTypeError` for an object that is not callable.
    """
    if callable(name) and f is None:
        known_as = getattr(name, "__name__", "name")
        raise DTypeError(f'expected a name for a library function, as in @register_func("env.{known_as}"), found none')
    if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RelexError(f"expected a name for a library function, found {name!r}")
    if f is None:
        return partial(register_func, name, override=override)
    if not callable(f):
        raise DTypeError(f"expected library function '{name}' to be a callable or a CFunction, found {f!r}")
    if LIBRARY.get(name, f) is not f and not override:
        raise RelexError(f"library function '{name}' is registered already; override=True replaces it")
    LIBRARY[name] = f
    return f


def get_func(name: str) -> Function:
    """Return the library function registered under a name. Raises `UnknownNameError` if there is none."""
    if name not in LIBRARY:
        raise UnknownNameError(not_registered(name))
    return LIBRARY[name]


def remove_func(name: str) -> None:
    """Unregister a library function; executables that use it keep it. Raises `UnknownNameError` if there is none."""
    get_func(name)
    del LIBRARY[name]


def not_registered(name: str) -> str:
    """Return the error message for a name that is not registered."""
    return f'expected a registered library function, found "{name}"; there are {", ".join(sorted(LIBRARY)) or "none"}'


class LibraryInput(np.ndarray[Any, np.dtype[Any]]):
    """An argument of a library function: a read-only array that DLPack can export nevertheless.

    NumPy refuses to export read-only arrays to consumers that do not ask for them, PyTorch among them.
    """

    @classmethod
    def of(cls, array: Array) -> LibraryInput:
        """Return a read-only view of an array."""
        view = array.view(cls)
        view.flags.writeable = False
        return view

    def __dlpack__(self, **options: Any) -> Any:
        return writable(self).__dlpack__(**options)

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        """Return results computed from such arrays as plain arrays."""
        plain = array.view(np.ndarray)
        return plain[()] if return_scalar else plain
