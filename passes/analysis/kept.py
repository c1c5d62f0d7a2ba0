"""What is known of a program that does not change for a while.

A step of a schedule examines the program and then changes it: `suspended` surrounds the step, and `resumed` what it
examines before it changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

FoundT = TypeVar("FoundT")

Kept: TypeAlias = dict[Hashable, Any]
"""What was found, by what it was asked for."""

_KEPT = ContextVar[Kept | None]("kept", default=None)
_SUSPENDED = ContextVar[Kept | None]("suspended", default=None)


@contextmanager
def keeping(kept: Kept) -> Generator[None]:
    """Keep what `once` finds in the `with` block, which changes none of the loops that it asks about. Another block may
    use what was kept, too, if nothing has changed them meanwhile."""
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def forget() -> None:
    """Forget what was kept: the program is going to change."""
    kept = _KEPT.get()
    if kept is not None:
        kept.clear()


@contextmanager
def suspended(*, is_kept: bool) -> Generator[None]:
    """Neither keep nor use anything in the `with` block, which may change the program. What was kept is forgotten at
    its end, unless it `is_kept`."""
    kept = _KEPT.get()
    if kept is None:
        yield
        return
    tokens = _KEPT.set(None), _SUSPENDED.set(kept)
    try:
        yield
    finally:
        if not is_kept:
            kept.clear()
        _KEPT.reset(tokens[0])
        _SUSPENDED.reset(tokens[1])


@contextmanager
def resumed() -> Generator[None]:
    """Keep and use what is found in the `with` block, which comes before anything is changed in `suspended`."""
    token = _KEPT.set(_SUSPENDED.get() if _KEPT.get() is None else _KEPT.get())
    try:
        yield
    finally:
        _KEPT.reset(token)


def once(key: Hashable, find: Callable[[], FoundT]) -> FoundT:
    """Return what `find` returns, or what it returned before for the same key, if that is kept."""
    kept = _KEPT.get()
    if kept is None:
        return find()
    if key not in kept:
        kept[key] = find()
    return kept[key]
