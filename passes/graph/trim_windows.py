"""Drop the taps of convolutions that only read padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import array_from_dense, has_dtype, is_float_dtype
from relex.dialects.op_edits import replace_by
from relex.dialects.relex import ConstantOp, Conv1dOp, Conv2dOp, Conv3dOp, Convolution, Windows
from relex.dialects.relex.properties import as_integer
from relex.dialects.relex.types import Shape, shape_of, tensor_type
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.constants import erase_unused_constants


class TrimWindowsPass(RelexPass):
    """
    Drops the taps at the ends of a convolution's window that only read padding, wherever the window is, together
    with that padding. Where the dilation is as large as the image, as in the context modules of segmentation networks,
    a window of three by three becomes one of one by one.

    The taps belong to a constant weight and are finite: a product of padding with infinity or NaN would be NaN. The
    number of images may be dynamic, sizes of images may not. Sums lose terms that are zero, so that results have the
    same bits.

    ```mlir
    func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<1x2x3x3xf32>
      %0 = relex.conv2d %x, %w padding = [6, 2] dilation = [6, 2]
          : (tensor<1x2x4x4xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32>
      func.return %0 : tensor<1x1x4x4xf32>
    }
    // trim-windows
    func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<1x2x1x3xf32>
      %0 = relex.conv2d %x, %w padding = [0, 2] dilation = [1, 2]
          : (tensor<1x2x4x4xf32>, tensor<1x2x1x3xf32>) -> tensor<1x1x4x4xf32>
      func.return %0 : tensor<1x1x4x4xf32>
    }
    ```
    """

    name = "trim-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(walk(op)):
            if isinstance(found, Conv1dOp | Conv2dOp | Conv3dOp):
                _trim(found)


def _trim(op: Convolution) -> None:
    """Replace a convolution by one with fewer taps, if there is one."""
    weight, sizes = constant_weight(op), shape_of(op.data)[2:]
    if weight is None:
        return
    windows = op.windows(shape_of(op.weight))
    extents, counts = cast(Shape, windows.size), cast(Shape, windows.counts(sizes))
    taps = [_taps(windows, *of_dimension) for of_dimension in enumerate(zip(extents, sizes, counts, strict=True))]
    if [len(kept) for kept in taps] == [*extents] or (part := _part(array_from_dense(weight.value), taps)) is None:
        return
    kept = ConstantOp(part)
    new = _with_taps(op, kept, windows, taps)
    kept.result.name_hint = weight.result.name_hint
    replace_by(op, kept, new)
    kept.location = weight.location
    erase_unused_constants([weight])


def constant_weight(op: Convolution) -> ConstantOp | None:
    """Return the weight of a convolution if it is a constant of a type that NumPy has, and the sizes of images are
    known; else None."""
    weight = op.weight.owner
    is_known = DYNAMIC_INDEX not in shape_of(op.data)[2:] and has_dtype(tensor_type(op.weight.type).element_type)
    return weight if isinstance(weight, ConstantOp) and is_known else None


def _taps(windows: Windows, dimension: int, sizes: tuple[int, int, int]) -> range:
    """Return the taps along a dimension that stay, in a row, given their number, the size of the data and the number of
    windows: all if none reads data, otherwise those from the first that does to the last, and those without padding to
    drop."""
    extent, size, count = sizes
    stride, step = windows.strides[dimension], windows.dilation[dimension]
    before, after = windows.before[dimension], windows.after[dimension]

    def reads_data(tap: int) -> bool:
        place = tap * step - before
        # The first window whose tap is not in the padding before the data.
        window = max(0, -(place // stride))
        return window < count and window * stride + place < size

    useful = [tap for tap in range(extent) if reads_data(tap)]
    if not useful:
        return range(extent)
    return range(min(useful[0], before // step), extent - min(extent - 1 - useful[-1], after // step))


def _part(weight: Array, taps: Sequence[range]) -> Array | None:
    """Return the taps of a weight that stay; None if others are not finite."""
    stays = (..., *(slice(kept.start, kept.stop) for kept in taps))
    if is_float_dtype(weight.dtype):
        rest = np.isfinite(weight)
        rest[stays] = True
        if not rest.all():
            return None
    return weight[stays]


def _with_taps(op: Convolution, weight: ConstantOp, windows: Windows, taps: Sequence[range]) -> Convolution:
    """Return a convolution with some of its taps, and as much less padding. Of one tap, the dilation does not count."""
    steps, extents = windows.dilation, cast(Shape, windows.size)
    before = [pad - kept.start * step for pad, kept, step in zip(windows.before, taps, steps, strict=True)]
    dropped = [extent - kept.stop for extent, kept in zip(extents, taps, strict=True)]
    after = [pad - count * step for pad, count, step in zip(windows.after, dropped, steps, strict=True)]
    padding = before if before == after else [*before, *after]
    dilation = [1 if len(kept) == 1 else step for kept, step in zip(taps, steps, strict=True)]
    return type(op)(op.data, weight.result, windows.strides, padding, dilation, as_integer(op.groups))
