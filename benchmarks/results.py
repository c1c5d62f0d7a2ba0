"""What was measured, in a file."""

from __future__ import annotations

import json
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
    """What a contender could not do, in a few words."""


@dataclass
class Comparison:
    """What each contender took for the same thing, again and again."""

    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By the title of the contender. What stands at the same place in two lists was measured one after the other."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Why a contender has no numbers."""
    limits: list[list[float]] = field(default_factory=list[list[float]])
    """The physical limits, in the same turns: seconds of arithmetic, seconds of memory traffic."""

    @contextmanager
    def noting(self, title: str) -> Generator[None]:
        """A contender that cannot do something gets a note instead of numbers."""
        try:
            yield
        except NotMeasuredError as e:
            self.seconds.pop(title, None)
            self.notes[title] = str(e)

    def median(self, title: str) -> float | None:
        """In seconds. None where it was not measured, here and below."""
        times = self.seconds.get(title)
        return median(times) if times else None

    def spread(self, title: str) -> float:
        """How far the middle half of the measurements is apart, as a share of the median."""
        times = self.seconds[title]
        if len(times) < 2:
            return 0.0
        first, _, third = quantiles(times, n=4)
        return (third - first) / median(times)

    def ratio(self, title: str) -> float | None:
        """How many times longer than relex another one takes: the median over the turns."""
        turns = zip(self.seconds.get(title, []), self.seconds.get(OURS, []), strict=False)
        found = [other / ours for other, ours in turns]
        return median(found) if found else None

    def best_rival(self) -> str | None:
        """The fastest of the others."""
        ratios = {title: ratio for title in self.seconds if (ratio := self.ratio(title)) is not None}
        return min((title for title in ratios if title != OURS), key=lambda title: ratios[title], default=None)

    def lead(self) -> float | None:
        """How many times longer the fastest of the others takes."""
        rival = self.best_rival()
        return None if rival is None else self.ratio(rival)

    def limit(self) -> tuple[float, str] | None:
        """The least seconds that the machine takes, and for what."""
        if not self.limits:
            return None
        arithmetic, traffic = (median(column) for column in zip(*self.limits, strict=True))
        return max((arithmetic, "arithmetic"), (traffic, "memory"))

    def share_of_limit(self) -> float | None:
        """How close relex is to what the machine can do: the median over the turns, and 1 is there."""
        found = [max(limits) / ours for limits, ours in zip(self.limits, self.seconds.get(OURS, []), strict=False)]
        return median(found) if found else None


def rivals(rows: Iterable[Comparison]) -> list[str]:
    """Who else has numbers in some rows, in the order of the tables."""
    found = {title for row in rows for title in row.seconds}
    return [title for title in CONTENDERS if title in found and title != OURS]


@dataclass
class Results:
    machine: dict[str, str]
    threads: int
    versions: dict[str, str | None]
    """Of the contenders' packages; None for one that is not installed."""
    calls: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    """By the name of the row."""
    compilations: dict[str, Comparison] = field(default_factory=dict[str, Comparison])
    starts: Comparison = field(default_factory=Comparison)
    """From the start of a process to its first result."""
    memory: dict[str, int] = field(default_factory=dict[str, int])
    """The most bytes that such a process had."""

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(_rounded(asdict(self))) + "\n")

    @classmethod
    def load(cls, file: Path) -> Results:
        found: dict[str, Any] = json.loads(file.read_text())
        for key in ("calls", "compilations"):
            found[key] = {name: Comparison(**value) for name, value in found[key].items()}
        found["starts"] = Comparison(**found["starts"])
        return cls(**found)


def _rounded(value: Any) -> Any:
    """With as many digits as mean something."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isa(value, list[Any]):
        return [_rounded(inner) for inner in value]
    if isa(value, dict[str, Any]):
        return {key: _rounded(inner) for key, inner in value.items()}
    return value
