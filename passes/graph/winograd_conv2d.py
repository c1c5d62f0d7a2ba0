"""Compute convolutions with windows of 3 by 3 in fewer products, which are rounded otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, f32, f64

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import array_from_dense
from relex.dialects.op_edits import replace_by
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.types import Shape, rank_of, shape_of, tensor_type
from relex.dialects.relex.winograd import POINTS, WINDOW, Transforms, tiles_of
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.walks import walk_of
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.channel_blocks import from_blocks, into_blocks
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.numerics import approximate


class WinogradConv2dPass(RelexPass):
    """
    Computes convolutions with windows of 3 by 3, and constant weights, by Winograd's minimal filtering: the data and
    the weight are transformed, multiplied as matrices, and the products transformed into results. A tile of 4 by 4
    results takes 36 products instead of 144, one of 2 by 2 results 16 instead of 36. Weights take 4 or 1.8 times the
    memory.

    This is done where it takes less time, by an estimate of the products, the transforms, and the memory that the
    weights are read from, in tiles of 4 or 2. Windows slide by 1 without gaps, there is a single group, and weights are
    finite. The number of images may be dynamic.

    Results of tiles of 4 are rounded ten times as coarsely as sums in any order, results of tiles of 2 twice;
    infinities and NaN spread to all results of a tile. So the default compilation has this pass only if it may be
    `approximate`.

    ```mlir
    func.func @main(%x: tensor<1x2x14x14x32xf32>) -> tensor<1x2x14x14x32xf32> {
      %w = relex.constant dense<0.5> : tensor<2x2x3x3x32x32xf32>
      %0 = relex.conv2d_blocked %x, %w padding = [1]
          : (tensor<1x2x14x14x32xf32>, tensor<2x2x3x3x32x32xf32>) -> tensor<1x2x14x14x32xf32>
      func.return %0 : tensor<1x2x14x14x32xf32>
    }
    // winograd-conv2d
    func.func @main(%x: tensor<1x2x14x14x32xf32>) -> tensor<1x2x14x14x32xf32> {
      %0 = relex.winograd_input_transform %x padding = [1, 1, 1, 1]
          : (tensor<1x2x14x14x32xf32>) -> tensor<36x16x64xf32>
      %w = relex.constant dense<...> : tensor<36x64x64xf32>
      %1 = relex.matmul %0, %w : (tensor<36x16x64xf32>, tensor<36x64x64xf32>) -> tensor<36x16x64xf32>
      %2 = relex.winograd_output_transform %1 size = [14, 14] block = 32
          : (tensor<36x16x64xf32>) -> tensor<1x2x14x14x32xf32>
      func.return %2 : tensor<1x2x14x14x32xf32>
    }
    ```
    """

    name = "winograd-conv2d"
    numerics = approximate(rtol=1e-3, atol=1e-3)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        if processor is None or not processor.vector_bits:
            return
        for found in walk_of(op, relex.Conv2dOp, relex.Conv2dBlockedOp):
            layer = _Layer.of(found, processor)
            if layer is not None and (tile := layer.best_tile) is not None:
                layer.replace(tile)


@dataclass(frozen=True)
class _Layer:
    """A convolution that can be computed with fewer products."""

    op: relex.Conv2dOp | relex.Conv2dBlockedOp
    weight: Array
    """The weight `[O, C, 3, 3]`; channels that fill the last block of results count."""
    lanes: int

    @classmethod
    def of(cls, op: relex.Conv2dOp | relex.Conv2dBlockedOp, processor: Processor) -> _Layer | None:
        """Return the layer of an op, if it is one."""
        constant, element_type = op.weight.owner, tensor_type(op.weight.type).element_type
        if not isinstance(constant, relex.ConstantOp) or element_type not in (f32, f64) or as_integer(op.groups) != 1:
            return None
        windows = op.windows(shape_of(op.weight))
        if (windows.size, windows.strides, windows.dilation) != ((WINDOW, WINDOW), (1, 1), (1, 1)):
            return None
        if DYNAMIC_INDEX in shape_of(op.data)[1:] or (
            isinstance(op, relex.Conv2dBlockedOp) and op.depthwise is not None
        ):
            return None
        weight = array_from_dense(constant.value)
        if not np.isfinite(weight).all():
            return None
        if isinstance(op, relex.Conv2dBlockedOp):
            outer, blocks, *_, inputs, outputs = weight.shape
            # [O / o, C / c, 3, 3, c, o]
            weight = weight.transpose(0, 5, 1, 4, 2, 3).reshape(outer * outputs, blocks * inputs, WINDOW, WINDOW)
        return cls(op, weight, processor.lanes(8 * weight.itemsize))

    @property
    def best_tile(self) -> int | None:
        """The extent of the tiles with which the layer takes least time; None if it takes less time as it is."""
        images, _, height, width = shape_of(self.op.result)[:4]
        images = max(images, 1)  # A dynamic number counts as 1.
        outputs, inputs = self.weight.shape[:2]

        def products(rows: int, numbers: int, vectors: float) -> float:
            """Return the time of products of rows with the numbers that a window has, in multiplications of vectors, or
            the time of reading the weights from memory if it is longer."""
            read = numbers * inputs * outputs * self.weight.itemsize
            return max(rows * numbers * inputs * vectors, read / cost.BYTES_OF_WEIGHTS)

        def in_tiles(tile: int) -> float:
            down, across = cast(Shape, tiles_of((height, width), tile))
            rows, numbers = images * down * across, (tile + WINDOW - 1) ** 2
            transforms = cost.COST_OF_TRANSFORMS * rows * numbers * (inputs + outputs) / self.lanes
            return products(rows, numbers, ceil(outputs / self.lanes)) + transforms + self._cost_of_blocks

        best = min(POINTS, key=in_tiles)
        return best if in_tiles(best) < products(images * height * width, WINDOW**2, outputs / self.lanes) else None

    @property
    def _cost_of_blocks(self) -> float:
        """The time of bringing the data into blocks, and results out of them, in multiplications of vectors."""
        values = [value for value in (self.op.data, self.op.result) if rank_of(value) == 4]
        return cost.COST_OF_BLOCKS * sum(prod(max(size, 1) for size in shape_of(value)) for value in values)

    def replace(self, tile: int) -> None:
        """Compute the layer in tiles."""
        op, constant = self.op, self.op.weight.owner
        ops = [*into_blocks(op.data, self.lanes)] if rank_of(op.data) == 4 else []
        windows = op.windows(shape_of(op.weight))
        data = relex.WinogradInputTransformOp(ops[-1] if ops else op.data, tile, (*windows.before, *windows.after))
        is_blocked = isinstance(op, relex.Conv2dBlockedOp)
        block = shape_of(op.result)[4] if is_blocked else self.lanes
        outputs, inputs = self.weight.shape[:2]
        # Channels that fill the last block count.
        more = [(0, -outputs % block), (0, shape_of(data.result)[2] - inputs)]
        weight = relex.ConstantOp(Transforms.of(tile).of_weight(np.pad(self.weight, [*more, (0, 0), (0, 0)])))
        weight.result.name_hint = op.weight.name_hint
        products = relex.MatmulOp(data, weight)
        result = relex.WinogradOutputTransformOp(products, tile, shape_of(op.result)[2:4], block)
        ops += [data, weight, products, result]
        ops += () if is_blocked else from_blocks(result.result, shape_of(op.result))
        replace_by(op, *ops)
        erase_unused_constants([constant])
