"""On-disk cache of compiled programs."""

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
"""The environment variable that names the cache folder and enables the cache."""

LIMIT = 2**30
"""The default capacity of a cache in bytes."""

ABANDONED = 3600.0
"""Age in seconds at which a temporary file is assumed to be left over from a process that ended."""

_ENTRY = ".relex"


class CompileCache:
    """Compiled programs in a folder, one file each. Processes and threads may share it.

    Beyond `limit` bytes, the least recently used programs are evicted. The contents of the folder are executed: it must
    belong to the user, and nobody else may write to it. Raises `RelexError` for any other folder.
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
        """Return the program of a key, if there is an intact one."""
        path = self._path(key)
        try:
            # No check for changes: only `put` writes here, replacing whole files, and time stamps change with each use.
            program = CompiledProgram.unpack(MappedFile(path).data)
        except RelexError:
            return None
        with suppress(OSError):
            # The modification time records the last use.
            os.utime(path)
        return program

    def put(self, key: str, program: CompiledProgram) -> None:
        """Store a program. Failure to do so is a `UserWarning`."""
        try:
            write_file(self._path(key), program.pack())
            self._evict()
        except (RelexError, OSError) as e:
            warnings.warn(f"the compiled program is not kept in the cache: {e}", stacklevel=2)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENTRY}"

    def _evict(self) -> None:
        """Remove what exceeds the limit. Other processes may do so at the same time; mapped files stay valid."""
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
"""A cache, the folder of one, or whether to use the default one; None follows the environment."""


def find_cache(option: CacheOption) -> CompileCache | None:
    """Return the cache to use, if any. The default one is the folder in `RELEX_CACHE`, else `relex` in `XDG_CACHE_HOME`
    or `~/.cache`."""
    if isinstance(option, CompileCache):
        return option
    if option is None or option is True:
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder and option is None:
            return None
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return CompileCache(Path(folder or f"{home}/relex").expanduser())
    return CompileCache(option) if option is not False else None
