"""Progress of a compilation: its stages and how far each has come, for timing tables and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Watcher(Protocol):
    """An observer of the compilations of a thread."""

    def begin(self, stage: str) -> None:
        """A stage begins; it may be part of another one."""

    def reach(self, name: str, done: int, count: int) -> None:
        """Part `name` of the innermost stage begins, after `done` of `count` parts."""

    def end(self) -> None:
        """The innermost stage ends."""


_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


def watchers() -> tuple[Watcher, ...]:
    """Return the watchers of this thread."""
    return _watchers.get()


@contextmanager
def watched_by(watcher: Watcher) -> Generator[None]:
    """Notify a watcher of what this thread does in the body."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def doing(name: str) -> AbstractContextManager[None]:
    """Run the body as a stage: a pass, or what comes before or after all passes."""
    told = _watchers.get()
    return _told(name, told) if told else nullcontext()


@contextmanager
def _told(name: str, told: Sequence[Watcher]) -> Generator[None]:
    for watcher in told:
        watcher.begin(name)
    try:
        yield
    finally:
        for watcher in told:
            watcher.end()


def reach(name: str, done: int, count: int) -> None:
    """Report that a part of the stage begins, after `done` of `count` parts."""
    for watcher in _watchers.get():
        watcher.reach(name, done, count)


def parts(items: Sequence[T], name: Callable[[T], str]) -> Generator[T]:
    """Yield the parts of a stage; `name` returns the name of each."""
    for done, item in enumerate(items):
        reach(name(item), done, len(items))
        yield item
