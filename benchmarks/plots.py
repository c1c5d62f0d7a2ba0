"""Plots as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import log10

from benchmarks.results import Comparison, rivals

Rows = Mapping[str, Comparison]

LEFT, TOP, WIDTH, STEP = 250, 50, 640, 18
"""Origin and width of the plot, and height of a row, in pixels."""

COLORS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#e15759", "#76b7b2", "#edc948", "#bab0ac")
SMALLEST, LARGEST = 0.1, 100.0
"""The ends of the axis of ratios. Values beyond are drawn at the end."""


def times_of_others(rows: Rows) -> str:
    """Plot a dot for each row and contender: its time as a multiple of relex's."""
    titles = rivals(rows.values())

    def x(ratio: float) -> float:
        inside = min(max(ratio, SMALLEST), LARGEST)
        return LEFT + WIDTH * log10(inside / SMALLEST) / log10(LARGEST / SMALLEST)

    def dots() -> Iterator[str]:
        for number, row in enumerate(rows.values()):
            for title, color in zip(titles, COLORS, strict=False):
                ratio = row.ratio(title)
                if ratio is not None:
                    yield f'<circle cx="{x(ratio):.1f}" cy="{_middle(number)}" r="4" fill="{color}" opacity="0.85"/>'

    legend = [
        f'<circle cx="{LEFT + 95 * k - 90}" cy="12" r="4" fill="{color}"/>'
        f'<text x="{LEFT + 95 * k - 82}" y="16">{escape(title)}</text>'
        for k, (title, color) in enumerate(zip(titles, COLORS, strict=False))
    ]
    ticks = {x(ratio): f"{ratio:g} x" for ratio in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)}
    return _plot(list(rows), ticks, [*legend, *dots()], strong=x(1))


def shares_of_limits(rows: Rows) -> str:
    """Plot a bar for each row: the share of the physical limit that relex reaches."""
    shares = {name: share for name, row in rows.items() if (share := row.share_of_limit()) is not None}
    bars = [
        f'<rect x="{LEFT}" y="{_middle(k) - 5}" width="{WIDTH * min(share, 1):.1f}" height="10" fill="{COLORS[0]}"/>'
        for k, share in enumerate(shares.values())
    ]
    ticks = {LEFT + WIDTH * percent / 100: f"{percent} %" for percent in range(0, 101, 20)}
    return _plot(list(shares), ticks, bars, strong=LEFT + WIDTH)


def _middle(number: int) -> int:
    """Return the vertical center of a row."""
    return TOP + STEP * number + STEP // 2


def _plot(names: Sequence[str], ticks: Mapping[float, str], shapes: Sequence[str], strong: float) -> str:
    bottom = TOP + STEP * len(names)
    labels = [
        f'<text x="{LEFT - 8}" y="{_middle(k) + 4}" text-anchor="end">{escape(n)}</text>' for k, n in enumerate(names)
    ]
    grid = [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="{"#444" if x == strong else "#ddd"}"/>'
        f'<text x="{x:.1f}" y="{TOP - 8}" text-anchor="middle">{text}</text>'
        for x, text in ticks.items()
    ]
    size = f'width="{LEFT + WIDTH + 40}" height="{bottom + 10}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, background, *labels, *grid, *shapes, "</svg>"]) + "\n"
