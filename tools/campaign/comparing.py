"""Comparisons whose differences are findings."""

from __future__ import annotations

from collections.abc import Callable

from relex.reference.equivalence.check import NotEquivalentError, Report
from relex.tools.campaign.subject import Skip


def difference(compare: Callable[[], Report]) -> str | None:
    """Return what a comparison finds, None for nothing. Raises `Skip` if nothing could be compared."""
    try:
        report = compare()
    except NotEquivalentError as e:
        (found,) = e.diagnostics
        return "\n".join([found.message, *found.notes])
    if not report.compared and report.skipped:
        raise Skip(next(iter(report.skipped.values())))
    return None
