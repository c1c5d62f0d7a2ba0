"""Tensors surrounded by numbers, or by their own elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i1

from relex.dialects.arrays import Array
from relex.dialects.sizes import IndexExpr, Size, larger
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST, numbers_below
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.conditions import at_least
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, refuse


def padded(site: ImportedNode, x: Operand, widths: Sequence[Size], mode: str, value: Operand = 0) -> Operand:
    """Return a tensor surrounded by a number, or by its own elements: by widths before each dimension, then after each.
    Negative widths are cut off; what is cut off at one end may still be reflected at the other, as in PyTorch. Dynamic
    widths are never negative."""
    if mode not in ("constant", "reflect", "edge", "wrap"):
        refuse(f"expected constant, reflect, edge or wrap, found {mode}", "mode")
    half = len(widths) // 2
    pairs = list(zip(widths[:half], widths[half:], strict=True))
    for width in widths:
        if isinstance(width, IndexExpr):
            site.builder.require(at_least(width, 0), "")
    for axis, (before, after) in enumerate(pairs):
        cut = [-width if isinstance(width, int) and width < 0 else 0 for width in (before, after)]
        size = site.shape(x)[axis]
        site.expect_at_least(size, sum(cut), f"expected {size} elements at most to be cut off, found {before}, {after}")
        if any(cut) and (mode != "reflect" or not _any_positive(before, after)):
            x = op.strided_slice(x, [axis], [cut[0]], [-cut[1] if cut[1] else LAST])
            pairs[axis] = larger(before, 0), larger(after, 0)
    if mode == "constant":
        return _between(site, x, pairs, value)
    for axis, pair in enumerate(pairs):
        if any(isinstance(width, IndexExpr) or width for width in pair):
            x = op.take(x, _places(site.shape(x)[axis], pair, mode), axis)
    return x


def _any_positive(*widths: Size) -> bool:
    return any(isinstance(width, IndexExpr) or width > 0 for width in widths)


def _between(site: ImportedNode, x: Operand, pairs: Sequence[tuple[Size, Size]], value: Operand) -> Operand:
    """Return a tensor between numbers."""
    if not any(_any_positive(*pair) for pair in pairs):
        return x
    flat = [width for pair in pairs for width in pair if isinstance(width, int)]
    if len(flat) == 2 * len(pairs) and isinstance(value, int | float):
        kind = bool if site.element_type(x) == i1 else float if site.is_float(x) else int
        return op.pad(x, flat, kind(value))
    number = site.like(value, x) if isinstance(value, int | float) else op.reshape(value, [])
    for axis, pair in enumerate(pairs):
        shape = site.shape(x)
        before, after = (
            [site.broadcast_to(number, [*shape[:axis], width, *shape[axis + 1 :]])] if _any_positive(width) else []
            for width in pair
        )
        if before or after:
            x = op.concat(*before, x, *after, axis=axis)
    return x


def _places(size: Size, pair: tuple[Size, Size], mode: str) -> Operand:
    """Return the places of the elements of which a padded dimension consists."""
    before, after = pair
    if isinstance(size, int) and isinstance(before, int) and isinstance(after, int):
        return Known(_known_places(size, before, after, mode))
    places = op.subtract(numbers_below(before + size + after), Known(before))
    match mode:
        case "edge":
            return op.minimum(op.maximum(places, 0), op.subtract(Known(size), 1))
        case "wrap":
            return op.floor_mod(places, Known(larger(size, 1)))
        case _:
            # There and back again: a dimension of one element has no way back.
            way = Known(larger(2 * size - 2, 1))
            there = op.floor_mod(places, way)
            return op.minimum(there, op.subtract(way, there))


def _known_places(size: int, before: int, after: int, mode: str) -> Array:
    if size == 0:
        refuse("padding with elements of a dimension without elements", "mode")
    widths, kind = (max(before, 0), max(after, 0)), cast(Any, mode)
    places: Array = np.pad(np.arange(size), widths, mode=kind)
    return places[max(-before, 0) : len(places) + min(after, 0)]
