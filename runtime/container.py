"""The file format of saved executables, described in docs/saving.md.

A file is a header of 64 bytes, a JSON index, and a data area that the index refers to.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import Any, TypeVar, cast
from weakref import finalize

from relex.dialects.exceptions import RelexError, expect_kind
from relex.dialects.json_codec import Buffer, Plain, from_plain, to_plain
from relex.dialects.target.machine import CONSTANT_ALIGNMENT

MAGIC = b"\x89relex\r\n"
"""Starts with a byte that no text starts with, and contains a line break that text-mode transfers change."""

VERSION = 2
"""Version of the layout, the contents of the index, and the calling convention of object code. Files of other versions
are refused."""

HEADER = Struct("<8s I I Q Q 32s")
"""Magic, version, segment alignment, size of the index, size of the file, SHA-256 of everything but itself."""

_BEFORE_CHECKSUM = HEADER.size - 32

T = TypeVar("T")


def pack(value: Any) -> list[Buffer]:
    """Return the contents of a file that holds a value, in pieces. Its buffers are in the data area, each aligned to
    `CONSTANT_ALIGNMENT`; the index has their places."""
    area: list[Buffer] = []
    end = 0

    def store(buffer: Buffer) -> Plain:
        nonlocal end
        offset, end = end, end + _rounded(len(buffer))
        area.extend([buffer, _padding(len(buffer))])
        return {"offset": offset, "size": len(buffer)}

    index = json.dumps(to_plain(value, store), separators=(",", ":")).encode()
    chunks = [index, _padding(HEADER.size + len(index)), *area]
    size = HEADER.size + sum(map(len, chunks))
    start = HEADER.pack(MAGIC, VERSION, CONSTANT_ALIGNMENT, len(index), size, b"")[:_BEFORE_CHECKSUM]
    return [start, _checksum([start, *chunks]), *chunks]


def unpack(kind: type[T], data: memoryview, problems: Callable[[T], Iterable[str]] = lambda value: ()) -> T:
    """Read the value in a file; `problems` yields what is wrong with it.

    Raises `RelexError` for data in another format or of another version, and for damaged data.
    """
    if len(data) < HEADER.size or bytes(data[: len(MAGIC)]) != MAGIC:
        raise RelexError("expected a saved executable, found a file of another kind")
    _, version, alignment, index_size, size, checksum = HEADER.unpack_from(data)
    if version != VERSION:
        age = "a newer relex made it" if version > VERSION else "an older relex made it"
        raise RelexError(f"expected format {VERSION} of saved executables, found {version}: {age}")
    if size != len(data):
        raise RelexError(f"the file is damaged: expected {size} bytes, found {len(data)}")
    if checksum != _checksum([data[:_BEFORE_CHECKSUM], data[HEADER.size :]]):
        raise RelexError("the file is damaged: its checksum is wrong")
    try:
        if alignment != CONSTANT_ALIGNMENT or index_size > size - HEADER.size:
            raise ValueError(f"expected an index and an alignment of {CONSTANT_ALIGNMENT}")
        index = json.loads(bytes(data[HEADER.size : HEADER.size + index_size]))
        area = data[_rounded(HEADER.size + index_size) :]
        value = cast(T, from_plain(kind, index, lambda place: _segment(area, place)))
        for problem in problems(value):
            raise ValueError(problem)
    except (ValueError, RecursionError) as e:
        raise RelexError(f"the index of the file cannot be read: {e}") from e
    return value


def _segment(area: memoryview, place: Plain) -> memoryview:
    match place:
        case {"offset": int(offset), "size": int(size), **others} if not others:
            pass
        case _:
            raise ValueError(f"expected an offset and a size, found {place}")
    if offset % CONSTANT_ALIGNMENT or not 0 <= offset <= offset + size <= len(area):
        raise ValueError(f"expected {size} bytes at {offset} in a data area of {len(area)} bytes")
    return area[offset : offset + size]


def _checksum(chunks: Iterable[Buffer]) -> bytes:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def _rounded(size: int) -> int:
    return -(-size // CONSTANT_ALIGNMENT) * CONSTANT_ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(_rounded(size) - size)


def as_path(path: object, kind: str = "file") -> Path:
    """Return a path given by the user; `kind` says what it is a path of. Raises `DTypeError` for other objects."""
    expect_kind(path, str | os.PathLike, f"the path of a {kind}")
    return Path(cast("str | os.PathLike[str]", path))


def write_file(path: Path, chunks: Sequence[Buffer]) -> None:
    """Write a file atomically: concurrent readers see the old contents or the new ones. Raises `RelexError`."""
    from uuid import uuid4

    # Processes that have mapped an earlier file of this name keep it.
    try:
        temporary = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            with temporary.open("xb") as file:
                file.writelines(chunks)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as e:
        raise RelexError(f"{path}: cannot be written: {_reason(e)}") from e


class MappedFile:
    """A shared mapping of a file: changes made to the file in place show through.

    If the file is truncated, reading past its new end kills the process (SIGBUS). Raises `RelexError` for a file that
    cannot be read.
    """

    def __init__(self, path: Path):
        self._path = path
        with _reading(path), path.open("rb") as file:
            self._file = os.dup(file.fileno())
            finalize(self, os.close, self._file)
            self._status = self._current_status()
            size, _ = self._status
            # An empty file cannot be mapped.
            self.data = memoryview(mmap.mmap(self._file, size, access=mmap.ACCESS_READ) if size else b"")

    def expect_unchanged(self) -> None:
        """Raise `RelexError` if the mapped file was written to since. Whatever is at its path now does not matter."""
        if self._current_status() != self._status:
            raise RelexError(
                f"{self._path}: expected a file that stays as it is while it is in use, found it overwritten: load it "
                "again, and replace such files by 'save' or a rename"
            )

    def _current_status(self) -> tuple[int, int]:
        status = os.fstat(self._file)
        return status.st_size, status.st_mtime_ns


def read_file(path: Path) -> memoryview:
    """Read a file into private memory, aligned like a mapped file. Raises `RelexError`."""
    with _reading(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size == 0:
            return memoryview(b"")
        space = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE)
        return memoryview(space)[: file.readinto(space)]


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as e:
        raise RelexError(f"{path}: cannot be read: {_reason(e)}") from e


def _reason(e: OSError | ValueError) -> str:
    # `str(e)` also names the file, which may be the temporary one.
    return (isinstance(e, OSError) and e.strerror) or str(e)
