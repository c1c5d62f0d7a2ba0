"""The layout of a picture of a graph: Sugiyama's, in layers from the sources to the results.

Layers follow the longest path, arrows that cross layers are routed between their boxes, the order within each layer
reduces crossings, then positions follow. No layout library is both pure Python and well maintained, and a report must
need neither a network nor a C library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean

GAP = 28.0
"""Pixels between boxes."""

SWEEPS = 8
"""The number of times that the layers are ordered by their neighbours, down and up."""


@dataclass(kw_only=True)
class LayoutItem:
    """An item of a layer: a box, or an arrow that passes through."""

    width: float = 10.0
    height: float = 0.0
    layer: int = 0
    x: float = 0.0
    """The middle."""
    y: float = 0.0
    """The upper edge."""


@dataclass
class Arrow:
    """An arrow from one node to another, by their numbers, with what is written on it."""

    source: int
    target: int
    label: str
    points: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """The ends of the vertical lines by which it passes the layers between."""


def lay_out(nodes: Sequence[LayoutItem], arrows: Sequence[Arrow]) -> None:
    """Give nodes their places and arrows their ways. Sources precede targets in the order of the nodes."""
    _assign_layers(nodes, arrows)
    # Arrows from one node pass a layer together.
    bends: dict[tuple[int, int], int] = {}
    every, links = list(nodes), dict[tuple[int, int], None]()
    for arrow in arrows:
        last = arrow.source
        for layer in range(nodes[arrow.source].layer + 1, nodes[arrow.target].layer):
            if (arrow.source, layer) not in bends:
                bends[arrow.source, layer] = len(every)
                every.append(LayoutItem(layer=layer))
            links[last, last := bends[arrow.source, layer]] = None
        links[last, arrow.target] = None
    layers = _arrange(every, list(links))
    heights = _place(layers, every)
    for arrow in arrows:
        for layer in range(nodes[arrow.source].layer + 1, nodes[arrow.target].layer):
            bend = every[bends[arrow.source, layer]]
            arrow.points += [(bend.x, bend.y), (bend.x, bend.y + heights[layer])]


def _assign_layers(nodes: Sequence[LayoutItem], arrows: Sequence[Arrow]) -> None:
    """Put each node below all of its sources; one that has none just above the first that needs it."""
    above: list[list[int]] = [[] for _ in nodes]
    below: list[list[int]] = [[] for _ in nodes]
    for arrow in arrows:
        above[arrow.target].append(arrow.source)
        below[arrow.source].append(arrow.target)
    for node, sources in zip(nodes, above, strict=True):
        node.layer = max((nodes[n].layer + 1 for n in sources), default=0)
    for node, sources, targets in zip(nodes, above, below, strict=True):
        if targets and not sources:
            node.layer = min(nodes[n].layer for n in targets) - 1


def _arrange(nodes: Sequence[LayoutItem], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the nodes of each layer in order, and move them sideways to where their neighbours are."""
    above: list[list[int]] = [[] for _ in nodes]
    below: list[list[int]] = [[] for _ in nodes]
    for source, target in links:
        above[target].append(source)
        below[source].append(target)
    layers: list[list[int]] = [[] for _ in range(1 + max((node.layer for node in nodes), default=-1))]
    for number, node in enumerate(nodes):
        layers[node.layer].append(number)
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        for layer in layers if is_down else layers[::-1]:
            _order(layer, above if is_down else below, nodes)
    return layers


def _order(layer: list[int], neighbours: Sequence[Sequence[int]], nodes: Sequence[LayoutItem]) -> None:
    """Order a layer by where the neighbours of its nodes are, and move each towards them as far as there is room."""
    wanted = {n: mean(nodes[m].x for m in neighbours[n]) if neighbours[n] else nodes[n].x for n in layer}
    layer.sort(key=lambda n: wanted[n])
    for n, x in zip(layer, _apart([wanted[n] for n in layer], [nodes[n].width for n in layer]), strict=True):
        nodes[n].x = x


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> Iterator[float]:
    """Yield positions in the same order, at least a gap apart, as near to those wanted as the least squares of their
    distances allow: groups of neighbours that touch share one shift."""
    offsets = [0.0]
    for before, after in pairwise(widths):
        offsets.append(offsets[-1] + before / 2 + GAP + after / 2)
    groups: list[tuple[float, int]] = []
    for x, offset in zip(wanted, offsets, strict=True):
        total, count = x - offset, 1
        while groups and groups[-1][0] / groups[-1][1] >= total / count:
            more, others = groups.pop()
            total, count = total + more, count + others
        groups.append((total, count))
    shifts = (total / count for total, count in groups for _ in range(count))
    return (offset + shift for offset, shift in zip(offsets, shifts, strict=True))


def _place(layers: Sequence[Sequence[int]], nodes: Sequence[LayoutItem]) -> list[float]:
    """Set the upper edges of the nodes, and move all into the picture. Return the heights of the layers."""
    left = min((node.x - node.width / 2 for node in nodes), default=0.0)
    heights = [max(nodes[n].height for n in layer) for layer in layers]
    y = GAP
    for layer, height in zip(layers, heights, strict=True):
        for n in layer:
            nodes[n].x = round(nodes[n].x + GAP - left, 1)
            nodes[n].y = y
        y += height + 1.5 * GAP
    return heights
