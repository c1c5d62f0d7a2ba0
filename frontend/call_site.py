"""Places in the user's Python source."""

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
    """Where the user's code stands that called into this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_NOT_THE_USER):
        frame = frame.f_back
    _, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    file = StringAttr(shown_path(frame.f_code.co_filename))
    return FileLineColLoc(file, IntAttr(frame.f_lineno), IntAttr((column or 0) + 1))


_FILES: dict[str, str] = {}
"""The files that have been shown, by what they were shown as."""


def shown_path(file: str) -> str:
    """A file as messages and programs name it: relative to the working folder, or by as much of its path as tells it
    from others. Programs travel, and where files lie on this machine is nobody else's business."""
    if not os.path.isabs(file):
        return file
    inside = file.removeprefix(os.path.join(Path.cwd(), ""))
    if inside != file:
        _FILES[inside] = file
        return inside
    parts = Path(file).parts
    ends = (os.path.join(*parts[start:]) for start in reversed(range(len(parts))))
    return next(end for end in ends if _FILES.setdefault(end, file) == file)


def refuse(place: FileLineColLoc, message: str) -> NoReturn:
    """Raise a `CompileError` that shows the user's line."""
    raise CompileError(
        with_source(Diagnostic(message, place.filename.data, place.line.data, place.column.data))
    ) from None


def with_source(diagnostic: Diagnostic) -> Diagnostic:
    """The same diagnostic with the line of Python that it is about."""
    file = _FILES.get(diagnostic.file, diagnostic.file)
    source = linecache.getline(file, diagnostic.line).rstrip("\n")
    return replace(diagnostic, source_line=source or None)
