"""Performance goals of relex and how far they are met; the tables show both met and missed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from benchmarks.results import OURS, Comparison, Results
from benchmarks.rows import ROWS

Reached = Callable[[Results], float | None]
"""Returns the value reached, None if it was not measured."""


@dataclass(frozen=True)
class Aim:
    """A performance goal."""

    text: str
    wanted: float
    reached: Reached
    unit: str = ""
    at_most: bool = False
    """True if lower is better."""

    def met(self, reached: float) -> bool:
        """Return whether a value meets the goal."""
        return reached <= self.wanted if self.at_most else reached >= self.wanted


def worst(rows: Iterable[str], number: Callable[[Comparison], float | None]) -> Reached:
    """The smallest value of `number` over some rows."""

    def reached(results: Results) -> float | None:
        found = [number(results.calls[row]) for row in rows if row in results.calls]
        return min((value for value in found if value is not None), default=None)

    return reached


def lead(row: str) -> Reached:
    """The speedup over the best other library in a row."""
    return worst([row], Comparison.lead)


def share_of_limit(rows: Iterable[str]) -> Reached:
    """The smallest percentage of the physical limit over some rows."""
    return worst(rows, lambda comparison: _times(100, comparison.share_of_limit()))


def milliseconds(find: Callable[[Results], Comparison | None]) -> Reached:
    """The median time of relex in a comparison, in milliseconds."""

    def reached(results: Results) -> float | None:
        comparison = find(results)
        return _times(1000, comparison.median(OURS)) if comparison is not None else None

    return reached


def _times(factor: float, number: float | None) -> float | None:
    return None if number is None else factor * number


PRODUCTS = [
    row.name for row in ROWS.values() if row.group in ("dense, constant weights", "dense, run-time weights", "matmul")
]
STREAMS = [f"{name}, {size}" for name in ("relu(x * y + y)", "sum") for size in (100_000, 10_000_000)]
MLP = "MLP 784-128-10, batch 1"

AIMS = (
    Aim("MLP, batch 1: the best other library's time", 3, lead(MLP), " x"),
    Aim("MLP, batch 16: the best other library's time", 1.3, lead("MLP 784-128-10, batch 16"), " x"),
    Aim("MLP, batch 256: the best other library's time", 1.1, lead("MLP 784-128-10, batch 256"), " x"),
    Aim("MLP, batch 2048: the best other library's time", 1.1, lead("MLP 784-128-10, batch 2048"), " x"),
    Aim(
        "dense 512x1024x1024, constant: share of the peak", 90, share_of_limit(["dense 512x1024x1024, constant"]), " %"
    ),
    Aim(
        "dense 1024x1024x1024, constant: share of the peak",
        90,
        share_of_limit(["dense 1024x1024x1024, constant"]),
        " %",
    ),
    Aim("every dense and matmul: NumPy's time", 0.8, worst(PRODUCTS, lambda row: row.ratio("NumPy")), " x"),
    Aim("chains and sums from 100000 elements up: share of the bandwidth", 85, share_of_limit(STREAMS), " %"),
    Aim(
        "MLP, batch 1: from text to the first result", 300, milliseconds(lambda r: r.compilations.get(MLP)), " ms", True
    ),
    Aim("MLP, batch 1: from process start to the first result", 800, milliseconds(lambda r: r.starts), " ms", True),
)
