"""On-disk cache of compiled programs and kernels."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from relex.dialects.exceptions import RelexError
from relex.dialects.json_codec import Buffer
from relex.runtime.container import MappedFile, as_path, write_file

if TYPE_CHECKING:
    from relex.runtime.program import CompiledProgram

T = TypeVar("T")

FOLDER_VARIABLE = "RELEX_CACHE"
"""The environment variable that names the cache folder and enables the cache of programs; the values of `OFF` disable
all caches."""

OFF = ("off", "0")

LIMIT = 2**30
"""The default capacity of a cache in bytes."""

ABANDONED = 3600.0
"""Age in seconds at which a temporary file is assumed to be left over from a process that ended."""

SWEEPS = 64
"""A process sweeps a folder whenever it has written this part of the limit to it: to list 3,000 files takes 20 ms, and
a full folder may have 200,000."""

_FOLDERS = 16
"""The number of folders that a process knows to have swept."""

_unswept: dict[Path, int] = {}
"""The bytes that this process has written to folders since it swept them."""

PROGRAM = ".relex"
"""The suffix of files with whole programs; see `relex.runtime.kernel_cache` for those with parts of them."""


class CompileCache:
    """Compiled programs and kernels in a folder, one file each. Processes and threads may share it.

    Beyond `limit` bytes, the least recently used files are evicted: when a process first writes, and after each 64th of
    the limit that it writes. The contents of the folder are executed: it must
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
        from relex.runtime.program import CompiledProgram  # It needs NumPy, which compilers that use the cache do not.

        return self.read(key, PROGRAM, CompiledProgram.unpack)

    def put(self, key: str, program: CompiledProgram) -> None:
        """Store a program. Failure to do so is a `UserWarning`."""
        try:
            self.write({f"{key}{PROGRAM}": program.pack()})
        except (RelexError, OSError) as e:
            warnings.warn(f"the compiled program is not kept in the cache: {e}", stacklevel=2)

    def read(self, key: str, suffix: str, unpack: Callable[[memoryview], T]) -> T | None:
        """Return what `unpack` makes of an entry, if there is an intact one."""
        path = self.folder / f"{key}{suffix}"
        try:
            # No check for changes: only `write` writes here, replacing whole files, and time stamps change with each
            # use.
            found = unpack(MappedFile(path).data)
        except RelexError:
            return None
        with suppress(OSError):
            # The modification time records the last use.
            os.utime(path)
        return found

    def write(self, files: Mapping[str, Sequence[Buffer]]) -> None:
        """Store files, and remove what exceeds the limit. Raises `RelexError` or `OSError`."""
        for name, chunks in files.items():
            write_file(self.folder / name, chunks)
        if self._is_due(sum(len(chunk) for chunks in files.values() for chunk in chunks)):
            self._evict()

    def _is_due(self, written: int) -> bool:
        """Return whether to sweep the folder, after this process has written this number of bytes more."""
        unswept = _unswept.pop(self.folder, self.limit) + written
        is_due = unswept * SWEEPS >= self.limit
        _unswept[self.folder] = 0 if is_due else unswept
        for folder in [*_unswept][:-_FOLDERS]:
            _unswept.pop(folder, None)
        return is_due

    def _evict(self) -> None:
        """Remove what exceeds the limit. Other processes may do so at the same time; mapped files stay valid."""
        left = self.limit
        for name, status in sorted(self._files(), key=lambda file: -file[1].st_mtime_ns):
            is_entry = not name.startswith(".")
            left -= status.st_size if is_entry else 0
            if left < 0 if is_entry else status.st_mtime < time.time() - ABANDONED:
                (self.folder / name).unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if not entry.is_dir():
                        yield entry.name, entry.stat()


CacheOption = CompileCache | str | PathLike[str] | bool | None
"""A cache, the folder of one, or whether to use the default one; None follows the environment."""


def find_cache(option: CacheOption) -> CompileCache | None:
    """Return the cache to use, if any. The default one is the folder in `RELEX_CACHE`, else `relex` in `XDG_CACHE_HOME`
    or `~/.cache`; `off` or `0` in `RELEX_CACHE` disables it."""
    if isinstance(option, CompileCache):
        return option
    if not isinstance(option, bool | None):
        return CompileCache(option)
    folder = os.environ.get(FOLDER_VARIABLE)
    if is_off(option) or not (option or folder):
        return None
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "relex")
    return CompileCache(Path(folder or default).expanduser())


def is_off(option: CacheOption) -> bool:
    """Return whether nothing is to be kept, in memory either."""
    return option is False or (option in (None, True) and os.environ.get(FOLDER_VARIABLE) in OFF)


def usable_cache() -> CompileCache | None:
    """Return the cache of what needs no permission to be kept, or None if it is off or cannot be used."""
    with suppress(RelexError, RuntimeError):
        return find_cache(True)
    return None
