"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from relex.frontend import op
from relex.frontend.compositions.indexing import LAST
from relex.frontend.compositions.normalization import per_channel
from relex.frontend.expressions import Call, Operand
from relex.frontend.importing.site import Site
from relex.frontend.importing.values import Tensor, refuse


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pool, along each dimension that they slide over."""

    size: list[int]
    strides: list[int]
    dilation: list[int]
    before: list[int]
    after: list[int]

    @property
    def padding(self) -> list[int]:
        """The padding before each dimension, and after each; negative padding is cut off the data."""
        return [max(n, 0) for n in (*self.before, *self.after)]

    @property
    def spans(self) -> list[int]:
        """The extents that a window covers, including the gaps of dilation."""
        return [(n - 1) * d + 1 for n, d in zip(self.size, self.dilation, strict=True)]

    def with_ceiling(self, data: Sequence[int]) -> Windows:
        """Return the windows with more padding at the end, so that the last elements are in one, too."""
        after: list[int] = []
        for n, span, stride, before, end in zip(data, self.spans, self.strides, self.before, self.after, strict=True):
            windows = -(-(n + before + end - span) // stride) + 1
            if (windows - 1) * stride >= n + before:
                windows -= 1  # It would be in the padding alone.
            after.append(max((windows - 1) * stride + span - n - before, end))
        return Windows(self.size, self.strides, self.dilation, self.before, after)


def cut(x: Operand, windows: Windows) -> Operand:
    """Cut off negative padding."""
    for d, (before, after) in enumerate(zip(windows.before, windows.after, strict=True)):
        if before < 0 or after < 0:
            end = after if after < 0 else LAST
            x = op.strided_slice(x, [d + 2], [max(-before, 0)], [end])
    return x


def by_rank(functions: Sequence[Callable[..., Call]], site: Site, x: Operand) -> Callable[..., Call]:
    """Return the operator for data with one, two or three dimensions that windows slide over."""
    rank = site.rank(x) - 2
    if not 1 <= rank <= len(functions):
        refuse(f"windows over {rank} dimensions")
    return functions[rank - 1]


def convolution(
    site: Site, x: Operand, weight: Operand, bias: Operand | None, windows: Windows, groups: int
) -> Operand:
    """Return a convolution."""
    function = by_rank((op.conv1d, op.conv2d, op.conv3d), site, x)
    y = function(cut(x, windows), weight, windows.strides, windows.padding, windows.dilation, groups)
    return y if bias is None else op.add(y, per_channel(bias, site.rank(x)))


def spread(site: Site, x: Operand, weight: Operand, bias: Operand | None, windows: Windows, groups: int) -> Operand:
    """Return a transposed convolution. The numbers before and after each dimension are removed from the full result, or
    added to it as zeros if they are negative, before the bias is added."""
    function = by_rank((op.conv1d_transpose, op.conv2d_transpose, op.conv3d_transpose), site, x)
    limits = [max(pair) for pair in zip(windows.strides, windows.dilation, strict=True)]
    # What the operator does not add itself is padded.
    more = [min(max(-n, 0), limit - 1) for n, limit in zip(windows.after, limits, strict=True)]
    y: Operand = function(x, weight, windows.strides, windows.padding, more, windows.dilation, groups)
    missing = [max(-n, 0) for n in windows.before], [max(-n, 0) - m for n, m in zip(windows.after, more, strict=True)]
    if any(map(any, missing)):
        y = op.pad(y, [0, 0, 0, 0, *(n for pair in zip(*missing, strict=True) for n in pair)])
    return y if bias is None else op.add(y, per_channel(bias, len(limits) + 2))


def maxima(site: Site, x: Operand, windows: Windows) -> Operand:
    """Return the maximum of each window."""
    function = by_rank((op.max_pool1d, op.max_pool2d, op.max_pool3d), site, x)
    return function(cut(x, windows), windows.size, windows.strides, windows.padding, windows.dilation)


def maxima_and_places(site: Site, x: Operand, windows: Windows) -> Sequence[Tensor]:
    """Return the maximum of each window, and its position in the pixels of its channel."""
    if min(*windows.before, *windows.after) < 0:
        refuse("indices of the maxima in data that is cut off", "pads")
    function = by_rank((op.max_pool1d_with_indices, op.max_pool2d_with_indices, op.max_pool3d_with_indices), site, x)
    return site.emit_results(function(x, windows.size, windows.strides, windows.padding, windows.dilation))


def averages(site: Site, x: Operand, windows: Windows, included: bool, ceiling: bool = False) -> Operand:
    """Return the mean of each window. Padding counts, as zeros, if it is `included`; with `ceiling`, the last elements
    are in a window, too, whose part beyond the padding never counts."""
    if not ceiling:
        return _averages(site, x, windows, included)
    sizes = site.static_shape(x, first=2)
    declared = windows.after if included else [0] * len(sizes)
    wide = windows.with_ceiling(sizes)
    counts = _counts(wide, sizes, windows.before if included else None, declared)
    return op.divide(sums(site, x, wide), site.like(counts.reshape(1, 1, *counts.shape), x))


def _averages(site: Site, x: Operand, windows: Windows, included: bool) -> Operand:
    function = by_rank((op.avg_pool1d, op.avg_pool2d, op.avg_pool3d), site, x)
    data = cut(x, windows)
    return function(data, windows.size, windows.strides, windows.padding, windows.dilation, count_include_pad=included)


def sums(site: Site, x: Operand, windows: Windows) -> Operand:
    """Return the sum of each window."""
    return op.multiply(_averages(site, x, windows, included=True), float(prod(windows.size)))


def _counts(
    windows: Windows, sizes: Sequence[int], before: Sequence[int] | None, after: Sequence[int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return how many elements count in each window, with so much of the padding."""
    counts = np.ones((), np.float64)
    for d, n in enumerate(sizes):
        first = windows.before[d] if before is None else 0
        counting = np.zeros(n + windows.before[d] + max(windows.after[d], after[d], 0))
        counting[first : windows.before[d] + n + after[d]] = 1
        starts = range(0, n + windows.before[d] + windows.after[d] - windows.spans[d] + 1, windows.strides[d])
        column = [counting[s : s + windows.spans[d] : windows.dilation[d]].sum() for s in starts]
        counts = np.multiply.outer(counts, np.array(column))
    return counts
