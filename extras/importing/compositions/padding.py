"""Tensors surrounded by numbers, or by their own elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1

from relex.dialects.arrays import Array
from relex.dialects.sizes import IndexExpr
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, refuse


def positive_pairs(widths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the widths before and after each dimension, 0 for negative ones."""
    half = len(widths) // 2
    return [(max(before, 0), max(after, 0)) for before, after in zip(widths[:half], widths[half:], strict=True)]


def padded(site: ImportedNode, x: Operand, widths: Sequence[int], mode: str, value: float) -> Operand:
    """Return a tensor surrounded by a number, or by its own elements: by widths before each dimension, then after each.
    Negative widths are cut off; what is cut off at one end may still be reflected at the other, as in PyTorch."""
    half = len(widths) // 2
    for axis, (before, after) in enumerate(zip(widths[:half], widths[half:], strict=True)):
        if min(before, after) < 0 and (mode != "reflect" or max(before, after) <= 0):
            x = op.strided_slice(x, [axis], [max(-before, 0)], [after if after < 0 else LAST])
    pairs = positive_pairs(widths)
    if mode == "constant":
        if site.element_type(x) == i1:
            value = bool(value)
        flat = [width for pair in pairs for width in pair]
        return op.pad(x, flat, value if site.is_float(x) else int(value)) if any(flat) else x
    if mode not in ("reflect", "edge", "wrap"):
        refuse(f"expected constant, reflect, edge or wrap, found {mode}", "mode")
    for axis, pair in enumerate(pairs):
        if any(pair):
            size = site.shape(x)[axis]
            if isinstance(size, IndexExpr):
                refuse(f"padding with elements along a dynamic dimension: {size}", "mode")
            places = _places(size, pair, mode)
            if mode == "reflect":
                places = places[max(-widths[axis], 0) : len(places) + min(widths[half + axis], 0)]
            x = op.take(x, Known(places), axis)
    return x


def _places(size: int, pair: tuple[int, int], mode: Any) -> Array:
    if size == 0:
        refuse("padding with elements of a dimension without elements", "mode")
    return np.pad(np.arange(size), pair, mode=mode)
