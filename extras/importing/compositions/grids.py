"""Samples of data at positions between its elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from xdsl.dialects.builtin import i64

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, refuse

Taps = list[tuple[Operand, Operand]]
"""Whole positions along a dimension, as floats, and how much the element there counts."""


def taps(site: ImportedNode, position: Operand, mode: str) -> Taps:
    """Return the whole positions around a position, with weights, by the mode `nearest`, `linear` or `cubic`."""
    one = site.like(1, position)
    if mode == "nearest":
        return [(op.round(position), site.broadcast_to(one, site.shape(position)))]
    low = site.tensor(op.floor(position))
    rest = site.tensor(op.subtract(position, low))
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


def sampled(
    site: ImportedNode,
    flat: Operand,
    columns: Sequence[Taps],
    sizes: Sequence[Size],
    shape: Sequence[Size],
    padding: str = "zeros",
    aligned: bool = True,
) -> Operand:
    """Return samples of data, which has its pixels, flattened, in the last dimension but one. `shape` is the shape of
    the positions, without the data's last dimension."""
    parts: list[Operand] = []
    for chosen in product(*columns):
        place, inside = _places(site, [tap[0] for tap in chosen], sizes, padding, aligned)
        taken: Operand = op.gather_nd(flat, op.expand_dims(site.reshape(place, shape), -1), len(shape) - 1)
        if inside is not None:
            # What is taken in place of a pixel outside may be infinite.
            is_inside = op.expand_dims(site.reshape(inside, shape), -1)
            taken = op.where(is_inside, taken, site.like(0, taken))
        weight = reduce(op.multiply, [tap[1] for tap in chosen])
        parts.append(op.multiply(taken, op.expand_dims(site.reshape(weight, shape), -1)))
    return reduce(op.add, parts)


def _places(
    site: ImportedNode, positions: Sequence[Operand], sizes: Sequence[Size], padding: str, aligned: bool
) -> tuple[Operand, Operand | None]:
    """Return places in the flattened data for whole positions, and whether they are inside it, where that matters."""
    total: Operand | None = None
    inside: list[Operand] = []
    for position, size in zip(positions, sizes, strict=True):
        if padding == "zeros":
            low, end = op.greater_equal(position, site.like(0, position)), number(site, size, position)
            inside += [low, op.less(position, end)]
        else:
            position = bounded(site, position, size, padding, aligned)
        last = op.maximum(op.subtract(number(site, size, position), 1.0), 0.0)
        place = op.astype(op.minimum(op.maximum(op.round(position), 0.0), last), i64)
        total = place if total is None else op.add(op.multiply(total, Known(size)), place)
    assert total is not None
    return total, reduce(op.logical_and, inside) if inside else None


def number(site: ImportedNode, size: Size, like: Operand) -> Operand:
    """Return a size as a number of the type of a tensor."""
    return site.like(size, like) if isinstance(size, int) else op.astype(Known(size), site.element_type(like))


def bounded(site: ImportedNode, position: Operand, size: Size, padding: str, aligned: bool) -> Operand:
    """Return positions in place of those that are outside of the data: the nearest ones inside, or, by reflection,
    those that are mirrored at both ends. NaN becomes 0."""
    last = op.subtract(number(site, size, position), 1.0)
    if padding == "reflection":
        position = _reflected(site, position, *((0.0, last) if aligned else (-0.5, op.add(last, 0.5))))
    elif padding != "border":
        refuse(f"padding by {padding}", "padding_mode")
    zero = site.like(0, position)
    return op.where(op.greater(position, zero), op.minimum(position, last), zero)


def _reflected(site: ImportedNode, x: Operand, low: float, high: Operand) -> Operand:
    """Return positions mirrored at both ends."""
    span = site.tensor(op.subtract(high, low))
    distance = op.abs(op.subtract(x, low))
    turned = site.tensor(op.floor_mod(distance, op.multiply(span, 2.0)))
    mirrored = op.add(op.minimum(turned, op.subtract(op.multiply(span, 2.0), turned)), low)
    return op.where(op.equal(span, 0.0), site.like(0, x), mirrored)
