"""Diagrams of pages as pictures: GitHub draws the language Mermaid itself, by a program that a browser would have to
fetch."""

from __future__ import annotations

import re
from html import escape

from relex.tools.reports.drawing import Box, Drawing
from relex.tools.reports.layout import Arrow, lay_out

MERMAID = re.compile(r"^```mermaid\ngraph LR\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r" (?:-- (\w+) )?--> ")


def drawn(page: str) -> str:
    """Return a page with pictures in place of its diagrams."""
    return MERMAID.sub(lambda diagram: picture(diagram[1]), page)


def picture(diagram: str) -> str:
    """Return the picture of lines such as `x --> y -- name --> z`."""
    edges = [edge for line in diagram.splitlines() for edge in _edges(line.strip())]
    drawing = Drawing()
    names = _ordered(edges)
    drawing.boxes = [Box(name, "op") for name in names]
    drawing.arrows = [Arrow(names.index(source), names.index(target), label) for source, target, label in edges]
    lay_out(drawing.boxes, drawing.arrows)
    return _svg(drawing)


def _edges(line: str) -> list[tuple[str, str, str]]:
    first, *rest = ARROW.split(line)
    ends = [first, *rest[1::2]]
    return [(source, target, label or "") for source, target, label in zip(ends, ends[1:], rest[::2], strict=False)]


def _ordered(edges: list[tuple[str, str, str]]) -> list[str]:
    """Return the names, each after those that arrows to it come from."""
    left = list(dict.fromkeys(name for source, target, _ in edges for name in (source, target)))
    found: list[str] = []
    while left:
        name = next(n for n in left if not any(target == n and source in left for source, target, _ in edges))
        left.remove(name)
        found.append(name)
    return found


def _svg(drawing: Drawing) -> str:
    width, height = drawing.size
    parts = [
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" fill="none" stroke="currentColor" '
        'font-size="13" text-anchor="middle" style="max-width: 100%">',
        '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="currentColor" stroke="none"/></marker>',
    ]
    for arrow in drawing.arrows:
        a, b = drawing.boxes[arrow.source], drawing.boxes[arrow.target]
        points = [(a.x, a.y + a.height), *arrow.points, (b.x, b.y)]
        line = " L".join(f"{x:g},{y:g}" for x, y in points)
        parts.append(f'<path d="M{line}" marker-end="url(#tip)"/>')
        (x, y), (to_x, to_y) = points[:2]
        parts.append(_text((x + to_x) / 2 + 14, (y + to_y) / 2, arrow.label))
    for box in drawing.boxes:
        corner = f'x="{box.x - box.width / 2:g}" y="{box.y:g}"'
        parts.append(f'<rect {corner} width="{box.width:g}" height="{box.height:g}" rx="4"/>')
        parts.append(_text(box.x, box.y + box.height / 2 + 4, box.title))
    return "\n".join([*filter(None, parts), "</svg>"])


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="currentColor" stroke="none">{escape(text)}</text>' if text else ""
