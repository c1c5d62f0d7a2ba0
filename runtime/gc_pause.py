"""Python's garbage collector while programs are compiled."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from threading import Lock

MANY = 1_000_000
"""The number of new objects, some 200 MB of IR, from which garbage is collected between two passes."""


MANY_KEPT = 20_000
"""The number of objects that compilations have left, from which all garbage is collected: programs that have been
dropped since are in the oldest generation, which Python itself looks at only while other code makes objects."""


class _Uncollected(ContextDecorator):
    """
    Turns the garbage collector off while programs are compiled: IR is made of many objects, few of which become garbage
    before the end, so that it takes a tenth of the time.

    At the end, objects made since then are collected: lowered modules are full of cycles, and hold copies of the
    weights. Compilations may nest, and run in several threads: the first to begin turns the collector off, and the last
    to end turns it on, unless it was off before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._compilations = 0
        self._was_enabled = False
        self._kept = 0
        self._oldest: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._compilations += 1
            if self._compilations == 1:
                self._was_enabled = gc.isenabled()
                gc.disable()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._compilations -= 1
            if self._compilations == 0 and self._was_enabled:
                # Twice is enough for an object to get to the oldest generation, which is not looked at.
                self._kept += gc.get_count()[0] - gc.collect(1)
                if self._kept > MANY_KEPT:
                    self._collect_if_many_kept()
                gc.enable()

    def _collect_if_many_kept(self) -> None:
        """Collect all garbage if the oldest generation has got many objects since the last time. What has been counted
        is more: it includes dictionaries that the collector knows to be in no cycle. The first time, objects are only
        counted: most of them are imported modules, which take longer to look at than a small program to compile."""
        self._kept, count = 0, len(gc.get_objects(2))
        if self._oldest is None:
            self._oldest = count
        elif count > self._oldest + MANY_KEPT:
            gc.collect()
            self._oldest = len(gc.get_objects(2))

    def collect_if_many(self, many: int = MANY) -> None:
        """Collect garbage if many objects have been made since the last time."""
        if self._was_enabled and gc.get_count()[0] > many:
            gc.collect(1)


UNCOLLECTED = _Uncollected()
"""Decorates functions that compile: when one ends, nothing refers to its module any more."""
