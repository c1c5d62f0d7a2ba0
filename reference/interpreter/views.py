"""Semantics of `memref` ops that make views: their results share the memory of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, MemRefType, NoneAttr
from xdsl.ir import Operation

from relex.dialects.arrays import Array
from relex.dialects.errors import name_of, stop
from relex.dialects.upstream.reshapes import groups_of
from relex.reference.interpreter.memory import Buffer, check_size
from relex.reference.interpreter.memref import buffer_type
from relex.reference.interpreter.program import STEPS, Preparation, Run, Values, shape_of
from relex.reference.interpreter.scalars import INDEX, dtype_of


def _numbers(static: DenseArrayBase[IntegerType], dynamic: Iterator[Any]) -> list[int]:
    """Return offsets, sizes or strides, some of which are operands of their op."""
    return [int(next(dynamic)) if number == DYNAMIC_INDEX else int(number) for number in static.get_values()]


def _view_rule(*kinds: type[Operation]) -> Callable[[Callable[[Any, Buffer, Iterator[Any]], Array]], Any]:
    """Decorate a function from an op, a buffer and further operands to a view of the buffer, which is checked against
    the type of the result."""

    def register(make: Callable[[Any, Buffer, Iterator[Any]], Array]) -> object:
        def prepare(op: Operation, preparation: Preparation) -> Run:
            buffer_type(op, op.operands[0])
            kind = buffer_type(op, op.results[0])

            def run(buffer: Buffer, *numbers: Any) -> Buffer:
                view = Buffer(make(op, buffer, iter(numbers)), buffer.memory, buffer.base)
                if not fits(view, kind):
                    stop(op, f"expected a buffer of type {kind}, found {describe(view)}")
                return view

            return run

        STEPS.add(prepare, *kinds)
        return make

    return register


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
    return 0 in shape or (in_step and offset in (None, buffer.offset // itemsize))


def describe(buffer: Buffer) -> str:
    """Format the sizes, strides and offset of a buffer."""
    itemsize = buffer.array.itemsize
    strides = [stride // itemsize for stride in buffer.array.strides]
    return f"sizes {list(buffer.array.shape)}, strides {strides}, offset {buffer.offset // itemsize}"


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


@_view_rule(memref.CastOp, memref.MemorySpaceCastOp, memref.AssumeAlignmentOp)
def view_as_it_is(op: Operation, buffer: Buffer, numbers: Iterator[Any]) -> Array:
    """View a buffer as another type, which must match."""
    return buffer.array


@_view_rule(memref.SubviewOp)
def view_part(op: memref.SubviewOp, buffer: Buffer, numbers: Iterator[Any]) -> Array:
    """View a strided part of a buffer, which must be in bounds."""
    array = buffer.array
    offsets, shape, steps = (_numbers(n, numbers) for n in (op.static_offsets, op.static_sizes, op.static_strides))
    check_size(op, tuple(shape))
    for dimension, (i, n, step, size) in enumerate(zip(offsets, shape, steps, array.shape, strict=True)):
        if n and not (0 <= i < size and 0 <= i + (n - 1) * step < size):
            found = f"{i}..{i + (n - 1) * step}"
            stop(op, f"expected index {dimension} of {name_of(op.source)} in 0..{size - 1}, found {found}")
    start = buffer.start + sum(i * stride for i, stride in zip(offsets, array.strides, strict=True))
    strides = [step * stride for step, stride in zip(steps, array.strides, strict=True)]
    return _without_ones(_in_memory(op, buffer, start, shape, strides, array.dtype), buffer, buffer_type(op, op.result))


def _without_ones(view: Array, buffer: Buffer, kind: MemRefType) -> Array:
    """Drop the unit dimensions of a view that the type of the result lacks."""
    ones = [d for d, size in enumerate(view.shape) if size == 1]
    for dropped in combinations(ones, max(view.ndim - kind.get_num_dims(), 0)):
        smaller = np.squeeze(view, dropped)
        if fits(Buffer(smaller, buffer.memory, buffer.base), kind):
            return smaller
    return view


@_view_rule(memref.ReinterpretCastOp)
def view_memory(op: memref.ReinterpretCastOp, buffer: Buffer, numbers: Iterator[Any]) -> Array:
    """View the memory of a buffer with another offset, sizes and strides."""
    dtype = buffer.array.dtype
    (offset,), shape, strides = (_numbers(n, numbers) for n in (op.static_offsets, op.static_sizes, op.static_strides))
    check_size(op, tuple(shape))
    start = buffer.base + offset * dtype.itemsize
    return _in_memory(op, buffer, start, shape, [n * dtype.itemsize for n in strides], dtype)


@_view_rule(memref.ExpandShapeOp)
def view_expanded(op: memref.ExpandShapeOp, buffer: Buffer, numbers: Iterator[Any]) -> Array:
    """View each dimension of a buffer as several."""
    shape, strides = _numbers(op.static_output_shape, numbers), list[int]()
    for group, size, stride in zip(groups_of(op), buffer.array.shape, buffer.array.strides, strict=True):
        if prod(parts := [shape[d] for d in group]) != size:
            stop(op, f"expected sizes of {size} elements together, found {parts}")
        strides += [prod(parts[i + 1 :]) * stride for i in range(len(parts))]
    return _in_memory(op, buffer, buffer.start, shape, strides, buffer.array.dtype)


@_view_rule(memref.CollapseShapeOp)
def view_collapsed(op: memref.CollapseShapeOp, buffer: Buffer, numbers: Iterator[Any]) -> Array:
    """View groups of dimensions of a buffer as one each."""
    array, groups = buffer.array, groups_of(op)
    sizes = [prod(array.shape[d] for d in group) for group in groups]
    strides = [_common_stride(op, array, group) for group in groups]
    return _in_memory(op, buffer, buffer.start, sizes, strides, array.dtype)


def _common_stride(op: Operation, array: Array, group: Sequence[int]) -> int:
    """Return the stride of a group of dimensions collapsed to one; stops at `op` if there are gaps between them."""
    wide = [d for d in group if array.shape[d] != 1]
    for outer, inner in pairwise(wide):
        if array.strides[outer] != array.shape[inner] * array.strides[inner] and array.size:
            stop(op, f"expected dimensions {list(group)} without gaps between them, found strides {array.strides}")
    return array.strides[(wide or group)[-1]]


@STEPS.rule(memref.ViewOp)
def interpret_view(op: memref.ViewOp, preparation: Preparation) -> Run:
    """View bytes of a buffer as elements of another type and shape."""
    kind = buffer_type(op, op.result)
    numbers, element = preparation.numbers, dtype_of(op, kind.element_type)

    def run(buffer: Buffer, shift: Any, *sizes: Any) -> Buffer:
        dtype = numbers.stored(element)
        shape = shape_of(op, kind, sizes)
        strides = [prod(shape[d + 1 :]) * dtype.itemsize for d in range(len(shape))]
        start = buffer.start + int(shift) * numbers.byte
        view = Buffer(_in_memory(op, buffer, start, shape, strides, dtype), buffer.memory)
        view.base = view.start
        return view

    return run


@STEPS.rule(memref.ExtractStridedMetaDataOp)
def interpret_extract_strided_metadata(op: memref.ExtractStridedMetaDataOp, preparation: Preparation) -> Run:
    """Return the base buffer, offset, sizes and strides of a buffer."""

    def run(buffer: Buffer) -> Values:
        array = buffer.array
        base = Buffer(_in_memory(op, buffer, buffer.base, (), (), array.dtype), buffer.memory, buffer.base)
        numbers = (buffer.offset // array.itemsize, *array.shape, *(s // array.itemsize for s in array.strides))
        return base, *map(INDEX.type, numbers)

    return run
