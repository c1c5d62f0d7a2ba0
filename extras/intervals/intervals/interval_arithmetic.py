"""Interval arithmetic: the results that a correct implementation may return."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.reference.equivalence.bounded import Format, quantum_of, where
from relex.reference.equivalence.spread_rules import FUNCTION_ULPS
from relex.reference.intervals.numbers import Reals, all_known, enclose

ULPS = FUNCTION_ULPS / 2
"""The largest error of a function of a library, in units in the last place."""


def apply(function: Callable[..., Any], *operands: Reals, ulps: Any = 0.0) -> Reals:
    """Return a function of numbers that is monotonic in each of them."""
    found = [function(*corner) for corner in product(*(x.ends for x in operands))]
    return enclose(operands[0].fmt, found, all_known(operands), ulps)


def add(a: Reals, b: Reals) -> Reals:
    """Return sums, each rounded."""
    return apply(np.add, a, b)


def subtract(a: Reals, b: Reals) -> Reals:
    """Return differences."""
    return apply(np.subtract, a, b)


def multiply(a: Reals, b: Reals) -> Reals:
    """Return products."""
    return apply(np.multiply, a, b)


def divide(a: Reals, b: Reals) -> Reals:
    """Return quotients; nothing is known of one whose divisor may have either sign."""
    return apply(np.divide, a, b).only(b.is_point | (b.low > 0) | (b.high < 0) | ~b.known)


def loosened(x: Reals, ulps: float) -> Reals:
    """Return numbers that may be off by `ulps` units in the last place, as where a formula has several forms."""
    return enclose(x.fmt, x.ends, x.known, where(np.isfinite(x.low) & (x.low != 0), ulps, 0.0))


def library(function: Callable[[Array], Any], x: Reals, ulps: float = ULPS) -> Reals:
    """Return a monotonic function from any library; zeros, infinities and what it gives for these are exact."""
    return apply(function, x, ulps=where(_is_special(x), 0.0, ulps))


def _is_special(x: Reals) -> Array:
    """Return which numbers are known to be zero, infinite or NaN."""
    return x.is_point & ((x.low == 0) | ~np.isfinite(x.low))


def steady(function: Callable[[Array], Any], x: Reals) -> Reals:
    """Return a function from any library whose slope is at most 1."""
    middle = where(x.is_point, x.low, x.low / 2 + x.high / 2)
    radius = where(x.is_point, 0.0, x.high - x.low)
    found = function(middle)
    ends = [found - radius, found + radius] if np.any(radius) else [found]
    return enclose(x.fmt, ends, x.known, where(_is_special(x), 0.0, ULPS))


def even(function: Callable[[Array], Any], x: Reals, ulps: float) -> Reals:
    """Return a function that grows with the absolute value."""
    low, high = np.abs(x.low), np.abs(x.high)
    straddles = (x.low < 0) & (x.high > 0)
    least = where(straddles, 0.0, np.minimum(low, high))
    size = replace(x, low=low, high=low) if x.low is x.high else replace(x, low=least, high=np.maximum(low, high))
    return apply(function, size, ulps=where(np.isfinite(x.low) & (x.low != 0), ulps, 0.0))


def tangent(x: Reals) -> Reals:
    """Return the tangent, where no pole may lie between the two numbers."""
    branches = [np.floor(end / np.pi + 0.5) for end in (x.low, x.high)]
    return library(np.tan, x).only(x.is_point | (branches[0] == branches[1]))


def power(a: Reals, b: Reals) -> Reals:
    """Return powers; of a number whose sign is not known, nothing is."""
    exact = _is_special(a) | (a.is_point & (a.low == 1)) | _is_special(b)
    found = apply(np.power, a, b, ulps=where(exact, 0.0, ULPS))
    return found.only((a.is_point & b.is_point) | (a.low > 0) | ~found.known)


def error_function(x: Array) -> Array:
    """Return the error function to the precision of f64."""
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)).astype(x.dtype)


def erf(x: Reals) -> Reals:
    """Return the error function."""
    return library(error_function, x, ULPS + 2)


def larger(a: Reals, b: Reals) -> Reals:
    """Return maxima; NaN where there is one."""
    return _chosen(np.maximum, a, b)


def smaller(a: Reals, b: Reals) -> Reals:
    """Return minima; NaN where there is one."""
    return _chosen(np.minimum, a, b)


def _chosen(function: Callable[..., Any], a: Reals, b: Reals) -> Reals:
    low = function(a.low, b.low)
    high = low if a.low is a.high and b.low is b.high else function(a.high, b.high)
    return _without_sign_of_zero(Reals(a.fmt, low, high, a.known & b.known), (a, b))


def _without_sign_of_zero(x: Reals, operands: Sequence[Reals]) -> Reals:
    """Return numbers in which zeros may have either sign, unless all zeros that they come from have one."""
    zeros = (x.low == 0) & (x.high == 0)
    if not np.any(zeros):
        return x
    signs = [np.signbit(end[end == 0]) for operand in operands for end in operand.ends]
    found = np.concatenate(signs)
    if found.size and (found.all() or not found.any()):
        return x
    return replace(
        x, low=where(zeros, -0.0, x.low).astype(x.low.dtype), high=where(zeros, 0.0, x.high).astype(x.low.dtype)
    )


def extreme(x: Reals, *, largest: bool) -> Reals:
    """Return the maximum, or the minimum, along the last dimension."""
    ufunc = np.maximum if largest else np.minimum
    start = -np.inf if largest else np.inf
    ends = [np.asarray(ufunc.reduce(end, axis=-1, initial=start)) for end in x.ends]
    low, high = ends[0], ends[-1]
    return _without_sign_of_zero(Reals(x.fmt, low, high, np.asarray(np.all(x.known, axis=-1))), (x,))


def contracted(a: Reals, b: Reals) -> Reals:
    """Return products, each rounded or not. Of products that overflow, nothing is known."""
    rounded = multiply(a, b)
    corners = [p * q for p, q in product(a.ends, b.ends)]
    bits = np.finfo(corners[0].dtype).nmant + 1
    # Wide products of f64 are rounded, too.
    is_exact = a.is_point & b.is_point & (np.abs(corners[0]) <= quantum_of(a.low) * quantum_of(b.low) * 2.0**bits)
    exact = is_exact | (2 * a.fmt.precision <= bits)
    lows = [where(exact, c, np.nextafter(c, c.dtype.type(-np.inf))) for c in corners]
    highs = [where(exact, c, np.nextafter(c, c.dtype.type(np.inf))) for c in corners]
    low: Any = reduce(np.fmin, lows, rounded.low)
    high: Any = reduce(np.fmax, highs, rounded.high)
    is_exact_end = (rounded.low == rounded.high) & ((rounded.low == 0) | np.isinf(corners[0]))
    low, high = (where(is_exact_end, r, x) for r, x in ((rounded.low, low), (rounded.high, high)))
    fits = np.isnan(rounded.low) | (np.isfinite(rounded.low) == np.isfinite(corners[0]))
    return Reals(a.fmt, low, high, rounded.known & fits)


def total(x: Reals) -> Reals:
    """Return the sum along the last dimension, in any order."""
    # Zeros of either sign change no sum.
    is_exact = x.is_point | (x.known & (x.low == 0) & (x.high == 0))
    return _sum(x.fmt, x.ends, x.known, where(is_exact, quantum_of(x.low), 0.0))


def _sum(fmt: Format, ends: Sequence[Array], known: Any, quanta: Any) -> Reals:
    """Return sums of terms between two ends. One of K terms is off by K + 2 roundings of the sum of absolute values, as
    relex promises, and by none if all partial sums are multiples of one number, and small enough to be represented."""
    low, high = ends[0], ends[-1]
    count = low.shape[-1]
    known = np.all(np.broadcast_to(known, low.shape), axis=-1)
    is_finite = np.isfinite(low) & np.isfinite(high)
    sizes = where(is_finite, np.maximum(np.abs(low), np.abs(high)), 0.0)
    mass = np.sum(sizes, axis=-1)
    quantum = np.min(np.broadcast_to(quanta, low.shape), axis=-1, initial=np.inf)
    is_exact = (mass <= quantum * 2.0**fmt.precision) & (quantum >= fmt.tiny)
    # The roundings of wide arithmetic are small beside the roundings of the program.
    slack = 1 + 2 * float(np.finfo(low.dtype).eps) / fmt.roundoff
    off = where(is_exact, 0.0, slack * (count + 2) * fmt.roundoff * mass + count * fmt.tiny)
    sums = [np.sum(where(is_finite, end, 0.0), axis=-1) for end in (low, high)]
    is_zero = is_exact & (sums[0] == 0) & (sums[1] == 0) & (count > 0)
    first, last = where(is_zero, -0.0, sums[0] - off), where(is_zero, 0.0, sums[1] + off)
    # Infinite or NaN in any order, because a term is.
    special = np.sum(where(is_finite, 0.0, low + high), axis=-1)
    is_special = ~np.all(is_finite, axis=-1)
    is_nan, is_infinite = is_special & np.isnan(special), is_special & np.isinf(special)
    certain = np.all(is_finite | (low == high) | (np.isnan(low) & np.isnan(high)), axis=-1)
    fits = is_nan | (mass + off < fmt.largest)
    first, last = (where(is_nan, np.nan, where(is_infinite, special, end)) for end in (first, last))
    ends = [np.asarray(end, low.dtype) for end in (first, last)]
    return enclose(fmt, ends, known & certain & fits)


def multiplied(x: Reals) -> Reals:
    """Return the product along the last dimension, in any order."""
    ones = where(x.is_point & np.isfinite(x.low) & (x.low != 0), np.abs(x.low), 1.0)
    # No partial product may overflow or vanish.
    bits = np.sum(np.abs(np.log2(ones)), axis=-1)
    whole = np.all(x.is_point & (np.rint(x.low) == x.low) & np.isfinite(x.low), axis=-1)
    found = np.prod(x.low, axis=-1)
    is_exact = (whole & (bits < x.fmt.precision)) | (found == 0)
    is_safe = np.all(x.is_point, axis=-1) & (bits < -np.log2(x.fmt.tiny) - 2 * x.fmt.precision)
    return enclose(x.fmt, [found], is_safe, where(is_exact, 0.0, float(x.shape[-1])))
