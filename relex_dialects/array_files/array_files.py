"""Loading of arrays from files of NumPy, safetensors and pickle. Nothing in them is executed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from relex.dialects.array_files.array_pickles import SUFFIXES, read_pickle
from relex.dialects.array_files.mapped_archives import map_arrays
from relex.dialects.array_files.safetensors import SUFFIX, read_safetensors
from relex.dialects.arrays import Array, np
from relex.dialects.errors import RelexError

_KINDS = {b"\x93NUMPY": "a single array", b"PK": "an archive", b"\x80": "a pickle"}
"""Kinds of files by their first bytes."""

_ONE = "expected an .npy file, as numpy.save writes it"
_MANY = "expected an .npz file, as numpy.savez writes it"


def load_array(file: str | Path, *, mapped: bool = False) -> Array:
    """Return the array in an `.npy` file; if `mapped`, it is memory-mapped and read on demand. Raises `RelexError`."""
    with _reading(file):
        _expect(file, "a single array", _ONE)
        return cast(Array, np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False))


def load_arrays(file: str | Path, *, mapped: bool = False, stays: bool = False) -> dict[str, Any]:
    """Return the arrays in an `.npz`, a `.safetensors` or a `.pkl` file by name; a pickle may also have lists of them.
    If `mapped`, those in a `.safetensors` file, and in an `.npz` file as `numpy.savez` writes it, are memory-mapped and
    read on demand, if they are at addresses for their elements; if the file also `stays` as it is, constants made of
    them are no copies. Raises `RelexError`."""
    if Path(file).suffix in SUFFIXES:
        with _reading(file):
            return read_pickle(file)
    if Path(file).suffix == SUFFIX:
        with _reading(file):
            return read_safetensors(file, mapped=mapped, stays=stays)
    with _reading(file), Path(file).open("rb") as stream:
        _expect(file, "an archive", _MANY)
        # Given a stream instead of a name, zipfile leaves no file open, whatever it finds.
        archive = np.load(stream, allow_pickle=False)
        known = map_arrays(file, stays=stays) if mapped else {}
        return {name: known[name] if name in known else _member(archive, name) for name in archive.files}


def _expect(file: str | Path, kind: str, expected: str) -> None:
    with Path(file).open("rb") as stream:
        start = stream.read(max(map(len, _KINDS)))
    found = next((_KINDS[known] for known in _KINDS if start.startswith(known)), None)
    if found != kind:
        raise RelexError(f"{expected}, found {found or 'a file of another kind'}")


def _member(archive: Any, name: str) -> Array:
    """Return an array in an archive. NumPy returns other members as bytes."""
    value = archive[name]
    if isinstance(value, bytes):
        raise RelexError(f"{_MANY}, found an archive with '{name}'")
    return value


@contextmanager
def _reading(file: str | Path) -> Generator[None]:
    """Turn any exception into one that names the file: a damaged file may raise anything, in any layer."""
    try:
        yield
    except Exception as e:
        raise RelexError(f"cannot read '{file}': {_reason(e)}") from e


def _reason(e: Exception) -> str:
    if isinstance(e, OSError) and e.strerror:
        return e.strerror
    if "allow_pickle" in str(e):
        return "expected arrays of numbers, found Python objects"
    return str(e)
