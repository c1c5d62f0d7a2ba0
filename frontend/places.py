"""Places in the user's Python source."""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from itertools import islice
from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from relex.dialects.errors import CompileError, Diagnostic

_NOT_THE_USER = ("relex.frontend", "contextlib")


def user_place() -> FileLineColLoc:
    """Where the user's code stands that called into this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_NOT_THE_USER):
        frame = frame.f_back
    _, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    file = StringAttr(frame.f_code.co_filename)
    return FileLineColLoc(file, IntAttr(frame.f_lineno), IntAttr((column or 0) + 1))


def refuse(place: FileLineColLoc, message: str) -> NoReturn:
    """Raise a `CompileError` that shows the user's line."""
    raise CompileError(
        with_source(Diagnostic(message, place.filename.data, place.line.data, place.column.data))
    ) from None


def with_source(diagnostic: Diagnostic) -> Diagnostic:
    """The same diagnostic with the line of Python that it is about."""
    source = linecache.getline(diagnostic.file, diagnostic.line).rstrip("\n")
    return replace(diagnostic, source_line=source or None)
