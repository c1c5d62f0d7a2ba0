"""Readers of program files, by file suffix. Readers that extras add are listed in `relex.extras`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from relex.dialects.exceptions import RelexError
from relex.dialects.table import Table
from relex.extras import imported, parts

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

READERS = Table[str, str]("readers of program files")
"""Functions by suffix, as `module:name`; other packages may add theirs."""

READERS.update({"mlir": "relex.dialects.readers:read_mlir", **parts("readers")})

BINARY_READERS = Table[str, str]("readers of binary program files")
"""The same for files that are no text."""

BINARY_READERS.update(parts("binary readers"))

METADATA = "metadata_"
"""The prefix of the numbers of constants that a text omits: their names in `params`."""


def is_metadata(name: str) -> bool:
    """Return whether `name` refers to a constant that the text omits, rather than to a parameter."""
    return name.removeprefix(METADATA).isdecimal() and name.startswith(METADATA)


class Reader(Protocol):
    """Reads text into a verified module; raises `CompileError`.

    `params` provides the constants that the text omits, as `metadata_0` or as a list under their key; `line_offset` is
    added to every line number. A reader of texts that may hold several modules also takes `module`, a name.
    """

    def __call__(
        self,
        text: str,
        name: str = "<string>",
        *,
        context: Context | None = None,
        params: Mapping[str, Any] | None = None,
        verify: bool = True,
        line_offset: int = 0,
    ) -> ModuleOp: ...


class BinaryReader(Protocol):
    """Reads the bytes of a file into a verified module; raises `CompileError`. `name` is the path of the file, beside
    which there may be more data. `shapes` gives sizes that the file leaves open, `values` inputs that become constants;
    both are passed only where they are given."""

    def __call__(
        self,
        data: bytes,
        name: str,
        *,
        shapes: Mapping[str, Sequence[int | str | None] | int] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> ModuleOp: ...


def known_suffixes() -> list[str]:
    """Return the suffixes of all program files."""
    return [*READERS, *BINARY_READERS]


def find_reader(suffix: str) -> Reader:
    """Return the reader for a file suffix. Raises `KeyError` if there is none."""
    return imported(READERS[suffix])


def find_binary_reader(suffix: str) -> BinaryReader:
    """Return the reader for the suffix of a binary file. Raises `KeyError` if there is none."""
    return imported(BINARY_READERS[suffix])


def bytes_of(path: Path) -> bytes:
    """Return the contents of a file that a program names. Raises `RelexError` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as e:
        raise RelexError(f"{path}: cannot be read: {e.strerror}") from e


def split_path(path: str) -> tuple[str, str | None]:
    """Split `model.py:MyModule` into the path of a file and the name of a module in it, None if there is none."""
    found = re.fullmatch(r"(.+\.(\w+)):([A-Za-z_]\w*)", path)
    return (found[1], found[3]) if found is not None and found[2] in known_suffixes() else (path, None)


def read_text(suffix: str, text: str, name: str, *, module: str | None = None, **options: Any) -> ModuleOp:
    """Read the text of a file into a module: the one with the name `module`, if the file holds several. `options` are
    options of readers. Raises `RelexError` for a name in a file that holds one module."""
    reader = find_reader(suffix)
    if module is None:
        return reader(text, name, **options)
    if "module" not in signature(reader).parameters:
        raise RelexError(f"expected '{name}' alone, found '{name}:{module}': *.{suffix} files hold one module")
    return cast(Any, reader)(text, name, module=module, **options)


def read_bytes(suffix: str, data: bytes, name: str, **options: Any) -> ModuleOp:
    """Read the bytes of a file into a module. `options` are options of readers of binary files, of which a reader may
    lack some. Raises `RelexError` for such an option."""
    return reader_with(suffix, name, options)(data, name, **options)


def reader_with(suffix: str, name: str, options: Iterable[str]) -> Callable[..., ModuleOp]:
    """Return the reader of binary files that takes these options. Raises `RelexError` if it does not."""
    reader = find_binary_reader(suffix)
    for option in options:
        if option not in signature(reader).parameters:
            raise RelexError(f"expected '{name}' without {option}: *.{suffix} files have none")
    return reader


def read_mlir(
    text: str,
    name: str = "<string>",
    *,
    context: Context | None = None,
    params: Mapping[str, Any] | None = None,
    verify: bool = True,
    line_offset: int = 0,
) -> ModuleOp:
    """Read MLIR text, which contains all its constants."""
    from relex.dialects.parser import parse_module

    return parse_module(text, name, context=context, verify=verify, line_offset=line_offset)
