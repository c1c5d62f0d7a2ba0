"""Compute results of convolutions in bands, each with the taps that read data there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, groupby
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import array_from_dense, is_float_dtype
from relex.dialects.op_edits import replace_by
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.types import Shape, shape_of
from relex.dialects.walks import walk_of
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.trim_windows import constant_weight
from relex.passes.rewriting.constants import erase_unused_constants


class SplitWindowsPass(RelexPass):
    """
    Computes results of convolutions in bands along a dimension, each with the taps that read data there, if that spares
    half of the products or more, as where the dilation is nearly as large as the image. The bands need no padding
    along this dimension. They are joined by `concat`, and split further along other dimensions.

    The weight is constant and finite: a product of padding with infinity or NaN would be NaN. There is one group, and
    the sizes of images are known. Sums lose terms that are zero, so that results have the same bits.

    ```mlir
    func.func @main(%x: tensor<?x512x4x4xf32>) -> tensor<?x512x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<512x512x3x1xf32>
      %0 = relex.conv2d %x, %w padding = [3, 0] dilation = [3, 1]
          : (tensor<?x512x4x4xf32>, tensor<512x512x3x1xf32>) -> tensor<?x512x4x4xf32>
      func.return %0 : tensor<?x512x4x4xf32>
    }
    // split-windows
    func.func @main(%x: tensor<?x512x4x4xf32>) -> tensor<?x512x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<512x512x2x1xf32>
      %0 = relex.conv2d %x, %w dilation = [3, 1]
          : (tensor<?x512x4x4xf32>, tensor<512x512x2x1xf32>) -> tensor<?x512x1x4xf32>
      %1 = relex.strided_slice %x axes = [2] begin = [1] end = [3] : (tensor<?x512x4x4xf32>) -> tensor<?x512x2x4xf32>
      %v = relex.constant dense<0.5> : tensor<512x512x1x1xf32>
      %2 = relex.conv2d %1, %v : (tensor<?x512x2x4xf32>, tensor<512x512x1x1xf32>) -> tensor<?x512x2x4xf32>
      %u = relex.constant dense<0.5> : tensor<512x512x2x1xf32>
      %3 = relex.conv2d %x, %u dilation = [3, 1]
          : (tensor<?x512x4x4xf32>, tensor<512x512x2x1xf32>) -> tensor<?x512x1x4xf32>
      %4 = relex.concat %0, %2, %3 axis = 2
          : (tensor<?x512x1x4xf32>, tensor<?x512x2x4xf32>, tensor<?x512x1x4xf32>) -> tensor<?x512x4x4xf32>
      func.return %4 : tensor<?x512x4x4xf32>
    }
    ```
    """

    name = "split-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pending = walk_of(op, relex.Conv1dOp, relex.Conv2dOp, relex.Conv3dOp)
        while pending:
            pending += _split(pending.pop())


@dataclass(frozen=True)
class _Band:
    """Some results along a dimension, and the taps that read data there."""

    first: int
    end: int
    taps: range

    @property
    def products(self) -> int:
        return (self.end - self.first) * len(self.taps)


def _split(op: relex.Convolution) -> list[relex.Convolution]:
    """Replace a convolution by some that compute a band each, if it is worth it, and return those."""
    weight = constant_weight(op)
    if weight is None or as_integer(op.groups) != 1:
        return []
    windows = op.windows(shape_of(op.weight))
    for dimension, size in enumerate(shape_of(op.data)[2:]):
        bands = _bands(windows, dimension, size)
        if _is_worth_it(op, dimension, bands) and _is_finite(array := array_from_dense(weight.value)):
            return _in_bands(op, array, windows, dimension, bands)
    return []


def _bands(windows: relex.Windows, dimension: int, size: int) -> list[_Band]:
    """Return the results along a dimension that read data of this size with the same taps; none if there are too many
    bands, or if some results only read padding."""
    stride, step = windows.strides[dimension], windows.dilation[dimension]
    before, extent = windows.before[dimension], cast(int, windows.size[dimension])
    (count,) = cast(
        Shape, relex.Windows((extent,), (stride,), (before, windows.after[dimension]), (step,)).counts([size])
    )

    def taps(result: int) -> range:
        place = result * stride - before
        # The first tap at or after the beginning of the data, and the first at or after its end.
        begin, end = max(0, -(place // step)), max(0, -((place - size) // step))
        return range(min(begin, extent), min(end, extent))

    bands: list[_Band] = []
    for found, results in groupby(range(count), taps):
        members = [*results]
        if not found or len(bands) == cost.MAX_BANDS:
            return []
        bands.append(_Band(members[0], members[-1] + 1, found))
    return bands


def _is_worth_it(op: relex.Convolution, dimension: int, bands: list[_Band]) -> bool:
    images, outputs, *counts = shape_of(op.result)
    _, inputs, *extents = shape_of(op.weight)
    all_products = counts[dimension] * extents[dimension]
    spared = all_products - sum(band.products for band in bands)
    if len(bands) < 2 or 2 * spared < all_products:
        return False
    others = prod(counts) // counts[dimension] * prod(extents) // extents[dimension]
    return spared * others * inputs * outputs * (1 if images == DYNAMIC_INDEX else images) >= cost.MIN_PRODUCTS_SPARED


def _is_finite(weight: Array) -> bool:
    return not is_float_dtype(weight.dtype) or bool(np.isfinite(weight).all())


def _in_bands(
    op: relex.Convolution, weight: Array, windows: relex.Windows, dimension: int, bands: list[_Band]
) -> list[relex.Convolution]:
    """Replace a convolution by one for each band."""
    axis, constant = 2 + dimension, op.weight.owner
    parts = [_of_band(op, weight, windows, dimension, band) for band in bands]
    joined = relex.ConcatOp(*(part[-1].results[0] for part in parts), axis=axis)
    new = [*chain.from_iterable(parts), joined]
    replace_by(op, *new)
    erase_unused_constants([constant])
    return [made for made in new if isinstance(made, relex.Convolution)]


def _of_band(
    op: relex.Convolution, weight: Array, windows: relex.Windows, dimension: int, band: _Band
) -> list[Operation]:
    """Return the ops that compute a band, the last one its convolution."""
    axis, data, ops = 2 + dimension, op.data, list[Operation]()
    stride, step, before = windows.strides[dimension], windows.dilation[dimension], windows.before[dimension]
    begin = band.first * stride + band.taps[0] * step - before
    end = (band.end - 1) * stride + band.taps[-1] * step - before + 1
    if (begin, end) != (0, shape_of(data)[axis]):
        ops.append(relex.StridedSliceOp(data, [axis], [begin], [end]))
        data = ops[-1].results[0]
    taps = relex.ConstantOp(weight[(slice(None),) * axis + (slice(band.taps.start, band.taps.stop),)])
    taps.result.name_hint = op.weight.name_hint
    around = [[0 if d == dimension else n for d, n in enumerate(pads)] for pads in (windows.before, windows.after)]
    padding = around[0] if around[0] == around[1] else [*around[0], *around[1]]
    dilation = [1 if d == dimension and len(band.taps) == 1 else n for d, n in enumerate(windows.dilation)]
    return [*ops, taps, type(op)(data, taps.result, windows.strides, padding, dilation)]
