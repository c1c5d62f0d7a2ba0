"""Formulas of convolutions and pools: each element of the result from the places in the data that its window covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.formulas import FORMULAS, as_list, constant, given, moved, stacked
from relex.reference.intervals.numbers import Integers, Reals, Value, objects
from relex.reference.intervals.reductions import dot, extreme, unpacked


@dataclass(frozen=True)
class Line:
    """Windows along one dimension: the place in the data of each element of each window, if it is one."""

    places: Array
    inside: Array
    counted: Array
    """The elements that count where padding does: all but those beyond it."""


def lines(op: Operation, sizes: Sequence[int], window: Sequence[int]) -> list[Line]:
    """Return the windows of an operator along each dimension."""
    rank = len(sizes)
    strides, dilation = (as_list(given(op, name, [1] * rank)) for name in ("strides", "dilation"))
    before, after = padding_of(op, rank)
    numbers = zip(sizes, window, strides, dilation, before, after, strict=True)
    ceil_mode = bool(given(op, "ceil_mode"))
    return [_line(size, *others, ceil_mode=ceil_mode) for size, *others in numbers]


def padding_of(op: Operation, rank: int) -> tuple[list[int], list[int]]:
    """Return the padding before and after each dimension."""
    padding = as_list(given(op, "padding", [0]))
    padding = padding * (2 * rank // len(padding))
    return padding[:rank], padding[rank:]


def _line(size: int, window: int, stride: int, dilation: int, before: int, after: int, *, ceil_mode: bool) -> Line:
    covered = dilation * (window - 1) + 1
    starts = [s for s in range(-before, size + after, stride) if s + covered <= size + after]
    if ceil_mode and stride > 1:
        # One more begins inside, or in the padding before, and reaches beyond the end; none begins after that.
        starts = [s for s in range(-before, size, stride) if s - stride + covered < size + after]
    places = np.asarray(starts)[:, None] + dilation * np.arange(window)
    return Line(places, (places >= 0) & (places < size), places < size + after)


def seen(x: Any, windows: Sequence[Line], fill: Any) -> Any:
    """Return what each window sees, as the last dimension; `fill` where there is no data."""
    rank = len(windows)
    lead = len(x.shape) - rank
    inside = _all_of([line.inside for line in windows])
    if 0 in x.shape:
        return moved(fill, lambda a: np.broadcast_to(a, (*x.shape[:lead], *inside.shape)))

    def gathered(a: Array) -> Array:
        for line in windows:
            size = a.shape[lead]
            taken = np.take(a, np.clip(line.places, 0, size - 1), axis=lead)
            a = np.moveaxis(taken, [lead, lead + 1], [a.ndim - 1, a.ndim])
        # Now count, window, count, window, ...
        order = [*range(lead), *range(lead, lead + 2 * rank, 2), *range(lead + 1, lead + 2 * rank, 2)]
        a = a.transpose(order)
        return a.reshape([*a.shape[: lead + rank], prod(a.shape[lead + rank :])])

    return stacked([moved(x, gathered), fill], lambda parts: np.where(inside, parts[0], parts[1]))


def _all_of(masks: Sequence[Array]) -> Array:
    """Return where windows are inside along all dimensions: their counts, then their elements as one dimension."""
    rank = len(masks)
    shaped: list[Array] = []
    for d, mask in enumerate(masks):
        shape = [1] * (2 * rank)
        shape[d], shape[rank + d] = mask.shape
        shaped.append(mask.reshape(shape))
    whole: Any = reduce(np.logical_and, shaped)
    return whole.reshape([*whole.shape[:rank], prod(whole.shape[rank:])])


def convolved(op: Operation, x: Any, weight: Any, groups: int) -> Any:
    """Return the convolution of data [N, C, ...] with a weight [O, C / groups, ...]."""
    windows = lines(op, x.shape[2:], weight.shape[2:])
    parts = seen(x, windows, constant(x, 0))
    return _grouped(parts, weight, groups)


def _grouped(parts: Any, weight: Any, groups: int) -> Any:
    """Return sums over channels [N, C, counts..., window] and a weight [O, C / groups, ...], in groups."""
    flat = moved(weight, lambda a: a.reshape([*a.shape[:2], prod(a.shape[2:])]))
    channels, outputs = flat.shape[1], flat.shape[0] // groups
    counts = parts.shape[2:-1]
    results: list[Any] = []
    for group in range(groups):
        mine = moved(parts, lambda a, g=group: a[:, g * channels : (g + 1) * channels])
        # [N, 1, counts..., channels * window] with [O, 1..., channels * window]
        rows = moved(mine, lambda a: np.moveaxis(a, 1, -2).reshape([a.shape[0], 1, *counts, a.shape[1] * a.shape[-1]]))
        kernel = moved(flat, lambda a, g=group: a[g * outputs : (g + 1) * outputs])
        kernel = moved(kernel, lambda a: a.reshape([a.shape[0], *[1] * len(counts), a.shape[1] * a.shape[2]]))
        results.append(dot(rows, kernel))
    return stacked(results, lambda arrays: np.concatenate(arrays, axis=1))


@FORMULAS.rule(relex.Conv1dOp, relex.Conv2dOp, relex.Conv3dOp)
def convolution(op: Operation, x: Any, weight: Any) -> Value:
    """Each window of the data with each kernel."""
    return convolved(op, x, weight, given(op, "groups", 1))


@FORMULAS.rule(relex.Conv1dPackedOp, relex.Conv2dPackedOp, relex.Conv3dPackedOp)
def packed_convolution(op: Operation, x: Integers, weight: Integers) -> Value:
    """Unsigned bytes with signed ones, packed along the channels."""
    bytes_of = unpacked(x, 1, signed=False), unpacked(weight, 1, signed=True)
    return convolved(op, *bytes_of, given(op, "groups", 1))


@FORMULAS.rule(relex.Conv2dBlockedOp)
def blocked_convolution(op: Operation, x: Any, weight: Any) -> Value:
    """The convolution of the data without blocks, put into blocks."""
    x = x if len(x.shape) == 5 else moved(x, lambda a: a[..., None])
    data = moved(x, lambda a: np.moveaxis(a, 4, 2).reshape([a.shape[0], a.shape[1] * a.shape[4], *a.shape[2:4]]))
    outer, inner = weight.shape[0], weight.shape[5]
    kernel = moved(
        weight, lambda a: a.transpose(0, 5, 1, 4, 2, 3).reshape([outer * inner, a.shape[1] * a.shape[4], *a.shape[2:4]])
    )
    if not given(op, "depthwise") and given(op, "groups", 1) == 1:
        data = moved(data, lambda a: a[:, : kernel.shape[1]])
    found = convolved(op, data, kernel, data.shape[1] if given(op, "depthwise") else given(op, "groups", 1))
    return moved(found, lambda a: np.moveaxis(a.reshape([a.shape[0], outer, inner, *a.shape[2:]]), 2, 4))


@FORMULAS.rule(relex.Conv1dTransposeOp, relex.Conv2dTransposeOp, relex.Conv3dTransposeOp)
def transposed_convolution(op: Operation, x: Any, weight: Any) -> Value:
    """Each element of the result from the elements of the data whose windows reach it."""
    groups, rank = given(op, "groups", 1), len(x.shape) - 2
    strides, dilation = (as_list(given(op, name, [1] * rank)) for name in ("strides", "dilation"))
    more = as_list(given(op, "output_padding", [0] * rank))
    numbers = zip(x.shape[2:], weight.shape[2:], strides, dilation, *padding_of(op, rank), more, strict=True)
    windows = [_reaching(*n) for n in numbers]
    parts = seen(x, windows, constant(x, 0))
    # The weight is [C, O / groups, ...]: each group's as [O / groups, C / groups, ...].
    kernels = moved(weight, lambda a: np.concatenate([np.swapaxes(part, 0, 1) for part in np.split(a, groups)]))
    found = _grouped(parts, kernels, groups)
    if not isinstance(kernels, Reals):
        return found
    # Whether what is no data is left out or multiplied as 0 shows in weights that are infinite or NaN: that is open.
    beyond = Integers.of(i64, np.broadcast_to(~_all_of([line.inside for line in windows]), parts.shape))
    special = Integers.of(i64, ~np.isfinite(kernels.low) | ~kernels.known)
    return found.only(np.asarray(_grouped(beyond, special, groups).value == 0, np.bool_))


def _reaching(size: int, window: int, stride: int, dilation: int, before: int, after: int, more: int) -> Line:
    """Return for each element of the result, and of the kernel, the place in the data that is multiplied by it."""
    count = stride * (size - 1) + dilation * (window - 1) + 1 + more - before - after
    reached = np.arange(max(count, 0))[:, None] + before - dilation * np.arange(window)
    places = reached // stride
    inside = (reached % stride == 0) & (places >= 0) & (places < size)
    return Line(places, inside, inside)


@FORMULAS.rule(relex.MaxPool1dOp, relex.MaxPool2dOp, relex.MaxPool3dOp)
def max_pool(op: Operation, x: Any) -> Value:
    """The maximum of each window, in which padding never wins."""
    return extreme(_pooled(op, x)[1], largest=True)


def _pooled(op: Operation, x: Any) -> tuple[Sequence[Line], Any]:
    """Return the windows of a pool, and what each of them sees."""
    windows = lines(op, x.shape[2:], as_list(given(op, "pool_size")))
    return windows, seen(x, windows, constant(x, -np.inf if isinstance(x, Reals) else x.limits[0]))


@FORMULAS.rule(relex.MaxPool1dWithIndicesOp, relex.MaxPool2dWithIndicesOp, relex.MaxPool3dWithIndicesOp)
def max_pool_with_indices(op: Operation, x: Any) -> tuple[Value, ...]:
    """The maximum of each window, and the place in the data of the first one; -1 where there is only padding."""
    windows, parts = _pooled(op, x)
    best = extreme(parts, largest=True)
    numbers = Integers.of(i64, np.arange(prod(x.shape[2:])).reshape(x.shape[2:]))
    own = seen(numbers, windows, Integers.of(i64, -1)).value
    places, known = np.full(parts.shape[:-1], -1, object), np.ones(parts.shape[:-1], np.bool_)
    for at in np.ndindex(parts.shape[:-1]):
        inside = [(i, n) for i, n in enumerate(own[at[2:]]) if n >= 0]
        if inside:
            row = moved(parts, lambda a, at=at, inside=inside: a[at][[i for i, _ in inside]])
            places[at], known[at] = _first_largest(row, [n for _, n in inside])
    return best, Integers(i64, objects(places), known)


def _first_largest(row: Any, numbers: Sequence[int]) -> tuple[int, bool]:
    """Return the smallest of the numbers of the largest elements, in which NaN is larger than all; and whether that is
    certain."""
    if not np.all(row.known):
        return -1, False
    low, high = (row.value, row.value) if isinstance(row, Integers) else (row.low, row.high)
    nan = [n for n, v in zip(numbers, low, strict=True) if v != v]
    if nan:
        return min(nan), True
    best = max(low)
    may_be = [n for n, v in zip(numbers, high, strict=True) if v >= best]
    is_certain = len(may_be) == 1 or all(a == b for a, b in zip(low, high, strict=True))
    return min(may_be), is_certain


@FORMULAS.rule(relex.AvgPool1dOp, relex.AvgPool2dOp, relex.AvgPool3dOp)
def avg_pool(op: Operation, x: Reals) -> Value:
    """The mean of each window."""
    windows = lines(op, x.shape[2:], as_list(given(op, "pool_size")))
    sums = real.total(seen(x, windows, constant(x, 0)))
    counting: Callable[[Line], Array] = (
        (lambda line: line.counted) if given(op, "count_include_pad") else lambda line: line.inside
    )
    counts = np.sum(_all_of([counting(line) for line in windows]), axis=-1)
    return real.divide(sums, Reals.of(x.fmt, counts))
