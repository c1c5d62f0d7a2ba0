"""Samples of data at positions that are computed: grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from relex.dialects.arrays import Array
from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions.grids import Taps, number, sampled, taps
from relex.frontend.compositions.indexing import numbers_below, part_at
from relex.frontend.compositions.softmax import per_channel
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.windows import read_windows


@imports("GridSample")
def grid_sample(node: OnnxNode, x: Tensor, grid: Tensor) -> Operand:
    """The data at the positions of a grid, which go from -1 to 1 along each dimension."""
    n, c, *sizes = node.shape(x)
    places = node.shape(grid)[1:-1]
    (rank,) = node.static_shape(grid, "a number of dimensions", first=len(places) + 1)
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.text("mode", "linear"), node.text("mode", "linear"))
    aligned, padding = node.flag("align_corners"), node.text("padding_mode", "zeros")
    if rank != len(sizes):
        refuse(f"expected positions of {len(sizes)} numbers, found {rank}")
    columns: list[Taps] = []
    for d, size in enumerate(sizes):
        # Positions list the last dimension first.
        column = part_at(grid, -1, rank - 1 - d)
        length, middle = number(node, size, column), op.add(column, 1.0)
        if aligned:
            scaled = op.multiply(middle, op.multiply(op.subtract(length, 1.0), 0.5))
        else:
            scaled = op.multiply(op.subtract(op.multiply(middle, length), 1.0), 0.5)
        # As in ONNX Runtime, positions that are infinite or NaN are at the first edge.
        edge = node.like(0 if aligned else -0.5, grid)
        columns.append(taps(node, node.tensor(op.where(op.isfinite(scaled), scaled, edge)), mode))
    flat = op.permute_dims(node.reshape(x, [n, c, count(sizes)]), [0, 2, 1])
    total = op.permute_dims(sampled(node, flat, columns, sizes, [n, count(places)], padding, aligned), [0, 2, 1])
    return node.reshape(total, [n, c, *places])


@imports("AffineGrid")
def affine_grid(node: OnnxNode, theta: Tensor, size: Tensor) -> Operand:
    """The positions that matrices, one for each image, map a grid from -1 to 1 to. The standard's own definition by
    other operators has no result for a single image, nor along a dimension of size 1 with corners aligned."""
    n, _, *sizes = node.known_integers(size, "a size")
    rank = len(sizes)
    steps = [_steps(length, node.flag("align_corners")) for length in sizes]
    # Positions list the last dimension first, and end with the 1 that the last column is multiplied by.
    places = [*reversed(np.meshgrid(*steps, indexing="ij")), np.ones(sizes)]
    grid = node.like(np.stack([place.reshape(-1) for place in places], -1), theta)
    moved = op.matmul(grid, op.permute_dims(theta, [0, 2, 1]))
    return node.reshape(moved, [n, *sizes, rank])


def _steps(length: int, aligned: bool) -> Array:
    """Return positions from -1 to 1: centres of the outermost pixels if `aligned`, else outer edges."""
    if aligned:
        return np.linspace(-1, 1, length)
    return (2 * np.arange(length) + 1) / max(length, 1) - 1


@dataclass(frozen=True)
class Samples:
    """The samples of the cells of regions along a dimension."""

    length: Size
    """The number of samples of a cell, or of the cell that has most."""

    counts: Operand | None
    """The number of samples of the cells of each region, `[regions, 1, 1]`; None if all have `length`."""

    taps: Sequence[tuple[Operand, Operand]]
    """The two places around each sample, `[regions, cells, length]`, with weights, which are 0 outside."""


@imports("RoiAlign")
def align(node: OnnxNode, x: Tensor, regions: Tensor, batch: Tensor) -> Operand:
    """The mean, or the maximum, of samples in each cell of regions. In older versions, positions are corners. Without a
    number of samples, a cell has as many along a dimension as it has pixels, rounded up."""
    is_half = node.text("coordinate_transformation_mode", "output_half_pixel") == "half_pixel"
    offset = 0.5 if is_half else 0.0
    n, c, height, width = node.shape(x)
    edges = op.subtract(op.multiply(regions, node.like(node.number("spatial_scale", 1.0), x)), node.like(offset, x))
    cells = [node.integer("output_height", 1), node.integer("output_width", 1)]
    rows, columns = (
        _samples(node, edges, 1 - d, cells[d], size, smallest=0.0 if offset else 1.0)
        for d, size in enumerate((height, width))
    )
    flat = node.reshape(op.permute_dims(x, [0, 2, 3, 1]), [count([n, height, width]), c])
    first = op.multiply(op.expand_dims(op.astype(batch, i64), [1, 2, 3, 4]), Known(count([height, width])))
    parts: list[Operand] = []
    for (row, by_row), (column, by_column) in product(rows.taps, columns.taps):
        place = op.add(op.multiply(op.expand_dims(row, [3, 4]), Known(width)), op.expand_dims(column, [1, 2]))
        weight = op.multiply(op.expand_dims(by_row, [3, 4]), op.expand_dims(by_column, [1, 2]))
        parts.append(op.multiply(op.take(flat, op.add(first, place), 0), op.expand_dims(weight, 5)))
    is_mean = node.text("mode", "avg") == "avg"
    found = reduce(op.add if is_mean else op.maximum, parts)
    if rows.counts is None or columns.counts is None:
        pooled = (op.mean if is_mean else op.max)(found, [2, 4])
    else:
        pooled = _of_counted(node, found, is_mean, rows, columns)
    return op.permute_dims(pooled, [0, 3, 1, 2])


def _samples(node: OnnxNode, edges: Operand, d: int, cells: int, size: Size, smallest: float) -> Samples:
    """Return the samples of each region along a dimension."""
    start, end = (op.expand_dims(op.strided_slice(edges, [1], [i], [i + 1]), 2) for i in (d, d + 2))
    extent = op.subtract(end, start)
    extent = op.maximum(extent, node.like(smallest, extent)) if smallest else extent
    of_cell = op.divide(extent, node.like(cells, edges))
    length: Size = node.integer("sampling_ratio")
    counts, steps = None, node.like((np.arange(length) + 0.5) / max(length, 1), edges)
    if length < 1:
        counts = node.tensor(op.maximum(op.astype(op.ceil(of_cell), i64), 1 if smallest else 0))
        # Of no region, too, there is a largest number.
        every = op.concat(op.reshape(counts, [-1]), Known(np.array([0])), axis=0)
        (length,) = node.sizes(op.max(every, [0]), "a number of samples")
        halves = op.add(op.astype(numbers_below(length), node.element_type(edges)), 0.5)
        steps = op.divide(halves, op.astype(counts, node.element_type(edges)))
    places = op.add(op.expand_dims(node.like(np.arange(cells), edges), 1), steps)
    position = op.add(start, op.multiply(of_cell, places))
    limit = number(node, size, edges)
    inside = op.logical_and(op.greater_equal(position, node.like(-1, edges)), op.less_equal(position, limit))
    last = op.subtract(limit, 1.0)
    held = op.minimum(op.maximum(position, 0.0), last)
    low = node.tensor(op.floor(held))
    rest = op.subtract(held, low)
    weights = op.subtract(node.like(1, edges), rest), rest
    whole = op.astype(low, i64), op.astype(op.minimum(op.add(low, node.like(1, edges)), last), i64)
    taps = [(p, op.where(inside, w, node.like(0, edges))) for p, w in zip(whole, weights, strict=True)]
    return Samples(length, counts, taps)


def _of_counted(node: OnnxNode, found: Operand, is_mean: bool, rows: Samples, columns: Samples) -> Operand:
    """Return the means, or the maxima, of samples `[regions, cells, samples, cells, samples, channels]`: of each
    region, as many as it has, and 0 where it has none."""
    assert rows.counts is not None
    assert columns.counts is not None
    is_one = op.logical_and(
        op.expand_dims(op.less(op.expand_dims(numbers_below(rows.length), 1), op.expand_dims(rows.counts, 3)), [4, 5]),
        op.expand_dims(op.less(numbers_below(columns.length), op.expand_dims(columns.counts, [1, 2])), 5),
    )
    if is_mean:
        total = op.sum(op.where(is_one, found, node.like(0, found)), [2, 4])
        number_of = op.maximum(op.multiply(rows.counts, columns.counts), 1)
        return op.divide(total, op.astype(op.expand_dims(number_of, 3), node.element_type(found)))
    largest = op.max(op.where(is_one, found, node.like(-np.inf, found)), [2, 4])
    has_one = op.greater(op.multiply(rows.counts, columns.counts), 0)
    return op.where(op.expand_dims(has_one, 3), largest, node.like(0, found))


@imports("DeformConv")
def deformable_conv(
    node: OnnxNode, x: Tensor, weight: Tensor, offsets: Tensor, bias: Tensor | None = None, mask: Tensor | None = None
) -> Operand:
    """A convolution whose windows have the elements at positions that are moved, each multiplied by a mask."""
    n, _, *sizes = node.shape(x)
    outputs, inputs, *kernel = node.static_shape(weight, "sizes of the kernel")
    if len(sizes) != 2:
        refuse(f"windows that are moved over {len(sizes)} dimensions")
    windows = read_windows(node, sizes, list(kernel))
    groups, groups_of_offsets = node.integer("group", 1), node.integer("offset_group", 1)
    channels = inputs * groups
    pixels = node.shape(offsets)[2:]
    elements, places = prod(kernel), count(pixels)
    moved = node.reshape(offsets, [n, groups_of_offsets, elements, 2, places])
    columns: list[Taps] = []
    for d in (0, 1):
        firsts = op.multiply(numbers_below(pixels[d]), windows.strides[d])
        inside = Known(np.arange(kernel[d])[:, None] * windows.dilation[d] - windows.before[d])
        base = op.expand_dims(op.add(inside, firsts), [1, 3] if d == 0 else [0, 2])
        grid = node.reshape(node.broadcast_to(base, [*kernel, *pixels]), [elements, places])
        moved_to = op.add(part_at(moved, 3, d), op.astype(grid, node.element_type(x)))
        columns.append(taps(node, node.tensor(moved_to), "linear"))
    flat = node.reshape(x, [n, groups_of_offsets, channels // groups_of_offsets, count(sizes)])
    flat = op.permute_dims(flat, [0, 1, 3, 2])
    samples = sampled(node, flat, columns, sizes, [n, groups_of_offsets, count([elements, places])])
    if mask is not None:
        factor = node.reshape(mask, [n, groups_of_offsets, count([elements, places]), 1])
        samples = op.multiply(samples, factor)
    whole = op.permute_dims(samples, [0, 1, 3, 2])
    matrix = node.reshape(whole, [n, groups, inputs * elements, places])
    kernels = node.reshape(weight, [groups, outputs // groups, inputs * elements])
    y = node.reshape(op.matmul(kernels, matrix), [n, outputs, *pixels])
    return y if bias is None else op.add(y, per_channel(bias, 4))
