"""Samples of data at positions that are computed: grids."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from xdsl.dialects.builtin import i64

from relex.frontend import op
from relex.frontend.expressions import Operand
from relex.frontend.onnx.node import Node
from relex.frontend.onnx.table import imports
from relex.frontend.onnx.values import Tensor, refuse

Taps = list[tuple[Operand, Operand]]
"""Whole positions along a dimension, as floats, and how much the element there counts."""


@imports("GridSample")
def grid_sample(node: Node, x: Tensor, grid: Tensor) -> Operand:
    """The data at the positions of a grid, which go from -1 to 1 along each dimension."""
    n, c, *sizes = node.static_shape(x)
    _, *places, rank = node.static_shape(grid)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.text("mode", "linear"), node.text("mode", "linear"))
    aligned, padding = node.flag("align_corners"), node.text("padding_mode", "zeros")
    if rank != len(sizes):
        refuse(f"expected positions of {len(sizes)} numbers, found {rank}")
    columns: list[Taps] = []
    for d, size in enumerate(sizes):
        # Positions list the last dimension first.
        column = op.squeeze(op.strided_slice(grid, [-1], [rank - 1 - d], [rank - d]), -1)
        scaled = (column + 1.0) * ((size - 1) / 2) if aligned else ((column + 1.0) * size - 1.0) * 0.5
        columns.append(_taps(node, node.tensor(scaled), mode))
    flat = op.permute_dims(node.reshape(x, [n, c, _count(sizes)]), [0, 2, 1])
    parts: list[Operand] = []
    for chosen in product(*columns):
        place, inside = _places(node, [tap[0] for tap in chosen], sizes, padding, aligned)
        index = op.expand_dims(node.reshape(place, [n, _count(places)]), -1)
        taken = op.gather_nd(flat, index, 1)
        weight = reduce(op.multiply, [tap[1] for tap in chosen])
        if inside is not None:
            weight = op.where(inside, weight, node.like(0, weight))
        parts.append(op.multiply(taken, op.expand_dims(node.reshape(weight, [n, _count(places)]), -1)))
    total = op.permute_dims(reduce(op.add, parts), [0, 2, 1])
    return node.reshape(total, [n, c, *places])


def _count(sizes: Sequence[int]) -> int:
    return reduce(lambda a, b: a * b, sizes, 1)


def _taps(node: Node, position: Operand, mode: str) -> Taps:
    """Return the whole positions around a position, with weights."""
    one = node.like(1, position)
    if mode == "nearest":
        return [(op.round(position), op.add(op.multiply(position, node.like(0, position)), one))]
    low = node.tensor(op.floor(position))
    rest = node.tensor(op.subtract(position, low))
    if mode == "linear":
        return [(low, op.subtract(one, rest)), (op.add(low, one), rest)]
    if mode != "cubic":
        refuse(f"the mode {mode}", "mode")
    return [(low + float(k), _cubic(op.abs(rest - float(k)), near=k in (0, 1))) for k in (-1, 0, 1, 2)]


def _cubic(distance: Operand, near: bool) -> Operand:
    a = -0.75
    if near:
        return op.multiply(op.multiply(op.multiply(distance, a + 2) - (a + 3), distance), distance) + 1.0
    return (op.multiply(op.multiply(op.multiply(distance, a) - 5 * a, distance) + 8 * a, distance)) - 4 * a


def _places(
    node: Node, positions: Sequence[Operand], sizes: Sequence[int], padding: str, aligned: bool
) -> tuple[Operand, Operand | None]:
    """Return places in the flattened data for whole positions, and whether they are inside it, where that matters."""
    total: Operand | None = None
    inside: list[Operand] = []
    for position, size in zip(positions, sizes, strict=True):
        if padding == "zeros":
            low, high = op.greater_equal(position, node.like(0, position)), op.less(position, node.like(size, position))
            inside += [low, high]
        elif padding == "reflection":
            position = _reflected(node, position, *((0.0, size - 1.0) if aligned else (-0.5, size - 0.5)))
        elif padding != "border":
            refuse(f"padding by {padding}", "padding_mode")
        place = op.astype(op.clip(op.round(position), 0.0, float(max(size - 1, 0))), i64)
        total = place if total is None else op.add(op.multiply(total, size), place)
    assert total is not None
    return total, reduce(op.logical_and, inside) if inside else None


def _reflected(node: Node, x: Operand, low: float, high: float) -> Operand:
    """Return positions mirrored at both ends."""
    span = high - low
    if span == 0:
        return op.multiply(x, node.like(0, x))
    distance = op.abs(op.subtract(x, node.like(low, x)))
    turned = op.floor_mod(distance, node.like(2 * span, distance))
    return op.minimum(turned, op.subtract(node.like(2 * span, turned), turned)) + low
