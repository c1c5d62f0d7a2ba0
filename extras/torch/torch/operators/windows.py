"""Convolutions, pools and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from relex.dialects.sizes import IndexExpr, count
from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range
from relex.frontend.compositions.padding import padded
from relex.frontend.compositions.windows import Windows, averages, convolution, maxima, maxima_and_places, spread
from relex.frontend.torch import Known, Node, Operand, Tensor, imports, refuse
from relex.frontend.torch.node import numbers
from relex.frontend.torch.table import IMPORTS

Numbers = int | Sequence[int]


def _windows(size: list[int], stride: Numbers, padding: Numbers, dilation: Numbers) -> Windows:
    rank = len(size)
    around = numbers(padding, rank)
    return Windows(size, numbers(stride, rank) or size, numbers(dilation, rank), around, around)


def _batched(node: Node, x: Tensor, rank: int) -> Tensor:
    """Return the data with a dimension for the batch, which torch lets be left out."""
    return x if node.rank(x) == rank + 2 else node.tensor(op.expand_dims(x, 0))


def _as_given(node: Node, y: Operand, x: Tensor, rank: int) -> Operand:
    return y if node.rank(x) == rank + 2 else op.squeeze(y, 0)


@imports("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")
def conv(
    node: Node,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    groups: int,
) -> Operand:
    """A convolution."""
    size = list(node.static_shape(weight, "sizes of the kernel")[2:])
    windows = _windows(size, stride, padding, dilation)
    y = convolution(node, _batched(node, x, len(size)), weight, bias, windows, groups)
    return _as_given(node, y, x, len(size))


@imports("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def conv_transpose(
    node: Node,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Numbers,
    padding: Numbers,
    output_padding: Numbers,
    groups: int,
    dilation: Numbers,
) -> Operand:
    """A transposed convolution."""
    rank = node.rank(weight) - 2
    before, more = numbers(padding, rank), numbers(output_padding, rank)
    data = _batched(node, x, rank)
    size = list(node.static_shape(weight, first=2))
    after = [n - extra for n, extra in zip(before, more, strict=True)]
    windows = Windows(size, numbers(stride, rank), numbers(dilation, rank), before, after)
    return _as_given(node, spread(node, data, weight, bias, windows, groups), x, rank)


@imports("aten.convolution", "aten._convolution")
def convolution_of_either_kind(node: Node, x: Tensor, *arguments: Any) -> Operand:
    """A convolution, or a transposed one."""
    weight, bias, stride, padding, dilation, transposed, output_padding, groups, *_ = arguments
    if transposed:
        return conv_transpose(node, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(node, x, weight, bias, stride, padding, dilation, groups)


@imports(*(f"aten.max_pool{rank}d{places}" for rank in (1, 2, 3) for places in ("", "_with_indices")))
def max_pool(
    node: Node, x: Tensor, size: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
) -> Operand | list[Operand]:
    """The maximum of each window, and where it is if that is asked for."""
    rank = _rank(node)
    windows = _windows(numbers(size, rank), stride, padding, dilation)
    windows = windows.with_ceiling(node.static_shape(x, first=-rank)) if ceil_mode else windows
    data = _batched(node, x, rank)
    if not node.name.endswith("_with_indices"):
        return _as_given(node, maxima(node, data, windows), x, rank)
    found = maxima_and_places(node, data, windows) if _is_used(node, 1) else [maxima(node, data, windows)]
    return [_as_given(node, y, x, rank) for y in found]


@imports("aten.max_unpool2d", "aten.max_unpool3d")
def max_unpool(node: Node, x: Tensor, places: Tensor, sizes: Sequence[Any], *windows: Any) -> Operand:
    """Zeros, but for elements at given places in the pixels of their channel."""
    rank = len(sizes)
    outer, total = [*node.shape(x)[:-rank]], count(sizes)
    expect_in_range(node, places, total, from_end=False)
    given = [*outer, count(node.shape(x)[-rank:])]
    zeros = node.full([*outer, total], 0, x.element_type)
    stored = op.scatter_elements(zeros, node.reshape(places, given), node.reshape(x, given), -1)
    return node.reshape(stored, [*outer, *sizes])


def _rank(node: Node) -> int:
    """Return the number of dimensions that windows slide over, by the name of the operator."""
    return next(int(letter) for letter in node.name if letter.isdecimal())


def _is_used(node: Node, result: int) -> bool:
    return any(user.args[1] == result and user.users for user in node.fx.users)


@imports("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def average_pool(
    node: Node,
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
    windows = _windows(numbers(size, rank), stride, padding, 1)
    data = _batched(node, x, rank)
    if divisor is None:
        return _as_given(node, averages(node, data, windows, count_include_pad, ceil_mode), x, rank)
    if ceil_mode:
        windows = windows.with_ceiling(node.static_shape(x, first=-rank))
    y = op.multiply(averages(node, data, windows, True), prod(windows.size) / divisor)
    return _as_given(node, y, x, rank)


def _adaptive(reduce: Callable[..., Operand], pool: Callable[..., Operand]) -> Callable[..., Operand]:
    """Return the import of a pool with a given number of windows, whose sizes may differ by one."""

    def imported(node: Node, x: Tensor, wanted: Sequence[int]) -> Operand:
        rank = len(wanted)
        if all(count == 1 for count in wanted):
            return reduce(x, list(range(-rank, 0)), True)
        sizes = node.static_shape(x, first=-rank)
        if all(size % count == 0 for size, count in zip(sizes, wanted, strict=True)):
            size = [size // count for size, count in zip(sizes, wanted, strict=True)]
            return _as_given(node, pool(node, _batched(node, x, rank), _windows(size, size, 0, 1)), x, rank)
        y: Operand = x
        for axis, (size, number) in enumerate(zip(sizes, wanted, strict=True), node.rank(x) - rank):
            ends = [(i * size // number, -(-(i + 1) * size // number)) for i in range(number)]
            parts = [reduce(op.strided_slice(y, [axis], [start], [end]), axis, True) for start, end in ends]
            y = op.concat(*parts, axis=axis)
        return y

    return imported


def _adaptive_max(node: Node, x: Tensor, wanted: Sequence[int]) -> list[Operand]:
    if _is_used(node, 1):
        refuse("indices of the maxima")
    return [_adaptive(op.max, maxima)(node, x, wanted)]


@imports("aten.constant_pad_nd")
def constant_pad(node: Node, x: Tensor, pads: Sequence[int], value: float = 0) -> Operand:
    """A tensor surrounded by a number. Negative widths are cut off."""
    return pad(node, x, pads, "constant", value)


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@imports("aten.pad")
def pad(node: Node, x: Tensor, pads: Sequence[Any], mode: str = "constant", value: float | None = None) -> Operand:
    """A tensor surrounded by a number, or by its own elements. Widths are given from the last dimension on."""
    if any(isinstance(width, IndexExpr) for width in pads):
        refuse("padding by a dynamic size; fix the size with `shapes=`")
    rank = node.rank(x)
    widths = [0] * (2 * rank)
    for i in range(len(pads) // 2):
        widths[rank - 1 - i], widths[2 * rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return padded(node, x, widths, MODES[mode], value or 0)


for _number in (1, 2, 3):
    _pool = f"adaptive_avg_pool{_number}d"
    IMPORTS.add(_adaptive(op.mean, partial(averages, included=True)), f"aten.{_pool}", f"aten._{_pool}")
    IMPORTS.add(_adaptive_max, f"aten.adaptive_max_pool{_number}d")
    IMPORTS.add(partial(pad, mode="reflect"), f"aten.reflection_pad{_number}d")
    IMPORTS.add(partial(pad, mode="replicate"), f"aten.replication_pad{_number}d")


@imports("aten.im2col")
def image_to_columns(
    node: Node, x: Tensor, size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Operand:
    """All windows of an image, each as a column."""
    n, c, *pixels = node.shape(x)
    data = op.pad(x, [0, 0, 0, 0, padding[0], padding[0], padding[1], padding[1]])
    places: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
    for i, pixel in enumerate(pixels):
        whole = node.closed(pixel, "an image of dynamic size") + 2 * padding[i]
        count = (whole - dilation[i] * (size[i] - 1) - 1) // stride[i] + 1
        places.append(np.add.outer(np.arange(size[i]) * dilation[i], np.arange(count) * stride[i]))
    rows = op.take(data, Known(places[0]), 2)
    windows = op.take(rows, Known(places[1]), 4)
    ordered = op.permute_dims(windows, [0, 1, 2, 4, 3, 5])
    counts = [place.shape[1] for place in places]
    return node.reshape(ordered, [n, c * prod(size), prod(counts)])
