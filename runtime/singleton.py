"""Lazily created singletons of the process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):
    """Decorator for a function without arguments: it runs once, and concurrent callers wait for its result.

    `functools.cache` alone runs it in every thread that calls it before the first result exists. Each thread then has
    its own result, which is unloaded while code linked with it still runs.
    """

    def __init__(self, make: Callable[[], T]):
        self.__doc__ = make.__doc__
        self._kept = cache(make)
        self._lock = RLock()

    def __call__(self) -> T:
        with self._lock:
            return self._kept()

    def cache_clear(self) -> None:
        """Forget the result: the next call runs the function again."""
        self._kept.cache_clear()
