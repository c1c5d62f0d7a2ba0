"""Formulas of operators that move elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.elementwise import element_type
from relex.reference.intervals.formulas import FORMULAS, as_list, axes_of, constant, given, moved, stacked
from relex.reference.intervals.numbers import Integers, Reals, Value, format_of, round_to, wide_dtype, wrapped


@FORMULAS.rule(relex.PermuteDimsOp)
def permute_dims(op: Operation, x: Any) -> Value:
    """Other dimensions first."""
    rank = len(x.shape)
    order = axes_of(op, "axes", rank) if "axes" in op.properties else list(range(rank))[::-1]

    def permuted(a: Array) -> Array:
        result = np.empty([a.shape[axis] for axis in order], a.dtype)
        for at in np.ndindex(a.shape):
            result[tuple(at[axis] for axis in order)] = a[at]
        return result

    return moved(x, permuted)


@FORMULAS.rule(relex.ReshapeOp, relex.ExpandDimsOp, relex.SqueezeOp)
def reshape(op: Operation, x: Any, *like: Any, shape: tuple[int, ...]) -> Value:
    """The same elements in the same order."""
    return moved(x, lambda a: np.array(list(a.flat), a.dtype).reshape(shape))


@FORMULAS.rule(relex.BroadcastToOp)
def broadcast_to(op: Operation, x: Any, *like: Any, shape: tuple[int, ...]) -> Value:
    """The elements, repeated along dimensions of size 1 and along more of them."""
    return moved(x, lambda a: np.broadcast_to(a, shape))


@FORMULAS.rule(relex.ConcatOp)
def concat(op: Operation, *operands: Any) -> Value:
    """One array after the other along a dimension."""
    axis = given(op, "axis", 0) % len(operands[0].shape)

    def combined(parts: Any) -> Array:
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        result, start = np.empty(shape, parts[0].dtype), 0
        for part in parts:
            np.moveaxis(result, axis, 0)[start : start + part.shape[axis]] = np.moveaxis(part, axis, 0)
            start += part.shape[axis]
        return result

    return stacked(operands, combined)


@FORMULAS.rule(relex.StridedSliceOp)
def strided_slice(op: Operation, x: Any, *like: Any) -> Value | None:
    """Some of the places along some dimensions, in steps."""
    if "begin_sizes" in op.properties or "end_sizes" in op.properties:
        return None
    axes, begin, end = (as_list(given(op, name)) for name in ("axes", "begin", "end"))
    strides = as_list(given(op, "strides", [1] * len(axes)))
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        axis %= len(x.shape)
        places = _places(x.shape[axis], first, last, step)
        x = moved(x, lambda a, axis=axis, places=places: np.take(a, np.asarray(places, np.int64), axis))
    return x


def _places(size: int, first: int, last: int, step: int) -> list[int]:
    """Return the places of a slice, as Python's: negative ends count from the end, all are clipped."""
    first, last = (n + size if n < 0 else n for n in (first, last))
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    return list(range(min(max(first, lowest), highest), min(max(last, lowest), highest), step))


@FORMULAS.rule(relex.TakeOp)
def take(op: Operation, x: Any, indices: Integers) -> Value:
    """The elements at places along a dimension, clipped to those that there are."""
    axis = given(op, "axis", 0) % len(x.shape)
    size = x.shape[axis]
    if not size:
        return moved(x, lambda a: np.zeros((*a.shape[:axis], *indices.shape, *a.shape[axis + 1 :]), a.dtype))
    places = np.asarray(np.clip(indices.value, 0, size - 1), np.int64)
    rest = (1,) * (len(x.shape) - axis - 1)
    return moved(x, lambda a: np.take(a, places, axis)).only(indices.known.reshape([*indices.shape, *rest]))


@FORMULAS.rule(relex.PadOp)
def pad(op: Operation, x: Any) -> Value:
    """The elements among others."""
    rank = len(x.shape)
    widths = as_list(given(op, "pad_width"))
    before, after = widths[::2], widths[1::2]
    shape = [b + n + a for b, n, a in zip(before, x.shape, after, strict=True)]

    def combined(parts: Any) -> Array:
        result = np.empty(shape, parts[0].dtype)
        result[...] = parts[1]
        result[tuple(slice(b, b + n) for b, n in zip(before, x.shape, strict=True)) if rank else ()] = parts[0]
        return result

    return stacked([x, constant(x, given(op, "pad_value", 0))], combined)


@FORMULAS.rule(relex.IotaOp)
def iota(op: Operation, *like: Any, shape: tuple[int, ...]) -> Value:
    """The place of each element along a dimension."""
    places = np.indices(shape)[given(op, "axis", 0) % len(shape)] if shape else np.zeros(())
    t = element_type(op)
    if t in FLOATS:
        fmt = format_of(t)
        return Reals.of(fmt, round_to(fmt, places.astype(wide_dtype(fmt))))
    assert isa(t, IntegerType)
    return wrapped(t, places.astype(np.int64), np.True_)


@FORMULAS.rule(relex.GatherElementsOp)
def gather_elements(op: Operation, x: Any, indices: Integers) -> Value:
    """The element at the same place, but at an index along a dimension."""
    axis = given(op, "axis", 0) % len(x.shape)

    def source(at: tuple[int, ...]) -> tuple[int, ...]:
        return (*at[:axis], _clipped(indices.value[at], x.shape[axis]), *at[axis + 1 :])

    return moved(x, lambda a: _made(indices.shape, a, source)).only(indices.known)


@FORMULAS.rule(relex.GatherNdOp)
def gather_nd(op: Operation, x: Any, indices: Integers) -> Value:
    """The parts at lists of indices."""
    batch, depth = given(op, "batch_dims", 0), indices.shape[-1]
    lead = len(indices.shape) - 1
    rest = x.shape[batch + depth :]
    sizes: tuple[int, ...] = x.shape[batch:]

    def source(at: tuple[int, ...]) -> tuple[int, ...]:
        own = indices.value[at[:lead]]
        found = tuple(_clipped(own[d], sizes[d]) for d in range(depth))
        return (*at[:batch], *found, *at[lead:])

    known = np.all(indices.known, axis=-1).reshape([*indices.shape[:-1], *[1] * len(rest)])
    return moved(x, lambda a: _made((*indices.shape[:-1], *rest), a, source)).only(known)


def _clipped(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size - 1)


def _made(shape: tuple[int, ...], a: Array, source: Any) -> Array:
    result = np.zeros(shape, a.dtype)
    for at in np.ndindex(*shape):
        result[at] = a[source(at)]
    return result


@FORMULAS.rule(relex.ScatterElementsOp)
def scatter_elements(op: Operation, x: Any, indices: Integers, updates: Any) -> Value:
    """The data with each update at an index along a dimension."""
    axis = given(op, "axis", 0) % len(x.shape)
    values: Any = indices.value
    places = [
        (at, (*at[:axis], _from_end(values[at], x.shape[axis]), *at[axis + 1 :])) for at in np.ndindex(*indices.shape)
    ]
    return _scattered(op, x, updates, places).only(bool(np.all(indices.known)))


@FORMULAS.rule(relex.ScatterNdOp)
def scatter_nd(op: Operation, x: Any, indices: Integers, updates: Any) -> Value:
    """The data with each part of the updates at a list of indices."""
    depth, lead = indices.shape[-1], len(indices.shape) - 1
    values: Any = indices.value
    places = [
        (at, (*(_from_end(values[(*at[:lead], d)], x.shape[d]) for d in range(depth)), *at[lead:]))
        for at in np.ndindex(*updates.shape)
    ]
    return _scattered(op, x, updates, places).only(bool(np.all(indices.known)))


def _from_end(index: int, size: int) -> int | None:
    found = index + size if index < 0 else index
    return found if 0 <= found < size else None


def _scattered(op: Operation, x: Any, updates: Any, places: Any) -> Any:
    """Return data with updates, one after the other; those at no place have no effect."""
    reduction = given(op, "reduction", "update")
    targets: dict[Any, list[Any]] = {}
    for source, target in places:
        if None not in target:
            targets.setdefault(target, []).append(source)
    result = x
    for target, sources in targets.items():
        element = moved(result, lambda a, t=target: a[t])
        for source in sources:
            update = moved(updates, lambda a, s=source: a[s])
            element = update if reduction == "update" else _combined(reduction, element, update)
        result = stacked([result, element], lambda parts, t=target: _with(parts[0], t, parts[1]))
    return result


_COMBINING: dict[str, tuple[Callable[..., Reals], np.ufunc]] = {
    "add": (real.add, np.add),
    "mul": (real.multiply, np.multiply),
    "max": (real.larger, np.maximum),
    "min": (real.smaller, np.minimum),
}
"""Functions of floats and of integers."""


def _combined(reduction: str, a: Any, b: Any) -> Any:
    on_floats, on_integers = _COMBINING[reduction]
    if isinstance(a, Reals):
        found = on_floats(a, b)
        # In any order.
        return real.loosened(found, 1) if reduction in ("add", "mul") else found
    if reduction == "add" and a.limits == (0, 1):
        on_integers = np.maximum
    return wrapped(a.t, on_integers(a.value, b.value), a.known & b.known)


def _with(array: Array, place: tuple[int, ...], value: Any) -> Array:
    result = array.copy()
    result[place] = value[()]  # An object, not an array of one.
    return result
