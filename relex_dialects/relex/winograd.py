"""Convolutions with windows of 3 by 3 in fewer products, by Winograd's minimal filtering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import cast

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Operand, Operator
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integer, as_integers, integer, integers
from relex.dialects.relex.sliding_windows import Windows, expect_rank
from relex.dialects.relex.types import Shape, SizedType, expect_element_type, expect_integers, shape_str
from relex.dialects.sizes import Size, Sizes, equal
from relex.dialects.tir.op_pattern import OpPattern

WINDOW = 3
"""The extent of a window."""

POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 1.0, -1.0, 2.0, -0.5)}
"""The points at which polynomials are evaluated, by the extent of a tile of results. With 2 and -1/2 for a tile of 4,
errors are a third of those with 2 and -2."""


@dataclass(frozen=True)
class Transforms:
    """
    Matrices with which the `m` results of a window `g` that slides over the data `d`, `m + 2` numbers, are
    `result @ ((weight @ g) * (data @ d))`: `m + 2` products, not `3 * m`. In two dimensions they are applied to the
    rows and the columns.

    They evaluate polynomials at some points and at infinity, multiply them there, and interpolate (S. Winograd,
    Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural
    Networks, 2016).
    """

    data: Array
    weight: Array
    result: Array

    @classmethod
    @cache
    def of(cls, tile: int) -> Transforms:
        """Return the matrices for tiles of an extent that has `POINTS`."""
        points = POINTS[tile]
        others = [[q for q in points if q != p] for p in points]
        data = [[*np.poly(of_one)[::-1], 0.0] for of_one in others]
        weight = [
            [p**k / prod(p - q for q in of_one) for k in range(WINDOW)]
            for p, of_one in zip(points, others, strict=True)
        ]
        result = [[*(p**i for p in points), float(i == tile - 1)] for i in range(tile)]
        at_infinity = [float(k == WINDOW - 1) for k in range(WINDOW)]
        return cls(np.array([*data, np.poly(points)[::-1]]), np.array([*weight, at_infinity]), np.array(result))

    def of_weight(self, weight: Array) -> Array:
        """Return a weight `[O, C, 3, 3]` as matrices `[(m + 2)**2, C, O]`, computed in f64."""
        found = np.einsum("ar,bs,ocrs->abco", self.weight, self.weight, weight.astype(np.float64), optimize=True)
        return found.reshape(-1, *found.shape[2:]).astype(weight.dtype)


@declared
class WinogradInputTransformOp(Operator, pattern=OpPattern.OPAQUE):
    """
    The data `[N, C / c, H, W, c]` of a convolution with windows of 3 by 3, whose channels are in blocks of `c`, as
    Winograd's minimal filtering multiplies it: `[(m + 2)**2, N * h * w, C]`, a row for each tile of `m` by `m` results,
    of which there are `h` by `w` in an image. If `c` is 1, the data may be `[N, C, H, W]`. `padding` is one number for
    all sides, two (top and bottom, left and right) or four (top, left, bottom, right); zeros fill the last tiles.

    `m`, the property `tile`, is 2 or 4.

    ```mlir
    %v = relex.winograd_input_transform %x tile = 4 padding = [1, 1]
        : (tensor<1x2x14x14x16xf32>) -> tensor<36x16x32xf32>
    ```
    """

    data = tensor_operand_def()
    tile = prop_def(IntegerConstr, default_value=integer(4))
    padding = prop_def(IntegersConstr, default_value=integers([0, 0]))

    def __init__(self, data: Operand, tile: int = 4, padding: Sequence[int] | None = None):
        super().__init__(data, properties={"tile": tile, "padding": padding})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (data,) = operands
        expect_element_type(data, (f32, f64), "data")
        shape = data.get_shape()
        if len(shape) not in (4, 5):
            raise InferenceError(f"expected data of rank 5, or 4 for blocks of 1 channel, found {shape_str(shape)}")
        tile = _tile_of(properties)
        counts = windows_of(properties).counts(shape[2:4])
        tiles = tiles_of(counts, tile)
        return SizedType(
            data.element_type,
            ((tile + WINDOW - 1) ** 2, shape[0] * tiles[0] * tiles[1], shape[1] * (*shape, 1)[4]),
        )

    def evaluate(self, x: Array) -> Array:
        tile = as_integer(self.tile)
        windows, extent = windows_of(self.properties), tile + WINDOW - 1
        counts = cast(Shape, windows.counts(x.shape[2:4]))
        down, across = cast(Shape, tiles_of(counts, tile))
        missing = [n * tile - count for n, count in zip((down, across), counts, strict=True)]
        filled = tuple(after + more for after, more in zip(windows.after, missing, strict=True))
        inner = Windows((extent, extent), (tile, tile), (*windows.before, *filled), (1, 1))
        parts = inner.over(np.moveaxis(x.reshape((*x.shape, 1)[:5]), 4, 2), 0)
        # [N, C / c, c, h, w, i, j] to [i, j, N, h, w, C / c, c]
        found = _applied(Transforms.of(tile).data, parts.transpose(5, 6, 0, 3, 4, 1, 2))
        return found.reshape(extent * extent, x.shape[0] * down * across, parts.shape[1] * parts.shape[2])


@declared
class WinogradOutputTransformOp(Operator, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    The results of a convolution with windows of 3 by 3, from the products of its data and weight as Winograd's minimal
    filtering transforms them, `[(m + 2)**2, N * h * w, O]`: `[N, O / block, H, W, block]`, where `size` is `H` and
    `W`, and each row becomes a tile of `m` by `m` results. `m`, the property `tile`, is 2 or 4.

    ```mlir
    %y = relex.winograd_output_transform %p tile = 4 size = [14, 14] block = 32
        : (tensor<36x16x64xf32>) -> tensor<1x2x14x14x32xf32>
    ```
    """

    data = tensor_operand_def()
    tile = prop_def(IntegerConstr, default_value=integer(4))
    size = prop_def(IntegersConstr)
    block = prop_def(IntegerConstr, default_value=integer(1))

    def __init__(self, data: Operand, tile: int = 4, size: Sequence[int] = (), block: int = 1):
        super().__init__(data, properties={"tile": tile, "size": size, "block": block})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (f32, f64), "data")
        numbers, rows, channels = expect_rank(operands[0], 3, "data")
        tile = _tile_of(properties)
        if not equal(numbers, (tile + WINDOW - 1) ** 2):
            raise InferenceError(f"expected {(tile + WINDOW - 1) ** 2} numbers of a tile of {tile}, found {numbers}")
        sizes = expect_integers(as_integers(properties["size"]), "sizes of images", count=2, least=1)
        (block,) = expect_integers([as_integer(properties["block"])], "channels of a block", least=1)
        down, across = cast(Shape, tiles_of(sizes, tile))
        for count, share, what in (
            (rows, down * across, "tiles of images of"),
            (channels, block, "channels in blocks of"),
        ):
            if not equal(count % share, 0):
                raise InferenceError(f"expected {what} {share}, found {count}")
        return SizedType(operands[0].element_type, (rows // (down * across), channels // block, *sizes, block))

    def evaluate(self, x: Array) -> Array:
        tile, block = as_integer(self.tile), as_integer(self.block)
        height, width = as_integers(self.size)
        down, across = cast(Shape, tiles_of((height, width), tile))
        extent = tile + WINDOW - 1
        parts = x.reshape(extent, extent, x.shape[1] // (down * across), down, across, x.shape[2] // block, block)
        # [i, j, N, h, w, O / block, block] to [N, O / block, h, i, w, j, block]
        found = _applied(Transforms.of(tile).result, parts).transpose(2, 5, 3, 0, 4, 1, 6)
        whole = found.reshape(*found.shape[:2], down * tile, across * tile, block)
        return whole[:, :, :height, :width]


def factors_of(row: Array) -> list[tuple[float, int]]:
    """Return the factors of a row of a matrix that are not zero, with their columns, in the order in which products are
    added up: those with positive factors come first."""
    return sorted(((float(row[i]), int(i)) for i in row.nonzero()[0]), key=lambda found: found[0] < 0)


def _applied(matrix: Array, x: Array) -> Array:
    """Return the first two dimensions, the columns and rows of tiles, with a matrix applied to both."""
    for axis in range(2):
        parts = np.moveaxis(x, axis, 0)
        sums = [sum(parts[i] * x.dtype.type(factor) for factor, i in factors_of(row)) for row in matrix]
        x = np.stack(sums, axis)
    return x


def windows_of(properties: Mapping[str, Attribute]) -> Windows:
    """Return the windows of the convolution whose data is transformed."""
    ones = integers([1, 1])
    return Windows.read((WINDOW, WINDOW), {**properties, "strides": ones, "dilation": ones})


def tiles_of(counts: Sequence[Size], tile: int) -> Sizes:
    """Return the number of tiles along each dimension, given the number of results."""
    return tuple((count + (tile - 1)) // tile for count in counts)


def _tile_of(properties: Mapping[str, Attribute]) -> int:
    tile = as_integer(properties["tile"])
    if tile not in POINTS:
        raise InferenceError(f"expected tiles of {' or '.join(map(str, POINTS))}, found {tile}")
    return tile
