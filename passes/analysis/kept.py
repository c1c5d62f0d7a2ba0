"""What is known of a program that does not change for a while."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

FoundT = TypeVar("FoundT")

Kept: TypeAlias = dict[Hashable, Any]
"""What was found, by what it was asked for."""

_KEPT = ContextVar[Kept | None]("kept", default=None)


@contextmanager
def keeping(kept: Kept) -> Generator[None]:
    """Keep what `once` finds in the `with` block, which changes none of the loops that it asks about. Another block may
    use what was kept, too, if nothing has changed them meanwhile."""
    token = _KEPT.set(kept)
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
