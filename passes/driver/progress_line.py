"""The line that shows on terminals what a compilation is doing, if it takes longer than a moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TextIO

from relex.passes.driver.activity import watched_by, watchers

VARIABLE = "RELEX_PROGRESS"
"""The environment variable that turns the line off if it is 0."""

DELAY = 1.0
"""Seconds until the line appears."""

PAUSE = 0.1
"""Seconds between two updates."""

ERASE = "\r\x1b[K"
"""Returns to the start of the line and erases it."""


class Progress:
    """The stages of a compilation and the parts that they are at, drawn by a thread: the innermost stage, after those
    around it that have parts, and the seconds since the start."""

    def __init__(self, file: TextIO):
        self._file = file
        self._stages: list[tuple[str, str]] = []
        self._ended = Event()
        self._started = monotonic()
        self._thread = Thread(target=self._draw, name="relex-progress", daemon=True)

    def begin(self, stage: str) -> None:
        """Show another stage."""
        self._stages.append((stage, ""))

    def reach(self, name: str, done: int, count: int) -> None:
        """Show the part that begins."""
        if self._stages:
            stage, _ = self._stages[-1]
            self._stages[-1] = stage, f" {done + 1}/{count} {name}".rstrip()

    def end(self) -> None:
        """Show the stage around the innermost one."""
        self._stages.pop()

    def __str__(self) -> str:
        *around, innermost = self._stages or [("", "")]
        return ": ".join(f"{stage}{part}" for stage, part in (*(found for found in around if found[1]), innermost))

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show the line in the body; it is gone at the end."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _draw(self) -> None:
        pause, drawn = DELAY, False
        while not self._ended.wait(pause):
            # The cursor goes back to the start, so that other output replaces the line.
            seconds = f", {monotonic() - self._started:.0f} s"
            self._write(f"{ERASE}{str(self)[: _columns(self._file) - 1 - len(seconds)]}{seconds}\r")
            pause, drawn = PAUSE, True
        if drawn:
            self._write(ERASE)

    def _write(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except (OSError, ValueError):
            # The terminal has been closed, which is no reason to fail.
            self._ended.set()


@contextmanager
def showing_progress(enabled: bool = True) -> Generator[None]:
    """Show what the body compiles if it takes more than a second and stderr is a terminal that a person looks at. In a
    body that is shown already, nothing changes."""
    if not (enabled and _is_wanted(sys.stderr)) or any(isinstance(watcher, Progress) for watcher in watchers()):
        yield
        return
    progress = Progress(sys.stderr)
    with watched_by(progress), progress.shown():
        yield


def _is_wanted(file: TextIO | None) -> bool:
    variables = os.environ
    is_off = variables.get(VARIABLE) == "0" or bool(variables.get("CI")) or variables.get("TERM") == "dumb"
    return file is not None and not is_off and file.isatty()


def _columns(file: TextIO) -> int:
    try:
        return os.get_terminal_size(file.fileno()).columns or 80
    except OSError:
        return 80
