"""Numbers that lie between two others, in a wider precision than a program's own; integers that are known, or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, element_type_of, is_float_dtype, numpy_dtype
from relex.reference.equivalence.bounded import Format, where


@cache
def format_of(t: Attribute) -> Format:
    """Return the format of floats."""
    return Format.of(numpy_dtype(t))


@cache
def wide_dtype(fmt: Format) -> np.dtype[Any]:
    """Return the dtype in which numbers of a format are bounded. Twice its precision and more makes all but the last
    rounding harmless; there is none for f64, whose bounds are a little wider instead."""
    return np.dtype(np.float64 if 2 * fmt.precision + 2 <= 53 else np.longdouble)


def round_to(fmt: Format, x: Array) -> Array:
    """Round wide numbers to the nearest of a format, to the even one of two: by hand, not as NumPy does."""
    _, exponent = np.frexp(x)
    last = np.maximum(exponent - fmt.precision, int(np.log2(fmt.tiny)))
    rounded = np.ldexp(np.rint(np.ldexp(x, -last)), last)
    rounded = where(np.abs(rounded) > fmt.largest, np.copysign(np.inf, x), rounded)
    return where(np.isfinite(x) & (x != 0), rounded, x).astype(x.dtype)


@dataclass(frozen=True, eq=False)
class Reals:
    """Floats of a format. Each that is `known` lies between two numbers of the format, which are finite unless they are
    equal; is NaN if both are; and is a zero of either sign if they are -0 and 0."""

    fmt: Format
    low: Array
    high: Array
    known: Array

    @classmethod
    def of(cls, fmt: Format, array: Any) -> Reals:
        """Return numbers of a format that are known exactly."""
        wide = np.asarray(array).astype(wide_dtype(fmt))
        return cls(fmt, wide, wide, np.ones(wide.shape, np.bool_))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.known.shape

    @property
    def is_point(self) -> Array:
        """The elements of which every bit is known, but for NaN."""
        if self.low is self.high:
            return self.known
        same = (self.low == self.high) & (np.signbit(self.low) == np.signbit(self.high))
        return self.known & (same | np.isnan(self.low))

    def moved(self, move: Callable[[Array], Any]) -> Reals:
        """Return the array after each of its parts was moved in the same way."""
        low = np.asarray(move(self.low))
        high = low if self.low is self.high else np.asarray(move(self.high))
        return Reals(self.fmt, low, high, np.asarray(move(self.known)))

    def rounded_to(self, fmt: Format) -> Reals:
        """Return the numbers rounded to another format, or as they are in a larger one."""
        if fmt == self.fmt:
            return self
        return enclose(fmt, [x.astype(wide_dtype(fmt)) for x in self.ends], self.known)

    @property
    def ends(self) -> tuple[Array, ...]:
        """The two numbers that each element lies between, or one array if these are equal everywhere."""
        return (self.low,) if self.low is self.high else (self.low, self.high)

    def only(self, condition: Any) -> Reals:
        """Return the numbers, of which some are no longer known."""
        return Reals(self.fmt, self.low, self.high, self.known & condition)


def enclose(fmt: Format, found: Sequence[Any], known: Any, ulps: Any = 0.0) -> Reals:
    """Return numbers that lie between the smallest and the largest of those found in wide arithmetic, once they are
    rounded, and off by `ulps` units in the last place."""
    corners = np.broadcast_arrays(*found)
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = np.fmin(low, corner), np.fmax(high, corner)
    are_nan = [np.isnan(corner) for corner in corners]
    never, always = ~np.any(are_nan, axis=0), np.all(are_nan, axis=0)
    if len(corners) > 1:
        # A zero whose sign depends on the corner.
        signs = [np.signbit(corner) for corner in corners]
        either = (np.any(signs, axis=0) & ~np.all(signs, axis=0)) & (low == 0) & (high == 0)
        low, high = where(either, -0.0, low), where(either, 0.0, high)
    finite = where(np.isfinite(low) & np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    off = ulps * (2 * fmt.roundoff * finite + fmt.tiny)
    low, high = (_outward(fmt, x, s * off, s) for x, s in ((low, -1), (high, 1)))
    is_clear = always | (low == high) | (np.isfinite(low) & np.isfinite(high))
    same = (low == high) & (np.signbit(low) == np.signbit(high))
    is_point = np.all(same | always)
    return Reals(fmt, low, low if is_point else high, np.broadcast_to(known & is_clear & (never | always), low.shape))


def _outward(fmt: Format, x: Any, off: Any, side: int) -> Array:
    """Return a bound, off by the rounding of wide arithmetic and more, as a number of the format."""
    next_one = where(np.isfinite(x) & (x != 0), np.nextafter(x, x.dtype.type(side * np.inf)), x)
    # A sum with 0 has no sign that a zero may have.
    return round_to(fmt, np.asarray(where(off == 0, next_one, next_one + off), x.dtype))


@dataclass(frozen=True, eq=False)
class IntegerIntervals:
    """Integers of an element type, as Python's, each known or not; i1 has 0 and 1."""

    t: Attribute
    value: Array
    known: Array

    @classmethod
    def of(cls, t: Attribute, array: Any) -> IntegerIntervals:
        """Return integers that are known."""
        value = objects(array)
        return cls(t, value, np.ones(value.shape, np.bool_))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.known.shape

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest integer of the type."""
        bits, signed = width_of(self.t)
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def moved(self, move: Callable[[Array], Any]) -> IntegerIntervals:
        """Return the array after it was moved."""
        return IntegerIntervals(self.t, objects(move(self.value)), np.asarray(move(self.known)))

    def only(self, condition: Any) -> IntegerIntervals:
        """Return the integers, of which some are no longer known."""
        return IntegerIntervals(self.t, self.value, self.known & condition)


def stacked(*x: Reals) -> Reals:
    """Return floats along a new last dimension."""
    fields = zip(*((part.low, part.high, part.known) for part in x), strict=True)
    low, high, known = (np.stack(np.broadcast_arrays(*field), axis=-1) for field in fields)
    return Reals(x[0].fmt, low, high, known)


Value = Reals | IntegerIntervals
"""The elements of an array, as far as they are known."""


def all_known(operands: Sequence[Value]) -> Any:
    """Return where elementwise functions of arrays are known: where all of these are."""
    return reduce(np.logical_and, [x.known for x in operands])


def objects(array: Any) -> Array:
    """Return Python's integers."""
    array = np.asarray(array)
    return np.asarray(array.astype(np.int64) if array.dtype == np.bool_ else array, object)


def width_of(t: Attribute) -> tuple[int, bool]:
    """Return how many bits integers have, and whether one is a sign."""
    assert isa(t, IntegerType)
    bits = t.width.data
    return bits, bits > 1 and t.signedness.data != Signedness.UNSIGNED


def wrapped(t: Attribute, value: Any, known: Any) -> IntegerIntervals:
    """Return integers that wrap around in their type."""
    bits, signed = width_of(t)
    value = objects(objects(value) & ((1 << bits) - 1))
    if signed:
        value = objects(value - (objects(value >> (bits - 1)) << bits))
    return IntegerIntervals(t, value, np.broadcast_to(known, value.shape))


def booleans(value: Any, known: Any) -> IntegerIntervals:
    """Return truth values."""
    value = objects(np.asarray(value, np.bool_))
    return IntegerIntervals(IntegerType(1), value, np.broadcast_to(known, value.shape))


def value_of(t: Attribute, array: Array) -> Value | None:
    """Return an array of an element type as known numbers; None for types without arithmetic."""
    if t in FLOATS:
        return Reals.of(format_of(t), array)
    if isa(t, IntegerType) and not is_float_dtype(array.dtype):
        return IntegerIntervals.of(t, array if array.dtype.kind in "biu" else array.astype(np.int64))
    return None


@cache
def cell_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the cells of numbers of a dtype."""
    if not is_float_dtype(dtype):
        return np.dtype([("value", dtype), ("known", np.bool_)])
    wide = wide_dtype(Format.of(dtype))
    return np.dtype([("low", wide), ("high", wide), ("known", np.bool_)])


def cells_of(value: Value, dtype: np.dtype[Any]) -> Array:
    """Return what is known about numbers of a dtype as cells."""
    cells = np.empty(value.shape, cell_dtype(dtype))
    if isinstance(value, Reals):
        cells["low"], cells["high"] = value.low, value.high
    else:
        cells["value"] = value.value
    cells["known"] = value.known
    return cells


def known_of(cells: Array, dtype: np.dtype[Any]) -> Value:
    """Return what is known about numbers of a dtype, from their cells."""
    cells = np.asarray(cells)
    if not is_float_dtype(dtype):
        return IntegerIntervals(element_type_of(dtype), objects(cells["value"]), cells["known"])
    low, high = cells["low"], cells["high"]
    same = (low == high) & (np.signbit(low) == np.signbit(high)) | (np.isnan(low) & np.isnan(high))
    return Reals(Format.of(dtype), low, low if np.all(same) else high, cells["known"])
