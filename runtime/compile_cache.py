"""Compiled programs that are kept in a folder, for whoever compiles the same again."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path

from relex.dialects.exceptions import RelexError
from relex.runtime.container import MappedFile, as_path, write_file
from relex.runtime.program import CompiledProgram

FOLDER_VARIABLE = "RELEX_CACHE"
"""The environment variable that names the folder of the cache, and switches it on."""

LIMIT = 2**30
"""How many bytes a cache holds, if nothing else is said."""

ABANDONED = 3600.0
"""After how many seconds a file that is being written is taken for the rest of a process that ended."""

_ENTRY = ".relex"


class CompileCache:
    """Compiled programs in a folder, each in a file of its own. Processes and threads may share it.

    Where there are more than `limit` bytes, those go that were not asked for the longest. What is in the folder is run:
    it must belong to the user, and nobody else may write into it. Raises `RelexError` for another one.
    """

    def __init__(self, folder: str | PathLike[str], limit: int = LIMIT):
        self.folder = as_path(folder, "folder")
        self.limit = limit
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self.folder.stat()
        except OSError as e:
            raise RelexError(f"{folder}: cannot be used as a cache: {e}") from e
        if status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise RelexError(f"{folder}: expected a cache that nobody else can write: its contents are run")

    def get(self, key: str) -> CompiledProgram | None:
        """The program of a key, if there is one that is whole."""
        path = self._path(key)
        try:
            # Nobody writes here but `put`, which replaces files; the times of mapped ones change with each use.
            program = CompiledProgram.unpack(MappedFile(path).data)
        except RelexError:
            return None
        with suppress(OSError):
            # The time of the last change is that of the last use.
            os.utime(path)
        return program

    def put(self, key: str, program: CompiledProgram) -> None:
        """Keep a program. One that cannot be kept is a `UserWarning`."""
        try:
            write_file(self._path(key), program.pack())
            self._evict()
        except (RelexError, OSError) as e:
            warnings.warn(f"the compiled program is not kept in the cache: {e}", stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENTRY}"

    def _evict(self) -> None:
        """Remove what is too much. Others may do so at the same time; who has mapped a file keeps it."""
        left = self.limit
        for path, status in sorted(self._files(), key=lambda file: -file[1].st_mtime_ns):
            is_entry = path.suffix == _ENTRY
            left -= status.st_size if is_entry else 0
            if left < 0 if is_entry else status.st_mtime < time.time() - ABANDONED:
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                yield path, path.stat()


CacheOption = CompileCache | str | PathLike[str] | bool | None
"""A cache, a folder for one, whether to use the usual one; None for what the environment says."""


def find_cache(option: CacheOption) -> CompileCache | None:
    """The cache to use, if any. The usual one is the folder in `RELEX_CACHE`, else `~/.cache/relex`, or where
    `XDG_CACHE_HOME` says."""
    if isinstance(option, CompileCache):
        return option
    if option is None or option is True:
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder and option is None:
            return None
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return CompileCache(Path(folder or f"{home}/relex").expanduser())
    return CompileCache(option) if option is not False else None
