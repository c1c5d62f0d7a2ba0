"""Measurements, and their storage in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from xdsl.utils.hints import isa

from benchmarks.contenders import CONTENDERS

FOLDER = Path(__file__).parent / "results"
OURS = "relex"


class NotMeasuredError(Exception):
    """Why a contender has no measurement, in a few words."""


@dataclass
class Comparison:
    """The times of all contenders for one task, measured repeatedly."""

    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Times by title of the contender. Entries at the same position were measured in the same turn."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons for missing measurements by title."""
    limits: list[list[float]] = field(default_factory=list[list[float]])
    """The physical limits in the same turns: seconds of arithmetic, seconds of memory traffic."""

    @contextmanager
    def noting(self, title: str) -> Generator[None]:
        """Record a note instead of times if a contender fails."""
        try:
            yield
        except NotMeasuredError as e:
            self.seconds.pop(title, None)
            self.notes[title] = str(e)

    def median(self, title: str) -> float | None:
        """Return the median time in seconds. Here and below, None if it was not measured."""
        times = self.seconds.get(title)
        return median(times) if times else None

    def spread(self, title: str) -> float:
        """Return the interquartile range as a share of the median."""
        times = self.seconds[title]
        if len(times) < 2:
            return 0.0
        first, _, third = quantiles(times, n=4)
        return (third - first) / median(times)

    def ratio(self, title: str) -> float | None:
        """Return a contender's time as a multiple of relex's: the median over the turns."""
        turns = zip(self.seconds.get(title, []), self.seconds.get(OURS, []), strict=False)
        found = [other / ours for other, ours in turns]
        return median(found) if found else None

    def best_rival(self) -> str | None:
        """Return the fastest of the others."""
        ratios = {title: ratio for title in self.seconds if (ratio := self.ratio(title)) is not None}
        return min((title for title in ratios if title != OURS), key=lambda title: ratios[title], default=None)

    def lead(self) -> float | None:
        """Return the time of the fastest of the others as a multiple of relex's."""
        rival = self.best_rival()
        return None if rival is None else self.ratio(rival)

    def medians_of_limits(self) -> tuple[float, float] | None:
        """Return the medians of the limits in seconds: arithmetic first, then memory traffic."""
        if not self.limits:
            return None
        arithmetic, traffic = (median(column) for column in zip(*self.limits, strict=True))
        return arithmetic, traffic

    def limit(self) -> tuple[float, str] | None:
        """Return the larger of the two limits in seconds, and its kind."""
        limits = self.medians_of_limits()
        return max(zip(limits, ("arithmetic", "memory"), strict=True)) if limits else None

    def share_of_limit(self) -> float | None:
        """Return the share of the physical limit that relex reaches, at most about 1: the median over the turns."""
        found = [max(limits) / ours for limits, ours in zip(self.limits, self.seconds.get(OURS, []), strict=False)]
        return median(found) if found else None


def rivals(rows: Iterable[Comparison]) -> list[str]:
    """Return the other contenders with measurements in some rows, in the order of the tables."""
    found = {title for row in rows for title in row.seconds}
    return [title for title in CONTENDERS if title in found and title != OURS]


@dataclass
class Results:
    """All measurements of a run."""

    machine: dict[str, str]
    threads: int
    versions: dict[str, str | None]
    """Versions of the contenders' packages; None if not installed."""
    date: str = ""
    """The day of the measurement, as in ISO 8601."""
    features: str = ""
    """The vectors that the contenders were kept to; empty if they were free."""
    calls: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    """Comparisons by name of the row."""
    compilations: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    starts: Comparison = field(default_factory=Comparison)
    """Time from process start to the first result."""
    memory: dict[str, int] = field(default_factory=dict[str, int])
    """Peak memory of such a process in bytes."""

    @property
    def name(self) -> str:
        """The name of the folder of these results: the processor, and what it was kept to."""
        processor = re.search(r"\(([\w-]+)\)", self.machine.get("processor", ""))
        threads = f"{self.threads}-threads" if self.threads > 1 else ""
        return "-".join(filter(None, (processor[1] if processor else "unknown", self.features, threads)))

    def save(self, file: Path) -> None:
        """Write the results to a JSON file."""
        file.write_text(json.dumps(_rounded(asdict(self))) + "\n")

    @classmethod
    def load(cls, file: Path) -> Results:
        """Read results from a JSON file."""
        found: dict[str, Any] = json.loads(file.read_text())
        for key in ("calls", "compilations"):
            found[key] = {name: Comparison(**value) for name, value in found[key].items()}
        found["starts"] = Comparison(**found["starts"])
        return cls(**found)


def published() -> list[Results]:
    """Return all published results, the newest first."""
    found = [Results.load(file) for file in sorted(FOLDER.glob("*/results.json"))]
    return sorted(found, key=lambda results: results.date, reverse=True)


def _rounded(value: Any) -> Any:
    """Round floats to four significant digits."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isa(value, list[Any]):
        return [_rounded(inner) for inner in value]
    if isa(value, dict[str, Any]):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value
