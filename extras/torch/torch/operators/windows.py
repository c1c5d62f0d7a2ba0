"""Convolutions, pools and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Attribute

from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range, numbers_below, stacked
from relex.frontend.compositions.padding import padded
from relex.frontend.compositions.sliding_windows import (
    Windows,
    averages,
    convolution,
    maxima,
    maxima_and_places,
    means,
    spread,
    unpooled,
)
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.values import size_argument, with_node
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row
from relex.frontend.torch.node import numbers

Numbers = int | Sequence[int]


def _windows(
    size: Numbers, rank: int, stride: Numbers, padding: Numbers, dilation: Numbers = 1, ceil_mode: bool = False
) -> Windows:
    """Return windows over `rank` dimensions, which by default begin where others end."""
    kernel, around = numbers(size, rank), numbers(padding, rank)
    return Windows(kernel, numbers(stride, rank) or kernel, around * 2, numbers(dilation, rank), ceil_mode)


def _over(node: TorchNode, rank: int, pool: Callable[..., Any], x: Tensor, *options: Any) -> Any:
    """Apply a function of data with a dimension for the batch, which torch lets be left out."""
    if node.rank(x) == rank + 2:
        return pool(node, x, *options)
    y = pool(node, node.tensor(op.expand_dims(x, 0)), *options)
    return op.squeeze(y, 0) if isinstance(y, Expr) else [op.squeeze(part, 0) for part in y]


@imports("aten.convolution", "aten._convolution")
def convolution_of_either_kind(
    node: TorchNode,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
    *options: bool,
) -> Operand:
    """A convolution, or a transposed one."""
    size = node.static_shape(weight, "sizes of the kernel", first=2)
    rank = len(size)
    windows = _windows(size, rank, stride, padding, dilation)
    if not transposed:
        return _over(node, rank, convolution, x, weight, bias, windows, groups)
    after = [n - more for n, more in zip(windows.after, numbers(output_padding, rank), strict=True)]
    windows = replace(windows, padding=(*windows.before, *after))
    return _over(node, rank, spread, x, weight, bias, windows, groups)


@imports(*(f"aten.max_pool{rank}d{places}" for rank in (1, 2, 3) for places in ("", "_with_indices")))
def max_pool(
    node: TorchNode, x: Tensor, size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
) -> Operand | list[Operand]:
    """The maximum of each window, and where it is if that is asked for."""
    rank = _rank(node)
    windows = _windows(size, rank, stride, padding, dilation, ceil_mode)
    if is_used(node, 1):
        return _over(node, rank, _maxima_and_places, x, windows)
    y = _over(node, rank, maxima, x, windows)
    return [y] if node.name.endswith("_with_indices") else y


def _maxima_and_places(node: TorchNode, x: Tensor, windows: Windows) -> list[Operand]:
    """Return the maximum of each window, and where it is: the first one, but of NaN the last one."""
    y, place = maxima_and_places(node, x, windows)
    if not isinstance(x.element_type, AnyFloat):
        return [y, place]
    pixels = node.shape(x)[2:]
    numbers = node.reshape(numbers_below(count(pixels)), pixels)
    last = maxima(node, node.tensor(op.where(op.isnan(x), numbers, -1)), windows)
    return [y, op.where(op.isnan(y), last, place)]


@imports("aten.max_unpool2d", "aten.max_unpool3d")
def max_unpool(node: TorchNode, x: Tensor, places: Tensor, sizes: Sequence[Any], *windows: Any) -> Operand:
    """Zeros, but for elements at given places in the pixels of their channel."""
    expect_in_range(node, places, count(sizes), from_end=False)
    return unpooled(node, x, places, node.shape(x)[: -len(sizes)], sizes)


def _rank(node: TorchNode) -> int:
    """Return the number of dimensions that windows slide over, by the name of the operator."""
    return next(int(letter) for letter in node.name if letter.isdecimal())


def is_used(node: TorchNode, result: int) -> bool:
    """Return whether a graph uses a result of an operator that has several."""
    return any(user.target is getitem and user.args[1] == result and user.users for user in node.fx.users)


@imports("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def average_pool(
    node: TorchNode,
    x: Tensor,
    size: Numbers,
    stride: Numbers,
    padding: Numbers,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None = None,
) -> Operand:
    """The mean of each window."""
    rank = _rank(node)
    windows = _windows(size, rank, stride, padding, 1, ceil_mode)
    if divisor is None:
        return _over(node, rank, averages, x, windows, count_include_pad)
    return op.multiply(_over(node, rank, means, x, windows), prod(numbers(size, rank)) / divisor)


def _adaptive(
    reduce: Callable[..., Operand], pool: Callable[..., Operand], node: TorchNode, x: Tensor, wanted: Sequence[Size]
) -> Operand:
    """Return a pool with a given number of windows, whose sizes may differ by one."""
    rank = len(wanted)
    if all(count == 1 for count in wanted):
        return reduce(x, list(range(-rank, 0)), True)
    if _has_no_windows(node, x, wanted):
        return _no_windows(node, x, wanted, node.element_type(x))
    size = _equal_windows(node, x, wanted)
    if size is not None:
        return _over(node, rank, pool, x, _windows(size, rank, size, 0))
    y: Operand = x
    for axis, spans in enumerate(_spans(node, x, wanted), node.rank(x) - rank):
        parts = [
            reduce(op.strided_slice(y, [axis], [size_argument(begin)], [size_argument(end)]), axis, True)
            for begin, end in spans
        ]
        y = op.concat(*parts, axis=axis)
    return y


def _has_no_windows(node: TorchNode, x: Tensor, wanted: Sequence[Size]) -> bool:
    """Return whether a pool is empty. Refuses data without pixels, whatever the pool, as torch does."""
    if 0 in node.shape(x)[-len(wanted) :]:
        refuse("data without pixels; expected sizes other than 0")
    return 0 in wanted


def _no_windows(node: TorchNode, x: Tensor, wanted: Sequence[Size], element_type: Attribute) -> Operand:
    return node.full([*node.shape(x)[: -len(wanted)], *wanted], 0, element_type)


def _first_maximum(x: Tensor, size: Size) -> Operand:
    """Return where the maximum is along the last dimension: the first one, but of NaN the last one."""
    last = op.max(op.where(op.isnan(x), numbers_below(size), -1), -1, False)
    return op.where(op.less(last, 0), op.argmax(x, -1, False), last)


def _equal_windows(node: TorchNode, x: Tensor, wanted: Sequence[Size]) -> list[int] | None:
    """Return the size of windows that divide all dimensions, None if there is none, or if it is not known."""
    pairs = [*zip(node.shape(x)[-len(wanted) :], wanted, strict=True)]
    known = [(size, number) for size, number in pairs if isinstance(size, int) and isinstance(number, int)]
    divide = len(known) == len(pairs) and all(number and size and size % number == 0 for size, number in known)
    return [size // number for size, number in known] if divide else None


def _spans(node: TorchNode, x: Tensor, wanted: Sequence[Size]) -> list[list[tuple[Size, Size]]]:
    """Return where windows begin and end, for each dimension."""
    numbers = [node.closed(number, "a dynamic number of windows: {}") for number in wanted]
    return [
        [(i * size // number, -(-(i + 1) * size // number)) for i in range(number)]
        for size, number in zip(node.shape(x)[-len(wanted) :], numbers, strict=True)
    ]


def _adaptive_max(node: TorchNode, x: Tensor, wanted: Sequence[Size]) -> list[Operand]:
    if not is_used(node, 1):
        return [_adaptive(op.max, maxima, node, x, wanted)]
    if _has_no_windows(node, x, wanted):
        return [_no_windows(node, x, wanted, element_type) for element_type in (x.element_type, i64)]
    rank, size = len(wanted), _equal_windows(node, x, wanted)
    if size is not None:
        return _over(node, rank, _maxima_and_places, x, _windows(size, rank, size, 0))
    shape = node.shape(x)
    pixels, axes = shape[-rank:], list(range(len(shape) - rank, len(shape)))
    places: list[Operand] = []
    for window in product(*_spans(node, x, wanted)):
        begins, ends = zip(*window, strict=True)
        part = node.tensor(op.strided_slice(x, axes, [*map(size_argument, begins)], [*map(size_argument, ends)]))
        length = count(node.shape(part)[-rank:])
        inside = _first_maximum(node.tensor(node.reshape(part, [*shape[:-rank], length])), length)
        place: Operand = Known(0)
        for d in reversed(range(rank)):
            width = Known(node.shape(part)[axes[d]])
            here = op.add(op.floor_mod(inside, width), Known(begins[d]))
            place = op.add(place, op.multiply(here, Known(count(pixels[d + 1 :]))))
            inside = op.floor_divide(inside, width)
        places.append(place)
    found = node.tensor(stacked(places, len(shape) - rank))
    flat = node.reshape(x, [*shape[:-rank], count(pixels)])
    new = [*shape[:-rank], *wanted]
    return [node.reshape(op.gather_elements(flat, found, len(shape) - rank), new), node.reshape(found, new)]


@imports("aten.constant_pad_nd")
def constant_pad(node: TorchNode, x: Tensor, pads: Sequence[int], value: float = 0) -> Operand:
    """A tensor surrounded by a number. Negative widths are cut off."""
    return pad(node, x, pads, "constant", value)


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@imports("aten.pad")
def pad(node: TorchNode, x: Tensor, pads: Sequence[Any], mode: str = "constant", value: float | None = None) -> Operand:
    """A tensor surrounded by a number, or by its own elements. Widths are given from the last dimension on."""
    rank = node.rank(x)
    widths: list[Size] = [0] * (2 * rank)
    for i in range(len(pads) // 2):
        widths[rank - 1 - i], widths[2 * rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return padded(node, x, widths, MODES[mode], value or 0)


for _number in (1, 2, 3):
    _pool = f"adaptive_avg_pool{_number}d"
    row(f"adaptive_avg_pool{_number}d _adaptive_avg_pool{_number}d", partial(_adaptive, op.mean, means), with_node)
    row(f"adaptive_max_pool{_number}d", _adaptive_max, with_node)
    row(f"reflection_pad{_number}d", partial(pad, mode="reflect"), with_node)
    row(f"replication_pad{_number}d", partial(pad, mode="replicate"), with_node)


@imports("aten.im2col")
def image_to_columns(
    node: TorchNode,
    x: Tensor,
    size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Operand:
    """All windows of an image, each as a column."""
    n, c, *pixels = node.shape(x)
    data = op.pad(x, [0, 0, 0, 0, padding[0], padding[0], padding[1], padding[1]])
    windows = _windows(size, 2, stride, padding, dilation)
    counts = windows.counts(pixels)
    rows, columns = (
        op.add(op.multiply(numbers_below(number), stride[d]), Known(np.arange(size[d])[:, None] * dilation[d]))
        for d, number in enumerate(counts)
    )
    taken = op.take(op.take(data, rows, 2), columns, 4)
    ordered = op.permute_dims(taken, [0, 1, 2, 4, 3, 5])
    return node.reshape(ordered, [n, c * prod(size), count(counts)])
