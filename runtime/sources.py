"""Programs as users give them: modules, text, and paths of files."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import CompileError, RelexError, add_source, wrong_kind
from relex.dialects.parser import parse_module, verify_module
from relex.dialects.readers import BINARY_READERS, find_binary_reader, find_reader, known_suffixes

AnyProgram = ModuleOp | str | PathLike[str]
"""A module, text, or the path of a file."""

_SAVED = ".relex"
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")
_NOT_IN_PATHS = re.compile(r'[%@{}"\n]|^\s*//')
"""Matches something in every program, and in no path."""


def parse(program: str | PathLike[str]) -> ModuleOp:
    """Parse and verify MLIR text, an `.mlir` file, a `.py` file in TVMScript, an `.onnx` file, or a `.pt2` file.

    Raises `CompileError` for an invalid program, and `RelexError` for a file that cannot be read.
    """
    return read_program(program)[0]


def read_program(source: AnyProgram) -> tuple[ModuleOp, str | None]:
    """Return a verified module, and its text unless it was given as a module. Raises `CompileError` for an invalid
    program, and `RelexError` for a file that cannot be read or an object that is no program."""
    match source:
        case ModuleOp():
            verify_module(source)
            return source, None
        case str() if not _is_path(source):
            return parse_module(source), source
        case str() | PathLike():
            return _read_file(Path(source))
        case _:
            raise wrong_kind(f"a module, MLIR text or the path of a file ({_known_files()})", source)


@contextmanager
def showing_source(text: str | None) -> Generator[None]:
    """Add the source line to errors, if the program was given as text."""
    try:
        yield
    except CompileError as e:
        if text is None:
            raise
        raise CompileError([add_source(d, text) for d in e.diagnostics]) from e


def _is_path(text: str) -> bool:
    """Return whether a string is the path of a file, of any kind, rather than a program."""
    if text.endswith(tuple(f".{suffix}" for suffix in known_suffixes())) and "\n" not in text:
        return True
    if _NOT_IN_PATHS.search(text):
        return False
    return _SUFFIX.search(text) is not None or "/" in text or os.path.exists(text)


def _read_file(path: Path) -> tuple[ModuleOp, str]:
    if path.suffix == _SAVED:
        raise RelexError(f"{path}: expected a program, found a saved executable; 'relex.load' reads it")
    suffix = path.suffix.removeprefix(".")
    if suffix not in known_suffixes():
        files = f"'{path.suffix}' files" if suffix else "files without a suffix"
        raise RelexError(f"{path}: cannot read {files}; expected a file named {_known_files()}")
    try:
        data = path.read_bytes()
    except OSError as e:
        raise RelexError(f"{path}: cannot be read: {e.strerror}") from e
    if suffix in BINARY_READERS:
        return find_binary_reader(suffix)(data, str(path)), ""
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        found = f"byte 0x{e.object[e.start]:02x}"
        raise RelexError(f"{path}: cannot be read: expected UTF-8 text, found {found}") from e
    return find_reader(suffix)(text, str(path)), text


def _known_files() -> str:
    return " or ".join(f"*.{suffix}" for suffix in known_suffixes())
