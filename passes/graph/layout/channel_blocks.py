"""Operators that can be computed with their channels in blocks, the numbers of a block contiguous.

The blocks of a value `[N, C, H, W]` are a value `[N, C / b, H, W, b]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import gcd, prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.relex.properties import as_integer, as_integers
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.dialects.table import Table
from relex.passes.cpu import cost

Make = Callable[[Operation, Sequence[SSAValue], int], Sequence[Operation]]
"""Maps an operator, its operands (in blocks where they are computed in blocks) and the block size of its result to the
ops that compute it; the last one has the result."""


@dataclass(frozen=True)
class InBlocks:
    """The blocked form of an operator: how it uses the channels of its operands, and how it is computed in blocks."""

    make: Make
    alike: Callable[[Operation], Sequence[int] | None] = lambda op: ()
    """Returns the indices of the operands that must have blocks of the same size as the result, constants aside; None
    if the operator cannot be computed in blocks."""
    enters: Callable[[Operation, int], bool] = lambda op, line: False
    """Returns whether these operands are converted to blocks if they are not in blocks yet, given the number of
    elements in a cache line."""
    within: Callable[[Operation], Sequence[int]] = lambda op: ()
    """Returns numbers of channels that blocks must divide: of the result, then of the first operand."""
    slides: bool = False
    """Whether a window slides over the data, which makes blocks worthwhile."""
    leaves: bool = False
    """Whether the result is in the usual order, not in blocks."""


IN_BLOCKS = Table[type[Operation], InBlocks]("operators with channels in blocks")
"""The operators that can be computed with channels in blocks. Other packages add theirs."""


def to_blocks(array: Array, size: int) -> Array:
    """Return a constant `[N, C, H, W]` in blocks, the last one filled with zeros; one that is the same for all channels
    gets another dimension."""
    n, channels, *sizes = array.shape
    if channels == 1:
        return array[..., np.newaxis]
    return np.moveaxis(_filled(array, 1, size).reshape(n, -1, size, *sizes), 2, -1)


def _filled(array: Array, axis: int, size: int) -> Array:
    """Return an array with zeros up to a multiple of a size along an axis; itself if it has that many elements."""
    if array.shape[axis] % size == 0:
        return array
    widths = [(0, -extent % size if d == axis else 0) for d, extent in enumerate(array.shape)]
    return np.pad(array, widths)


def into_blocks(value: SSAValue, size: int) -> Sequence[Operation]:
    """Return the ops that compute the blocks of a value `[N, C, H, W]`, the last one filled with zeros."""
    n, channels, *sizes = shape_of(value)
    missing = -channels % size
    ops: list[Operation] = [relex.PadOp(value, (0, 0, 0, missing, 0, 0, 0, 0))] if missing else []
    shape = (n, (channels + missing) // size, size, *sizes)
    ops.append(_reshape(ops[-1].results[0] if ops else value, shape, {0: 0, 3: 2, 4: 3}))
    return [*ops, relex.PermuteDimsOp(ops[-1].results[0], (0, 1, 3, 4, 2))]


def from_blocks(value: SSAValue, shape: Sequence[int]) -> Sequence[Operation]:
    """Return the ops that compute a value of a shape `[N, C, H, W]` from its blocks, or from the blocks of the mean of
    its channels, `[N, C / b, b]`."""
    n, blocks, *sizes, size = shape_of(value)
    # With one place, the channels are in order already.
    is_in_order = all(extent == 1 for extent in sizes)
    ops: list[Operation] = [] if is_in_order else [relex.PermuteDimsOp(value, (0, 1, 4, 2, 3))]
    ops.append(_reshape(ops[-1].results[0] if ops else value, (n, blocks * size, *shape[2:]), {0: 0, 2: 3, 3: 4}))
    if blocks * size != shape[1]:
        ops.append(relex.StridedSliceOp(ops[-1], [1], [0], [shape[1]]))
    return ops


def _reshape(value: SSAValue, shape: Sequence[int], kept: Mapping[int, int]) -> Operation:
    """Return the op that gives a value a shape. `kept` maps each dimension of the result that may be dynamic to the
    one of the value that has its size."""
    dynamic = [i for i, size in enumerate(shape) if size == DYNAMIC_INDEX]
    sizes = [f"d{kept[i]}" for i in dynamic] if len(dynamic) > 1 else None
    return relex.ReshapeOp(value, _as_property(shape), sizes)


def _as_property(shape: Sequence[int]) -> list[int]:
    return [-1 if size == DYNAMIC_INDEX else size for size in shape]


def _convolution(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    assert isinstance(op, relex.Conv2dOp)
    data, weight = operands[0], cast(Array, array_of(op.weight))
    block = shape_of(data)[4] if rank_of(data) == 5 else 1
    filled = _filled(weight, 0, size)
    before = _by_channel(op, data, size) if (is_depthwise := _is_depthwise(op)) else ()
    data = before[-1].results[0] if before else data
    _, channels, *window = filled.shape
    # A part divides the block, so that what fills the last block is not read; a separate channel is one.
    block = gcd(channels, block)
    parts = filled.reshape(-1, size, channels // block, block, *window)
    constant = relex.ConstantOp(parts.transpose(0, 2, 4, 5, 3, 1))
    constant.result.name_hint = op.weight.name_hint
    strides, padding, dilation = (as_integers(p) for p in (op.strides, op.padding, op.dilation))
    groups = 1 if is_depthwise else as_integer(op.groups)
    new = relex.Conv2dBlockedOp(data, constant.result, strides, padding, dilation, is_depthwise, groups)
    return [*before, constant, new]


def _by_channel(op: relex.Conv2dOp, data: SSAValue, size: int) -> Sequence[Operation]:
    """Return the ops that bring data into blocks for a convolution of each channel, once for each of its results."""
    is_blocked, times = rank_of(data) == 5, _results_of_a_channel(op)
    if times == 1:
        return () if is_blocked else into_blocks(data, size)
    before = from_blocks(data, shape_of(op.data)) if is_blocked else ()
    repeated = _repeated(before[-1].results[0] if before else data, times)
    return [*before, *repeated, *into_blocks(repeated[-1].results[0], size)]


def _is_depthwise(op: relex.Conv2dOp) -> bool:
    """Return whether each channel is convolved on its own."""
    return as_integer(op.groups) > 1 and shape_of(op.weight)[1] == 1


def _results_of_a_channel(op: relex.Conv2dOp) -> int:
    """Return the number of results of each channel that is convolved on its own."""
    return shape_of(op.weight)[0] // as_integer(op.groups)


def _repeated(value: SSAValue, times: int) -> Sequence[Operation]:
    """Return the ops that repeat each channel of a value `[N, C, H, W]`."""
    n, channels, *sizes = shape_of(value)
    apart = _reshape(value, (n, channels, 1, *sizes), {0: 0, 3: 2, 4: 3})
    repeated = relex.BroadcastToOp(apart.results[0], _as_property((n, channels, times, *sizes)))
    return [apart, repeated, _reshape(repeated.result, (n, channels * times, *sizes), {0: 0, 2: 3, 3: 4})]


def _of_convolution(op: Operation) -> Sequence[int] | None:
    assert isinstance(op, relex.Conv2dOp)
    if array_of(op.weight) is None:
        return None
    return (0,) if _is_depthwise(op) and _results_of_a_channel(op) == 1 else ()


def _of_groups(op: Operation) -> Sequence[int]:
    """Return the output and input channels of a group that has several."""
    assert isinstance(op, relex.Conv2dOp)
    outputs, channels = shape_of(op.weight)[:2]
    groups = as_integer(op.groups)
    return () if groups == 1 or _is_depthwise(op) else (outputs // groups, channels)


def _gains_by_blocks(op: Operation, line: int) -> bool:
    """Return whether rows of results do not fill vectors, as channels always do, or windows are so large that blocks
    are worth it for rows of one vector or of dynamic length, and for any that are computed from elements with
    strides."""
    assert isinstance(op, relex.Conv2dOp)
    *_, row = shape_of(op.results[0])
    is_large = prod(shape_of(op.weight)[2:]) > cost.MAX_COPIES
    is_short = row != DYNAMIC_INDEX and row < line
    return is_short or (is_large and (row <= line or as_integers(op.strides)[-1] > 1))


IN_BLOCKS.add(InBlocks(_convolution, _of_convolution, _gains_by_blocks, _of_groups, slides=True), relex.Conv2dOp)


def _elementwise(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    constants: list[Operation] = []
    new: list[SSAValue] = []
    for value in operands:
        if rank_of(value) < 5 and (array := array_of(value)) is not None:
            whole = array.reshape((1,) * (4 - array.ndim) + array.shape)
            constants.append(relex.ConstantOp(to_blocks(whole, size)))
            value = constants[-1].results[0]
        new.append(value)
    return [*constants, type(op).create(operands=new, result_types=[_blocked(op, size)], properties=op.properties)]


def _blocked(op: Operation, size: int) -> TensorType:
    t = tensor_type(op.results[0].type)
    n, channels, *sizes = t.get_shape()
    return TensorType(t.element_type, (n, -(-channels // size), *sizes, size))


def _all_like_the_result(op: Operation) -> Sequence[int] | None:
    """Return the operands that have channels; None if one has others, or blocks of another shape."""
    channels = shape_of(op.results[0])[1]
    alike: list[int] = []
    for i, value in enumerate(op.operands):
        shape = shape_of(value)
        if isinstance(value.owner, relex.ConstantOp) or not shape:
            continue
        if len(shape) != 4 or shape[1] != channels:
            return None
        alike.append(i)
    return alike


IN_BLOCKS.add(InBlocks(_elementwise, _all_like_the_result), relex.Elementwise)


def _concat(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    parts = [into_blocks(value, size) if rank_of(value) == 4 else () for value in operands]
    blocked = [part[-1].results[0] if part else value for part, value in zip(parts, operands, strict=True)]
    return [*chain.from_iterable(parts), relex.ConcatOp(*blocked, axis=1)]


def _along_channels(op: Operation) -> Sequence[int] | None:
    assert isinstance(op, relex.ConcatOp)
    constant = any(isinstance(value.owner, relex.ConstantOp) for value in op.operands)
    return None if constant or op.normal_axis != 1 else range(len(op.operands))


def _joins_whole_blocks(op: Operation, line: int) -> bool:
    """Return whether all operands are whole blocks, and a convolution to such blocks reads them."""
    readers = [use.operation for use in op.results[0].uses]
    across = [
        r for r in readers if isinstance(r, relex.Conv2dOp) and not _is_depthwise(r) and _of_convolution(r) is not None
    ]
    channels = [shape_of(value)[1] % line for value in op.operands]
    return not any(channels) and any(shape_of(r.result)[1] % line == 0 for r in across)


IN_BLOCKS.add(InBlocks(_concat, _along_channels, _joins_whole_blocks), relex.ConcatOp)


def _normalization(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    assert isinstance(op, relex.BatchNormOp)
    gamma, beta, mean, variance = (cast(Array, array_of(value)) for value in op.operands[1:])
    factor = gamma / np.sqrt(variance.astype(np.float64) + op.epsilon.value.data)
    addend = beta - mean * factor
    by_channel = (to_blocks(a.astype(gamma.dtype).reshape(1, -1, 1, 1), size) for a in (factor, addend))
    factors, addends = (relex.ConstantOp(np.ascontiguousarray(a)) for a in by_channel)
    product = relex.MultiplyOp(operands[0], factors.result)
    return [factors, addends, product, relex.AddOp(product, addends.result)]


def _of_constants(op: Operation) -> Sequence[int] | None:
    assert isinstance(op, relex.BatchNormOp)
    return (0,) if op.normal_axis == 1 and all(isinstance(v.owner, relex.ConstantOp) for v in op.operands[1:]) else None


IN_BLOCKS.add(InBlocks(_normalization, _of_constants), relex.BatchNormOp)


def _pool(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    """Pool in three dimensions, the last one the dimension of a block, with windows of one channel."""
    assert isinstance(op, relex.MaxPool2dOp | relex.AvgPool2dOp)
    windows = op.windows
    window = (*as_integers(op.pool_size), 1)
    padding = (*windows.before, 0, *windows.after, 0)
    strides, dilation = (*windows.strides, 1), (*windows.dilation, 1)
    if isinstance(op, relex.MaxPool2dOp):
        return [relex.MaxPool3dOp(operands[0], window, strides, padding, dilation, windows.ceil_mode)]
    counts = op.count_include_pad is not None
    return [relex.AvgPool3dOp(operands[0], window, strides, padding, dilation, windows.ceil_mode, counts)]


IN_BLOCKS.add(InBlocks(_pool, lambda op: (0,), slides=True), relex.MaxPool2dOp, relex.AvgPool2dOp)


def _mean(op: Operation, operands: Sequence[SSAValue], size: int) -> Sequence[Operation]:
    """Take the mean of each channel, which leaves the channels in order."""
    mean = relex.MeanOp(operands[0], (2, 3))
    n, channels = shape_of(op.operands[0])[:2]
    ops = [mean, *from_blocks(mean.result, (n, channels))]
    shape = shape_of(op.results[0])
    return ops if len(shape) == 2 else [*ops, _reshape(ops[-1].results[0], shape, {0: 0})]


def _over_places(op: Operation) -> Sequence[int] | None:
    assert isinstance(op, relex.MeanOp)
    return (0,) if op.axes == (2, 3) and rank_of(op.operand) == 4 else None


IN_BLOCKS.add(InBlocks(_mean, _over_places, leaves=True), relex.MeanOp)
