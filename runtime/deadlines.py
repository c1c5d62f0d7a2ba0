"""Deadlines of calls."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock, Timer, local
from time import monotonic


class _Ends(local):
    """When the calls of this thread have to end, on the clock `monotonic`."""

    first: float = float("inf")


_ends = _Ends()


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """Let calls within the context, in this thread, raise a `TimeoutError` once some seconds have passed.

    A call ends after a trip of a loop of a graph function, with all its memory freed; kernels run to their end, and so
    does a call without such loops. Of deadlines within one another, the first counts.

        with relex.runtime.deadline(0.5):
            tokens = ex["generate"](prompt)
    """

    if not seconds >= 0:
        raise ValueError(f"expected 0 or more seconds, found {seconds:g}")
    outer, _ends.first = _ends.first, min(_ends.first, monotonic() + seconds)
    alarm = _Alarm()
    timer = Timer(min(seconds, _LONGEST), alarm.ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        alarm.turn_off()
        _ends.first = outer


_LONGEST = 10.0**6
"""The most seconds that a timer is set to; some systems refuse a hundred years."""


def has_passed() -> bool:
    """Return whether the calls of this thread have to end."""
    return monotonic() >= _ends.first


class _Alarm:
    """Makes loops ask whether their time is over, while it rings."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_on = True
        self._rings = False

    def ring(self) -> None:
        with self._lock:
            if self._is_on:
                self._count(1)
                self._rings = True

    def turn_off(self) -> None:
        with self._lock:
            self._is_on = False
            if self._rings:
                self._count(-1)

    @staticmethod
    def _count(more: int) -> None:
        from relex.runtime.callbacks import stopping

        stopping().count(more)
