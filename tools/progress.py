"""A bar that shows how far a tool has come."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import TextIO, TypeVar

T = TypeVar("T")

WIDTH = 30
"""Of the bar, in characters."""

PAUSE = 0.1
"""Seconds between two looks of the bar."""


def with_progress(items: Sequence[T], file: TextIO) -> Generator[T]:
    """The items, one by one. On a terminal a bar says how many are done and how long the others will take; at the end
    it goes away."""
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
        # Back to the start of the line, and blank from there on.
        file.write("\r\x1b[K")
        file.flush()


def bar(done: int, count: int, seconds: float) -> str:
    """What the bar looks like when so many are done after so many seconds."""
    filled = WIDTH * done // count
    left = f"{seconds / done * (count - done):.0f} s left" if done else "starting"
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{count}, {left}  "
