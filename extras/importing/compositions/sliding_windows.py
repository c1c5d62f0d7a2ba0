"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.relex.sliding_windows import Windows as Windows
from relex.dialects.sizes import IndexExpr, Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST
from relex.frontend.compositions.padding import padded
from relex.frontend.compositions.softmax import per_channel
from relex.frontend.graph_expressions import Call, Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Tensor, refuse


def places(windows: Windows, dimension: int, number: int) -> Array:
    """Return the positions of the elements of `number` windows along a dimension: a row for each element of a window,
    a column for each window. The first window begins at 0."""
    elements = np.arange(cast(int, windows.size[dimension])) * windows.dilation[dimension]
    return np.add.outer(elements, np.arange(number) * windows.strides[dimension])


def filled_up(site: ImportedNode, x: Operand, windows: Windows) -> Windows:
    """Return windows with as much padding at the end as the last ones need that count with `ceil_mode`. Those whose
    number depends on dynamic sizes stay as they are."""
    ends = windows.ends(site.shape(x)[-windows.rank :])
    if not windows.ceil_mode or any(isinstance(end, IndexExpr) for end in ends):
        return windows
    return replace(windows, padding=cast(Any, (*windows.before, *ends)), ceil_mode=False)


def padded_by(
    site: ImportedNode, x: Operand, before: Sequence[Size], after: Sequence[Size], value: Operand = 0
) -> Operand:
    """Return data whose last dimensions are surrounded by a number."""
    others = [0] * (site.rank(x) - len(before))
    return padded(site, x, [*others, *before, *others, *after], "constant", value)


def _arguments(windows: Windows) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return the strides, padding and dilation of an operator. Negative padding is cut off the data."""
    return windows.strides, [max(n, 0) for n in windows.padding], windows.dilation


def _cut(x: Operand, windows: Windows) -> Operand:
    """Cut off negative padding."""
    for d, (before, after) in enumerate(zip(windows.before, windows.after, strict=True)):
        if before < 0 or after < 0:
            end = after if after < 0 else LAST
            x = op.strided_slice(x, [d + 2], [max(-before, 0)], [end])
    return x


def by_rank(functions: Sequence[Callable[..., Call]], site: ImportedNode, x: Operand) -> Callable[..., Call]:
    """Return the operator for data with one, two or three dimensions that windows slide over."""
    rank = site.rank(x) - 2
    if not 1 <= rank <= len(functions):
        refuse(f"windows over {rank} dimensions")
    return functions[rank - 1]


def convolution(
    site: ImportedNode, x: Operand, weight: Operand, bias: Operand | None, windows: Windows, groups: int
) -> Operand:
    """Return a convolution."""
    function = by_rank((op.conv1d, op.conv2d, op.conv3d), site, x)
    y = function(_cut(x, windows), weight, *_arguments(windows), groups)
    return y if bias is None else op.add(y, per_channel(bias, site.rank(x)))


def spread(
    site: ImportedNode, x: Operand, weight: Operand, bias: Operand | None, windows: Windows, groups: int
) -> Operand:
    """Return a transposed convolution. The numbers before and after each dimension are removed from the full result, or
    added to it as zeros if they are negative, before the bias is added."""
    function = by_rank((op.conv1d_transpose, op.conv2d_transpose, op.conv3d_transpose), site, x)
    limits = [max(pair) for pair in zip(windows.strides, windows.dilation, strict=True)]
    # What the operator does not add itself is padded.
    more = [min(max(-n, 0), limit - 1) for n, limit in zip(windows.after, limits, strict=True)]
    strides, padding, dilation = _arguments(windows)
    y: Operand = function(x, weight, strides, padding, more, dilation, groups)
    missing = [max(-n, 0) for n in windows.before], [max(-n, 0) - m for n, m in zip(windows.after, more, strict=True)]
    if any(map(any, missing)):
        y = op.pad(y, [0, 0, 0, 0, *(n for pair in zip(*missing, strict=True) for n in pair)])
    return y if bias is None else op.add(y, per_channel(bias, len(limits) + 2))


def maxima(site: ImportedNode, x: Operand, windows: Windows) -> Operand:
    """Return the maximum of each window."""
    function = by_rank((op.max_pool1d, op.max_pool2d, op.max_pool3d), site, x)
    windows = filled_up(site, x, windows)
    return function(_cut(x, windows), windows.size, *_arguments(windows), windows.ceil_mode)


def maxima_and_places(site: ImportedNode, x: Operand, windows: Windows) -> Sequence[Tensor]:
    """Return the maximum of each window, and its position in the pixels of its channel."""
    windows = filled_up(site, x, windows)
    if min(windows.padding) < 0:
        refuse("indices of the maxima in data that is cut off", "pads")
    function = by_rank((op.max_pool1d_with_indices, op.max_pool2d_with_indices, op.max_pool3d_with_indices), site, x)
    return site.emit_results(function(x, windows.size, *_arguments(windows), windows.ceil_mode))


def averages(site: ImportedNode, x: Operand, windows: Windows, included: bool) -> Operand:
    """Return the mean of each window. Padding counts, as zeros, if it is `included`; of windows that begin inside but
    extend beyond the padding, that part never counts."""
    function = by_rank((op.avg_pool1d, op.avg_pool2d, op.avg_pool3d), site, x)
    pads = any(windows.padding)
    if windows.ends(site.shape(x)[2:]) == windows.after:
        windows = replace(windows, ceil_mode=False)
    counted = included and pads
    return function(_cut(x, windows), windows.size, *_arguments(windows), windows.ceil_mode, counted)


def means(site: ImportedNode, x: Operand, windows: Windows) -> Operand:
    """Return the mean of each window, of which each is filled up with zeros."""
    if windows.ceil_mode:
        ends = [end - after for end, after in zip(windows.ends(site.shape(x)[2:]), windows.after, strict=True)]
        x, windows = padded_by(site, x, [0] * windows.rank, ends), replace(windows, ceil_mode=False)
    return averages(site, x, windows, included=True)


def sums(site: ImportedNode, x: Operand, windows: Windows) -> Operand:
    """Return the sum of each window."""
    return op.multiply(means(site, x, windows), float(prod(cast(Any, windows.size))))


def unpooled(
    site: ImportedNode, x: Tensor, positions: Operand, batch: Sequence[Size], pixels: Sequence[Size]
) -> Operand:
    """Return zeros of a shape `[*batch, *pixels]`, but for elements at positions among the pixels."""
    given = [*batch, count(x.sizes[len(batch) :])]
    zeros = site.full([*batch, count(pixels)], 0, x.element_type)
    stored = op.scatter_elements(zeros, site.reshape(positions, given), site.reshape(x, given), len(batch))
    return site.reshape(stored, [*batch, *pixels])
