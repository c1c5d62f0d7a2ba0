"""Programs as users give them: modules, text, and paths of files."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.errors import CompileError, DTypeError, RelexError, add_source, expect_kind, wrong_kind
from relex.dialects.parser import parse_module, verify_module
from relex.dialects.readers import BINARY_READERS, bytes_of, known_suffixes, read_text, reader_with, split_path

AnyProgram = ModuleOp | str | PathLike[str]
"""A module, text, or the path of a file."""

Metadata = Mapping[str, Any] | str | PathLike[str]
"""Constants, or the path of a file that holds them."""

_SAVED = ".relex"
_SUFFIX = re.compile(r"\.[A-Za-z]\w*$")
_NOT_IN_PATHS = re.compile(r'[%@{}"\n]|^\s*//')
"""Matches something in every program, and in no path."""


def parse(
    program: str | PathLike[str],
    *,
    metadata: Metadata | None = None,
    shapes: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
) -> ModuleOp:
    """Parse and verify MLIR text, an `.mlir` file, a `.py` file in TVMScript, an `.onnx` file, or a `.pt2` file.

    `model.py:MyModule` is one of several modules in a file. `metadata` has the constants that a script leaves out, as
    `build` takes them; `shapes` and `values` fix sizes and inputs of a model, as `from_onnx` takes them.

    Raises `CompileError` for an invalid program, and `RelexError` for a file that cannot be read.
    """
    return read_program(program, metadata, {"shapes": shapes, "values": values})[0]


def read_program(
    source: AnyProgram, metadata: Metadata | None = None, of_models: Mapping[str, Any] | None = None
) -> tuple[ModuleOp, str | None]:
    """Return a verified module, and its text unless it was given as a module. `of_models` are options of readers of
    binary files. Raises `CompileError` for an invalid program, and `RelexError` for a file that cannot be read or an
    object that is no program."""
    is_text = isinstance(source, str) and not _is_path(source)
    options = {name: given for name, given in (of_models or {}).items() if given is not None}
    if options and (is_text or isinstance(source, ModuleOp)):
        raise RelexError(f"expected '{next(iter(options))}' with the path of a model, found another program")
    if metadata is not None and (is_text or isinstance(source, ModuleOp)):
        raise RelexError("expected 'metadata' with the path of a script, found a program that has all its constants")
    match source:
        case ModuleOp():
            verify_module(source)
            return source, None
        case str() if is_text:
            return parse_module(source), source
        case str() | PathLike():
            return _read_file(*split_path(fspath(source)), metadata, options)
        case _:
            raise _no_program(source)


def _no_program(found: object) -> DTypeError:
    if isinstance(found, ModulePass):
        return DTypeError(f"expected a module, found the pass '{found.name}'; called with a module, it returns one")
    return wrong_kind(f"a module, MLIR text or the path of a file ({_known_files()})", found)


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
    suffixes = tuple(f".{suffix}" for suffix in known_suffixes())
    if "\n" not in text and (split_path(text)[1] is not None or text.endswith(suffixes)):
        return True
    if _NOT_IN_PATHS.search(text):
        return False
    return _SUFFIX.search(text) is not None or "/" in text or os.path.exists(text)


def _read_file(
    file: str, name: str | None, metadata: Metadata | None, of_models: Mapping[str, Any]
) -> tuple[ModuleOp, str]:
    path = Path(file)
    if path.suffix == _SAVED:
        raise RelexError(f"{path}: expected a program, found a saved executable; 'relex.load' reads it")
    suffix = path.suffix.removeprefix(".")
    if suffix not in known_suffixes():
        files = f"'{path.suffix}' files" if suffix else "files without a suffix"
        raise RelexError(f"{path}: cannot read {files}; expected a file named {_known_files()}")
    if suffix in BINARY_READERS:
        # Only the reader refers to the bytes, and can let go of them.
        return reader_with(suffix, str(path), of_models)(bytes_of(path), str(path), **of_models), ""
    if of_models:
        raise RelexError(f"expected '{next(iter(of_models))}' with the path of a model, found {path}")
    try:
        text = bytes_of(path).decode()
    except UnicodeDecodeError as e:
        found = f"byte 0x{e.object[e.start]:02x}"
        raise RelexError(f"{path}: cannot be read: expected UTF-8 text, found {found}") from e
    options = {} if metadata is None else {"params": load_metadata(metadata)}
    return read_text(suffix, text, str(path), module=name, **options), text


def load_metadata(metadata: Metadata) -> Mapping[str, Any]:
    """Return constants by name or key, from a dictionary or a file of arrays."""
    if isinstance(metadata, Mapping):
        return metadata
    expect_kind(metadata, str | PathLike, "a dictionary of arrays or the path of a file as 'metadata'")
    return load_arrays(fspath(metadata))


def _known_files() -> str:
    return " or ".join(f"*.{suffix}" for suffix in known_suffixes())
