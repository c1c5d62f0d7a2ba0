"""Source locations in the user's Python program."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from relex.dialects.errors import CompileError, Diagnostic

_NOT_THE_USER = ("relex.frontend", "contextlib")


def user_place() -> FileLineColLoc:
    """Return the location in the user's code that called into this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_NOT_THE_USER):
        frame = frame.f_back
    _, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    file = StringAttr(shown_path(frame.f_code.co_filename))
    return FileLineColLoc(file, IntAttr(frame.f_lineno), IntAttr((column or 0) + 1))


_FILES: dict[str, str] = {}
"""Full path of each file that messages have named, by its shortened path."""


def shown_path(file: str) -> str:
    """Return the path of a file as messages and modules show it: relative to the working directory, or else its
    shortest suffix that is unambiguous. Modules are passed on to others, so they should not contain the directories of
    this machine."""
    if not os.path.isabs(file):
        return file
    inside = file.removeprefix(os.path.join(Path.cwd(), ""))
    if inside != file:
        _FILES[inside] = file
        return inside
    parts = Path(file).parts
    ends = (os.path.join(*parts[start:]) for start in reversed(range(len(parts))))
    return next(end for end in ends if _FILES.setdefault(end, file) == file)


def refuse(message: str, place: FileLineColLoc | None = None) -> NoReturn:
    """Raise a `CompileError` that shows the user's source line: the line of the current call, or of another place."""
    place = place or user_place()
    diagnostic = Diagnostic(message, place.filename.data, place.line.data, place.column.data)
    raise CompileError(with_source(diagnostic)) from None


def with_source(diagnostic: Diagnostic) -> Diagnostic:
    """Return the diagnostic with the Python source line it points to."""
    file = _FILES.get(diagnostic.file, diagnostic.file)
    source = linecache.getline(file, diagnostic.line).rstrip("\n")
    return replace(diagnostic, source_line=source or None)
