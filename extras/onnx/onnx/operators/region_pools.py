"""Maxima of parts of regions of images."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i64

from relex.dialects.dtypes import numpy_dtype
from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range, numbers_below, part_at
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse


@imports("MaxRoiPool")
def max_roi_pool(node: OnnxNode, x: Tensor, regions: Tensor) -> Operand:
    """The maxima of as many parts of each region as an attribute says; of parts without pixels, 0. As in ONNX Runtime,
    no maximum is below the lowest finite number."""
    counts = node.integers("pooled_shape") or []
    if len(counts) != 2 or min(counts) < 1:
        refuse(f"expected two numbers of parts, found {counts}", "pooled_shape")
    images, _, height, width = node.shape(x)
    image = part_at(regions, 1, 0)
    places = node.tensor(op.astype(op.where(op.isnan(image), -1.0, image), i64))
    expect_in_range(node, places, images, from_end=False)
    lowest = node.like(np.finfo(numpy_dtype(x.element_type)).min, x)
    data = op.take(op.maximum(x, lowest), places, 0)
    rows, has_rows = _parts(node, regions, (2, 4), height, counts[0])
    columns, has_columns = _parts(node, regions, (1, 3), width, counts[1])
    of_rows = op.max(op.where(op.expand_dims(rows, [1, 4]), op.expand_dims(data, 2), lowest), [3])
    found = op.max(op.where(op.expand_dims(columns, [1, 2]), op.expand_dims(of_rows, 3), lowest), [4])
    is_found = op.logical_and(op.expand_dims(has_rows, 2), op.expand_dims(has_columns, 1))
    return op.where(op.expand_dims(is_found, 1), found, node.like(0, x))


def _parts(node: OnnxNode, regions: Tensor, ends: tuple[int, int], size: Size, count: int) -> tuple[Operand, Operand]:
    """Return which pixels along a dimension are in each part of each region, and which parts have any."""
    scale = node.number("spatial_scale", 1.0)
    first, last = (_rounded(op.multiply(op.astype(part_at(regions, 1, end), f32), scale)) for end in ends)
    length = op.maximum(op.add(op.subtract(last, first), 1.0), 1.0)
    width, start = (op.expand_dims(t, 1) for t in (op.divide(length, float(count)), first))
    numbers = np.arange(count, dtype=np.float32)
    begin = op.add(op.floor(op.multiply(width, Known(numbers))), start)
    end = op.add(op.ceil(op.multiply(width, Known(numbers + 1))), start)
    most = op.astype(Known(size), f32)
    begin, end = (op.minimum(op.maximum(t, 0.0), most) for t in (begin, end))
    pixels = op.astype(numbers_below(size), f32)
    after, before = op.greater_equal(pixels, op.expand_dims(begin, 2)), op.less(pixels, op.expand_dims(end, 2))
    return op.logical_and(after, before), op.less(begin, end)


def _rounded(x: Operand) -> Operand:
    """Return the nearest whole numbers, halves away from 0; in place of others than integers of 32 bits, the lowest of
    these, as processors round."""
    whole = op.multiply(op.sign(x), op.floor(op.add(op.abs(x), 0.5)))
    return op.where(op.less(op.abs(whole), 2.0**31), whole, -(2.0**31))
