"""Results whose sizes a run finds out."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from relex.dialects.arrays import Array

_RESULTS = ContextVar[dict[int, Array]]("results of the run that is under way")


@contextmanager
def collecting_results() -> Generator[Mapping[int, Array]]:
    """Collect the late results of a run, by number."""
    results: dict[int, Array] = {}
    token = _RESULTS.set(results)
    try:
        yield results
    finally:
        _RESULTS.reset(token)


def note_results(results: Mapping[int, Array]) -> None:
    """Note late results of the run that is under way. Outside of a run that collects them, nobody reads them."""
    _RESULTS.get({}).update(results)
