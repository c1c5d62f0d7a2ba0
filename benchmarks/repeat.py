"""Repeats published measurements with their options, and says where they differ: `make bench-report`."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.__main__ import measure
from benchmarks.machine import usable_cores
from benchmarks.report import table
from benchmarks.results import Results, published
from benchmarks.rows import ROWS


@dataclass(frozen=True)
class Repeated:
    """The time of a contender in a row as a multiple of relex's, published and measured again."""

    row: str
    title: str
    before: float
    now: float

    def differs(self, tolerance: float) -> bool:
        """Return whether one exceeds the other by more than this share."""
        return max(self.before, self.now) > (1 + tolerance) * min(self.before, self.now)


def compared(before: Results, now: Results) -> Iterator[Repeated]:
    """Yield what was measured both times."""
    for row, measured in now.calls.items():
        for title in measured.seconds:
            old = before.calls[row].ratio(title) if row in before.calls else None
            new = measured.ratio(title)
            if title != "relex" and old is not None and new is not None:
                yield Repeated(row, title, old, new)


def report(before: Results, now: Results, tolerance: float) -> str:
    """Return a table of ratios that differ, and what may be the reason."""
    all_of_them = list(compared(before, now))
    if not all_of_them:
        return "nothing was measured both times\n"
    different = [found for found in all_of_them if found.differs(tolerance)]
    rows = [[f.row, f.title, f"{f.before:.2f}", f"{f.now:.2f}", f"{f.now / f.before:.2f}"] for f in different]
    lines = [table(("row", "contender", "published", "here", "factor"), rows)] if rows else []
    means = [float(np.exp(np.mean(np.log([getattr(f, name) for f in all_of_them])))) for name in ("before", "now")]
    lines.append(
        f"{len(different)} of {len(all_of_them)} ratios to the time of relex differ by more than {tolerance:.0%}; the "
        f"geometric mean of all is {means[0]:.2f} published, {means[1]:.2f} here."
    )
    lines += [
        f"{what}: {before.machine[what]} published, {now.machine[what]} here."
        for what in ("processor", "caches")
        if what in before.machine and what in now.machine and before.machine[what] != now.machine[what]
    ]
    for package, old in before.versions.items():
        new = now.versions.get(package)
        if old is not None and old != new:
            lines.append(f"{package}: {old} published, {new or 'not installed'} here.")
    return "\n".join(lines) + "\n"


def arguments() -> tuple[argparse.Namespace, Results]:
    """Parse the command line. Returns the published results that it names, too."""
    known = {results.name: results for results in published()}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repeat", description=__doc__)
    parser.add_argument("results", nargs="?", choices=known, default="znver4", help="a folder of results (znver4)")
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="only rows with such names, like 'MLP*'")
    parser.add_argument("--contenders", nargs="+", metavar="TITLE", help="only these; relex has to be one of them")
    parser.add_argument("--seconds", type=float, default=0.25, help="for each contender at each row (0.25)")
    parser.add_argument("--tolerance", type=float, default=0.25, help="which difference is reported (0.25)")
    options = parser.parse_args()
    before = known[options.results]
    if before.threads > len(usable_cores()):
        parser.error(f"{options.results} has {before.threads} threads, and this machine {len(usable_cores())} cores")
    if not fnmatch.filter(ROWS, options.rows):
        parser.error(f"no row has a name like '{options.rows}'")
    options.threads, options.features, options.repeats = before.threads, before.features, 0
    return options, before


def main() -> int:
    """Measure again, and print what differs."""
    options, before = arguments()
    print(f"\n{report(before, measure(options), options.tolerance)}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
