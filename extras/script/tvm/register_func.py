"""`tvm.register_func`: library functions that get TVM's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from relex.frontend.tvm.nd import as_nd
from relex.runtime import library


def register_func(name: str, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register a library function, as `relex.runtime.register_func` does; its arguments are arrays of type `NDArray`.
    Without a function, this is a decorator."""
    if f is None:
        return partial(_register, name, override)
    return _register(name, override, f)


def _register(name: str, override: bool, f: Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(f, library.CFunction) or not callable(f):
        return library.register_func(name, f, override=override)
    library.register_func(name, _with_nd(f), override=override)
    return f


register_global_func = register_func


def get_global_func(name: str) -> Callable[..., Any]:
    """Return a registered library function. Raises `UnknownNameError` if there is none."""
    return library.get_func(name)


def _with_nd(f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f)
    def function(*arrays: Any) -> None:
        f(*map(as_nd, arrays))

    return function
