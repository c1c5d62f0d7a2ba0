"""What a process has one of, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):
    """Decorates a function without arguments: it runs once, and other threads wait for its result.

    `functools.cache` alone runs it in every thread that asks before the first result is there. Each thread then has a
    result of its own, which is unloaded while code that was linked with it still runs.
    """

    def __init__(self, make: Callable[[], T]):
        self.__doc__ = make.__doc__
        self._kept = cache(make)
        self._lock = RLock()

    def __call__(self) -> T:
        with self._lock:
            return self._kept()

    def cache_clear(self) -> None:
        self._kept.cache_clear()
