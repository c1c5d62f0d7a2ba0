"""Plots as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import log10

from benchmarks.results import OURS, Comparison, rivals

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

    width = min(120, (LEFT + WIDTH - 120) // max(len(titles), 1))
    legend = [
        f'<circle cx="{160 + width * k}" cy="12" r="4" fill="{color}"/>'
        f'<text x="{168 + width * k}" y="16">{escape(title)}</text>'
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


ROOF_WIDTH, ROOF_HEIGHT = 640, 360
"""The size of the roofline plot in pixels."""

FEWEST, MOST = 1e-2, 1e2
"""The ends of its axis of intensity."""

LOWEST = 1e-2
"""The lower end of its axis of shares of the peak."""


def roofline(rows: Rows) -> str:
    """Plot a dot for each row with multiply-adds: how many of them it does for a byte, as a multiple of those at which
    arithmetic takes as long as memory traffic, and the share of the peak that relex reaches. The traffic of a row is
    the traffic of the cache that its data fit into, so that one roof covers all rows."""

    def x(intensity: float) -> float:
        return LEFT + ROOF_WIDTH * log10(min(max(intensity, FEWEST), MOST) / FEWEST) / log10(MOST / FEWEST)

    def y(share: float) -> float:
        return TOP + ROOF_HEIGHT * log10(min(max(share, LOWEST), 1)) / log10(LOWEST)

    def dots() -> Iterator[str]:
        for name, row in rows.items():
            time, limits = row.median(OURS), row.medians_of_limits()
            if time is None or limits is None or not limits[0]:
                continue
            arithmetic, traffic = limits
            title = f"{name}: {100 * arithmetic / time:.0f} % of the peak, {100 * max(limits) / time:.0f} % of the roof"
            place = f'cx="{x(arithmetic / traffic):.1f}" cy="{y(arithmetic / time):.1f}"'
            yield f'<circle {place} r="4" fill="{COLORS[0]}" opacity="0.7"><title>{escape(title)}</title></circle>'

    bottom, right = TOP + ROOF_HEIGHT, LEFT + ROOF_WIDTH
    roof = f"{LEFT},{y(FEWEST):.1f} {x(1):.1f},{TOP} {right},{TOP}"
    columns = [
        f'<line x1="{x(k):.1f}" x2="{x(k):.1f}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{x(k):.1f}" y="{bottom + 16}" text-anchor="middle">{k:g} x</text>'
        for k in (0.01, 0.1, 1, 10, 100)
    ]
    lines = [
        f'<line x1="{LEFT}" x2="{right}" y1="{y(k):.1f}" y2="{y(k):.1f}" stroke="#ddd"/>'
        f'<text x="{LEFT - 8}" y="{y(k) + 4:.1f}" text-anchor="end">{100 * k:g} %</text>'
        for k in (0.01, 0.1, 0.5, 1)
    ]
    words = [
        f'<text x="{LEFT}" y="{TOP - 12}">share of the peak of multiply-adds</text>',
        f'<text x="{right}" y="{bottom + 34}" text-anchor="end">'
        "multiply-adds for a byte, 1 where arithmetic takes as long as memory traffic</text>",
    ]
    shape = f'<polyline points="{roof}" fill="none" stroke="#444" stroke-width="2"/>'
    return _picture(bottom + 44, [*columns, *lines, shape, *words, *dots()])


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
    return _picture(bottom + 10, [*labels, *grid, *shapes])


def _picture(height: int, shapes: Sequence[str]) -> str:
    size = f'width="{LEFT + WIDTH + 40}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    background = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head, background, *shapes, "</svg>"]) + "\n"
