"""Profiles in notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relex.runtime.profile import duration
from relex.tools.notebook.fragment import bar, count, fragment, table, title
from relex.tools.run.roofline import least_seconds_of

if TYPE_CHECKING:
    from relex.runtime.profile import KernelCalls, Profile


def html_of_profile(profile: Profile) -> str:
    """Return a bar for the time of each row of a profile, beside the least time that one core allows."""
    longest = max((row.seconds for row in profile.rows), default=0.0) or 1.0
    about = f"{profile.function}(): {duration(profile.seconds)} a run, the median of {count(profile.runs, 'run')}"
    titles = ("function", "calls", "time", "", "limit", "GF/s", "GB/s")
    return fragment(title("profile", about), table(titles, (_cells(row, longest) for row in profile.rows)))


def _cells(row: KernelCalls, longest: float) -> Sequence[str]:
    least, rate = least_seconds_of(row), row.flops_per_second
    about = f"({', '.join(row.inputs)}) -> ({', '.join(row.outputs)})"
    return (
        f'<span title="{html.escape(about)}">{html.escape(row.function)}</span>',
        str(row.calls),
        duration(row.seconds),
        bar(row.seconds / longest) + bar(least / longest, "limit"),
        f"{least / row.seconds:.0%}" if row.seconds else "-",
        "-" if rate is None else f"{rate / 1e9:.1f}",
        f"{row.bytes_per_second / 1e9:.1f}",
    )
