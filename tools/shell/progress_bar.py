"""A progress bar for the tools."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import TextIO, TypeVar

T = TypeVar("T")

WIDTH = 30
"""Width of the bar in characters."""

PAUSE = 0.1
"""Seconds between two updates of the bar."""


def with_progress(items: Sequence[T], file: TextIO) -> Generator[T]:
    """Yield the items. On a terminal, a progress bar shows how many are done and the estimated time left; it is erased
    at the end."""
    if not file.isatty():
        yield from items
        return
    begin = shown = time.monotonic()
    try:
        for done, item in enumerate(items):
            now = time.monotonic()
            if now - shown >= PAUSE:
                shown = now
                file.write("\r" + bar(done, len(items), now - begin))
                file.flush()
            yield item
    finally:
        # Return to the start of the line and erase it.
        file.write("\r\x1b[K")
        file.flush()


def bar(done: int, count: int, seconds: float) -> str:
    """Return the text of the bar after `done` of `count` items and `seconds` seconds."""
    left = f"{seconds / done * (count - done):.0f} s left" if done else "starting"
    return f"{cells(done / count)} {done}/{count}, {left}  "


def cells(share: float) -> str:
    """Return the bar itself, of which a share is done."""
    filled = int(WIDTH * min(share, 1.0))
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"
