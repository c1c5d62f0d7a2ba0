"""Semantics of `memref` ops that make views: their results share the memory of the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import name_of, stop
from relex.reference.interpreter.memory import Buffer, check_size
from relex.reference.interpreter.memref import buffer_type
from relex.reference.interpreter.program import STEPS, Frame, Preparation, Step, shape_of
from relex.reference.interpreter.scalars import INDEX, dtype_of

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

Numbers = list[int]


def _numbers(
    static: Sequence[int], dynamic: Sequence[SSAValue], preparation: Preparation
) -> Callable[[Frame], Numbers]:
    """Return a function that reads offsets, sizes or strides from a frame."""
    slots = preparation.slots(dynamic)

    def find(frame: Frame) -> Numbers:
        values = iter(slots)
        return [int(frame[next(values)]) if number == DYNAMIC_INDEX else number for number in static]

    return find


def _view_step(
    op: Operation, source: SSAValue, result: SSAValue, preparation: Preparation, make: Callable[[Frame, Buffer], Array]
) -> Step:
    """Return a step that makes a view of a buffer, and checks it against the type of the result."""
    buffer_type(op, source)
    kind = buffer_type(op, result)
    old, new = preparation.slot(source), preparation.slot(result)

    def step(frame: Frame) -> None:
        view = Buffer(make(frame, frame[old]), frame[old].memory)
        if not fits(view, kind):
            stop(op, f"expected a buffer of type {kind}, found {describe(view)}")
        frame[new] = view

    return step


def fits(buffer: Buffer, kind: MemRefType) -> bool:
    """Return whether a buffer has the sizes, strides and offset of a type."""
    shape, itemsize = buffer.array.shape, buffer.array.itemsize
    expected = kind.get_shape()
    if len(shape) != len(expected) or any(e not in (DYNAMIC_INDEX, n) for e, n in zip(expected, shape, strict=True)):
        return False
    if isinstance(kind.layout, NoneAttr):
        strides: Sequence[int | None] = [prod(shape[d + 1 :]) for d in range(len(shape))]
        offset: int | None = 0
    else:
        strides, offset = kind.get_strides() or (), kind.get_offset()
    found = zip(shape, strides, buffer.array.strides, strict=True)
    in_step = all(n == 1 or stride in (None, found // itemsize) for n, stride, found in found)
    return 0 in shape or (in_step and offset in (None, buffer.start // itemsize))


def describe(buffer: Buffer) -> str:
    """Format the sizes, strides and offset of a buffer."""
    itemsize = buffer.array.itemsize
    strides = [stride // itemsize for stride in buffer.array.strides]
    return f"sizes {list(buffer.array.shape)}, strides {strides}, offset {buffer.start // itemsize}"


def _in_memory(
    op: Operation, buffer: Buffer, start: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]
) -> Array:
    """Return an array in the memory of a buffer, from a byte offset on. Stops at `op` if it is out of bounds."""
    memory = buffer.memory.array
    spans = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    first, last = start + sum(min(span, 0) for span in spans), start + sum(max(span, 0) for span in spans)
    if 0 in shape:
        return np.lib.stride_tricks.as_strided(memory.reshape(-1)[:0].view(dtype), shape, strides)
    if first < 0 or last + dtype.itemsize > memory.nbytes:
        size = memory.nbytes // dtype.itemsize
        found = f"{first // dtype.itemsize}..{last // dtype.itemsize}"
        stop(op, f"expected a view of the {size} elements in the memory of {name_of(op.operands[0])}, found {found}")
    whole = memory.reshape(-1)[:1].view(np.uint8)
    base = np.lib.stride_tricks.as_strided(whole, (memory.nbytes,), (1,), writeable=memory.flags.writeable)
    return np.ndarray(tuple(shape), dtype, base, start, tuple(strides))


@STEPS.rule(memref.CastOp, memref.MemorySpaceCastOp)
def interpret_cast(op: memref.CastOp | memref.MemorySpaceCastOp, preparation: Preparation) -> Step:
    """View a buffer as another type, which must match."""
    return _view_step(op, op.source, op.dest, preparation, lambda frame, buffer: buffer.array)


@STEPS.rule(memref.AssumeAlignmentOp)
def interpret_assume_alignment(op: memref.AssumeAlignmentOp, preparation: Preparation) -> Step:
    """Forward a buffer."""
    return _view_step(op, op.memref, op.result, preparation, lambda frame, buffer: buffer.array)


@STEPS.rule(memref.SubviewOp)
def interpret_subview(op: memref.SubviewOp, preparation: Preparation) -> Step:
    """View a strided part of a buffer, which must be in bounds."""
    offsets = _numbers(op.static_offsets.get_values(), op.offsets, preparation)
    sizes = _numbers(op.static_sizes.get_values(), op.sizes, preparation)
    steps = _numbers(op.static_strides.get_values(), op.strides, preparation)
    kind = buffer_type(op, op.result)

    def make(frame: Frame, buffer: Buffer) -> Array:
        array = buffer.array
        start = buffer.start + sum(i * stride for i, stride in zip(offsets(frame), array.strides, strict=True))
        strides = [step * stride for step, stride in zip(steps(frame), array.strides, strict=True)]
        shape = sizes(frame)
        check_size(op, tuple(shape))
        cuts = zip(offsets(frame), shape, steps(frame), array.shape, strict=True)
        for dimension, (i, n, step, size) in enumerate(cuts):
            if n and not (0 <= i < size and 0 <= i + (n - 1) * step < size):
                found = f"{i}..{i + (n - 1) * step}"
                stop(op, f"expected index {dimension} of {name_of(op.source)} in 0..{size - 1}, found {found}")
        view = _in_memory(op, buffer, start, shape, strides, array.dtype)
        return _without_ones(view, buffer, kind)

    return _view_step(op, op.source, op.result, preparation, make)


def _without_ones(view: Array, buffer: Buffer, kind: MemRefType) -> Array:
    """Drop the unit dimensions of a view that the type of the result lacks."""
    ones = [d for d, size in enumerate(view.shape) if size == 1]
    for dropped in combinations(ones, max(view.ndim - kind.get_num_dims(), 0)):
        smaller = np.squeeze(view, dropped)
        if fits(Buffer(smaller, buffer.memory), kind):
            return smaller
    return view


@STEPS.rule(memref.ReinterpretCastOp)
def interpret_reinterpret_cast(op: memref.ReinterpretCastOp, preparation: Preparation) -> Step:
    """View the memory of a buffer with another offset, sizes and strides."""
    offsets = _numbers(op.static_offsets.get_values(), op.offsets, preparation)
    sizes = _numbers(op.static_sizes.get_values(), op.sizes, preparation)
    strides = _numbers(op.static_strides.get_values(), op.strides, preparation)

    def make(frame: Frame, buffer: Buffer) -> Array:
        dtype = buffer.array.dtype
        (offset,), shape = offsets(frame), sizes(frame)
        check_size(op, tuple(shape))
        steps = [stride * dtype.itemsize for stride in strides(frame)]
        return _in_memory(op, buffer, offset * dtype.itemsize, shape, steps, dtype)

    return _view_step(op, op.source, op.result, preparation, make)


def _groups(op: memref.AlterShapeOperation) -> list[list[int]]:
    """Return the dimensions that each dimension of the smaller shape stands for."""
    return [[dim.value.data for dim in group] for group in op.reassociation if isa(group, ArrayAttr[IntegerAttr])]


@STEPS.rule(memref.ExpandShapeOp)
def interpret_expand_shape(op: memref.ExpandShapeOp, preparation: Preparation) -> Step:
    """View each dimension of a buffer as several."""
    sizes = _numbers(op.static_output_shape.get_values(), op.output_shape, preparation)
    groups = _groups(op)

    def make(frame: Frame, buffer: Buffer) -> Array:
        shape, strides = sizes(frame), list[int]()
        for group, size, stride in zip(groups, buffer.array.shape, buffer.array.strides, strict=True):
            if prod(parts := [shape[d] for d in group]) != size:
                stop(op, f"expected sizes of {size} elements together, found {parts}")
            strides += [prod(parts[i + 1 :]) * stride for i in range(len(parts))]
        return _in_memory(op, buffer, buffer.start, shape, strides, buffer.array.dtype)

    return _view_step(op, op.src, op.result, preparation, make)


@STEPS.rule(memref.CollapseShapeOp)
def interpret_collapse_shape(op: memref.CollapseShapeOp, preparation: Preparation) -> Step:
    """View groups of dimensions of a buffer as one each."""
    groups = _groups(op)

    def make(frame: Frame, buffer: Buffer) -> Array:
        array = buffer.array
        sizes = [prod(array.shape[d] for d in group) for group in groups]
        strides = [_common_stride(op, array, group) for group in groups]
        return _in_memory(op, buffer, buffer.start, sizes, strides, array.dtype)

    return _view_step(op, op.src, op.result, preparation, make)


def _common_stride(op: Operation, array: Array, group: Sequence[int]) -> int:
    """Return the stride of a group of dimensions collapsed to one; stops at `op` if there are gaps between them."""
    wide = [d for d in group if array.shape[d] != 1]
    for outer, inner in pairwise(wide):
        if array.strides[outer] != array.shape[inner] * array.strides[inner] and array.size:
            stop(op, f"expected dimensions {list(group)} without gaps between them, found strides {array.strides}")
    return array.strides[(wide or group)[-1]]


@STEPS.rule(memref.ViewOp)
def interpret_view(op: memref.ViewOp, preparation: Preparation) -> Step:
    """View bytes of a buffer as elements of another type and shape."""
    shift, sizes = preparation.slot(op.byte_shift), preparation.slots(op.sizes)
    kind = buffer_type(op, op.result)
    dtype = dtype_of(op, kind.element_type)
    old, new = preparation.slot(op.source), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        buffer = frame[old]
        shape = shape_of(kind, [frame[slot] for slot in sizes])
        check_size(op, shape)
        strides = [prod(shape[d + 1 :]) * dtype.itemsize for d in range(len(shape))]
        start = buffer.start + int(frame[shift])
        frame[new] = Buffer(_in_memory(op, buffer, start, shape, strides, dtype), buffer.memory)

    return step


@STEPS.rule(memref.ExtractStridedMetaDataOp)
def interpret_extract_strided_metadata(op: memref.ExtractStridedMetaDataOp, preparation: Preparation) -> Step:
    """Return the base buffer, offset, sizes and strides of a buffer."""
    source, results = preparation.slot(op.source), preparation.slots(op.results)

    def step(frame: Frame) -> None:
        buffer = frame[source]
        array = buffer.array
        base = Buffer(_in_memory(op, buffer, 0, (), (), array.dtype), buffer.memory)
        numbers = [buffer.start // array.itemsize, *array.shape, *(s // array.itemsize for s in array.strides)]
        for slot, value in zip(results, [base, *map(INDEX.type, numbers)], strict=True):
            frame[slot] = value

    return step
