"""Formulas of the transforms of Winograd's minimal filtering: each tile times a matrix, on both sides at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from xdsl.ir import Operation

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.reference.intervals.formulas import FORMULAS, as_list, constant, given, moved, stacked
from relex.reference.intervals.numbers import Reals
from relex.reference.intervals.reductions import dot
from relex.reference.intervals.windows import Line, padding_of, seen

_POINTS: dict[int, list[Fraction | int]] = {2: [0, 1, -1], 4: [0, 1, -1, 2, Fraction(-1, 2)]}


@FORMULAS.rule(relex.WinogradInputTransformOp)
def winograd_input_transform(op: Operation, x: Reals) -> Reals:
    """The coefficients of a tile times products of the polynomials that are zero at all points but one."""
    tile = given(op, "tile", 4)
    x = x if len(x.shape) == 5 else moved(x, lambda a: a[..., None])
    data = moved(x, lambda a: np.moveaxis(a, 4, 2).reshape([a.shape[0], a.shape[1] * a.shape[4], *a.shape[2:4]]))
    before, after = padding_of(op, 2)
    sides = [_tiles(*numbers, tile) for numbers in zip(data.shape[2:], before, after, strict=True)]
    parts = seen(data, sides, constant(data, 0))
    points = _POINTS[tile]
    zeros = [[q for q in points if q != p] for p in points]
    rows = [[*_coefficients(of_one), 0] for of_one in zeros] + [_coefficients(points)]
    return moved(_applied(rows, parts), lambda a: a.transpose(4, 0, 2, 3, 1).reshape([a.shape[4], -1, a.shape[1]]))


@FORMULAS.rule(relex.WinogradOutputTransformOp)
def winograd_output_transform(op: Operation, x: Reals) -> Reals:
    """The polynomials with the products as values at the points, and at infinity."""
    tile, block = given(op, "tile", 4), given(op, "block", 1)
    sizes = as_list(given(op, "size"))
    down, across = (-(-size // tile) for size in sizes)
    points = _POINTS[tile]
    rows = [[*(Fraction(p) ** i for p in points), int(i == tile - 1)] for i in range(tile)]
    found = _applied(rows, moved(x, lambda a: np.moveaxis(a, 0, -1)))

    def placed(a: Array) -> Array:
        images, blocks = a.shape[0] // (down * across), a.shape[1] // block
        parts = a.reshape([images, down, across, blocks, block, tile, tile]).transpose(0, 3, 1, 5, 2, 6, 4)
        return parts.reshape([images, blocks, down * tile, across * tile, block])[:, :, : sizes[0], : sizes[1]]

    return moved(found, placed)


def _tiles(size: int, before: int, after: int, tile: int) -> Line:
    """Return the places of the elements of each tile along a dimension."""
    count = before + size + after - 2
    places = np.arange(0, count, tile)[:, None] + np.arange(tile + 2) - before
    inside = (places >= 0) & (places < size)
    return Line(places, inside, inside)


def _coefficients(zeros: Sequence[Fraction | int]) -> list[Fraction | int]:
    """Return the coefficients of the polynomial with these zeros, the lowest one first."""
    found: list[Fraction | int] = [1]
    for zero in zeros:
        found = [low - zero * high for low, high in zip([0, *found], [*found, 0], strict=True)]
    return found


def _applied(rows: Sequence[Sequence[Fraction | int]], parts: Reals) -> Reals:
    """Return the elements of tiles, the last dimension, with a matrix applied to their columns and rows. What a zero
    stands for is not read."""
    matrix = np.array(rows, np.float64)
    found: list[Reals] = []
    for row in np.kron(matrix, matrix):
        (read,) = row.nonzero()
        found.append(dot(moved(parts, lambda a, read=read: a[..., read]), Reals.of(parts.fmt, row[read])))
    return stacked(found, lambda arrays: np.stack(arrays, axis=-1))
