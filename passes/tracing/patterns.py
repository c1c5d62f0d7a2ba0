"""Watching the patterns of xDSL: while anything is observed, their methods are replaced by ones that report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from threading import Lock
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

RunPattern = Callable[[RewritePattern, Operation, PatternRewriter, Callable[[], object]], object]
"""Runs a pattern at an op and observes it; the last argument is what the pattern itself does."""


class WatchedPatterns:
    """Replaces the methods of all patterns while anything is observed, in any thread, so that `run` runs them."""

    def __init__(self, run: RunPattern) -> None:
        self._run = run
        self._lock = Lock()
        self._observers = 0
        self._originals: list[tuple[type[RewritePattern], Any]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._observers += 1
            if self._observers == 1:
                for cls in _subclasses(RewritePattern):
                    self._replace(cls)
                # Classes that are defined from now on.
                setattr(RewritePattern, "__init_subclass__", classmethod(self._replace))  # noqa: B010

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._observers -= 1
            if self._observers == 0:
                delattr(RewritePattern, "__init_subclass__")
                for cls, original in self._originals:
                    setattr(cls, "match_and_rewrite", original)  # noqa: B010
                self._originals.clear()

    def _replace(self, cls: type[RewritePattern]) -> None:
        original = vars(cls).get("match_and_rewrite")
        if original is not None:
            self._originals.append((cls, original))
            setattr(cls, "match_and_rewrite", self._watched(original))  # noqa: B010

    def _watched(self, method: Callable[[Any, Operation, PatternRewriter], object]) -> Callable[..., object]:
        @wraps(method)
        def match_and_rewrite(pattern: RewritePattern, op: Operation, rewriter: PatternRewriter) -> object:
            return self._run(pattern, op, rewriter, lambda: method(pattern, op, rewriter))

        return match_and_rewrite


def _subclasses(cls: type[RewritePattern]) -> Iterator[type[RewritePattern]]:
    for derived in cls.__subclasses__():
        yield derived
        yield from _subclasses(derived)
