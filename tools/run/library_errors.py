"""Turns exceptions of library functions into diagnostics for users of the command line."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import Any

from relex.dialects.errors import CompileError, Diagnostic, add_source, describe
from relex.runtime.library import LIBRARY, CFunction


def explain_library_errors(files: Mapping[str, str]) -> None:
    """Turn exceptions of registered Python functions into a `CompileError` with the name of the function and the
    innermost line in one of `files` (a mapping from names to texts)."""
    for name, function in LIBRARY.items():
        if not isinstance(function, CFunction):
            LIBRARY[name] = _explaining(name, function, files)


def _explaining(name: str, function: Callable[..., Any], files: Mapping[str, str]) -> Callable[..., None]:
    def call(*arrays: Any) -> None:
        try:
            function(*arrays)
        except Exception as e:
            raise CompileError(_diagnose(name, e, files)) from e

    return call


def _diagnose(name: str, error: Exception, files: Mapping[str, str]) -> Diagnostic:
    message = f'library function "{name}" raised {describe(error)}'
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return Diagnostic(message)
    innermost = frames[-1]
    place = Diagnostic(message, innermost.filename, innermost.lineno or 0, (innermost.colno or 0) + 1)
    return add_source(place, files[innermost.filename])
