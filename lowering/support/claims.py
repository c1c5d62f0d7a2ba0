"""What builds in several threads are at, so that none of them does what another one is doing."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from threading import Condition


class Claims:
    """The keys of what is being made. Who claims one makes it; the others may wait until it has been made, or has
    failed."""

    def __init__(self):
        self.forget()
        if hasattr(os, "register_at_fork"):
            # The threads that have claims are not in a process that is forked.
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Forget all claims."""
        self._changed = Condition()
        self._claimed: set[str] = set()

    @contextmanager
    def claimed(self, keys: Iterable[str]) -> Generator[set[str]]:
        """Claim those keys that nobody has claimed, until the `with` block ends. Who waits for keys in it must not be
        waited for: wait after it."""
        with self._changed:
            mine = set(keys) - self._claimed
            self._claimed |= mine
        try:
            yield mine
        finally:
            with self._changed:
                self._claimed -= mine
                self._changed.notify_all()

    def wait_for(self, keys: Iterable[str]) -> None:
        """Wait until nobody claims any of these keys."""
        awaited = set(keys)
        with self._changed:
            self._changed.wait_for(lambda: not awaited & self._claimed)
