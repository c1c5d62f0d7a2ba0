"""A cache that a test has for itself."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relex.dialects.target.machine import Target
from relex.dialects.target.short_targets import short_target
from relex.runtime.kernel_cache import MEMORY


def use_own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the cache on, and in a folder. Returns the folder of its files, which does not exist yet."""
    monkeypatch.delenv("RELEX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "relex"


@contextmanager
def own_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Keep kernels, of which none is known at the beginning of the `with` block. Yields the folder of their files,
    which does not exist yet."""
    short_target(Target.host())  # Its features are asked for once in a process, and kept in a file.
    # Where each level is verified, no kernels are kept.
    monkeypatch.delenv("RELEX_VERIFY", raising=False)
    files = use_own_cache(folder, monkeypatch)
    MEMORY.clear()
    yield files
    MEMORY.clear()
