"""The ops around an op."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation


def ancestors(op: Operation) -> Iterator[Operation]:
    """Yield the ops around `op`, innermost first."""
    scope = op.parent_op()
    while scope is not None:
        yield scope
        scope = scope.parent_op()
