"""Comparison of outcomes, up to the spread of their results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype
from relex.passes.rewriting.numerics import Numerics, exact
from relex.reference.equivalence.execution import Call, CallOutcome
from relex.reference.equivalence.interface import Interface


@dataclass(frozen=True)
class Mismatch:
    """An element, or a call as a whole, that is not as expected."""

    place: str
    """`result[0, 1]`; empty for the call as a whole."""
    expected: str
    found: str

    def __str__(self) -> str:
        where = f" for {self.place}" if self.place else ""
        return f"expected {self.expected}{where}, found {self.found}"


def is_same(expected: CallOutcome, found: CallOutcome) -> bool:
    """Return whether two outcomes are equal bit by bit; all NaNs are equal."""
    return (
        expected.error is None
        and found.error is None
        and len(expected.results) == len(found.results)
        and all(
            a.dtype == b.dtype and a.shape == b.shape and not np.any(find_unequal(a, b))
            for a, b in zip(expected.results, found.results, strict=True)
        )
    )


def find_mismatch(
    expected: CallOutcome,
    found: CallOutcome,
    spreads: Sequence[Array] | None,
    interface: Interface,
    numerics: Numerics = exact,
) -> Mismatch | None:
    """Return the first element that differs by more than its spread, or without `spreads` at all, and by more than
    `numerics` allow; None if there is none.

    `expected` is the outcome of a call that did not stop.
    """
    if found.error is not None:
        return Mismatch("", "a result", f"that the run stops: {found.error}")
    specs = (*interface.outputs, *interface.written)
    names = [spec.name for spec in interface.outputs] + [f"%{spec.name}" for spec in interface.written]
    for i, (a, b) in enumerate(zip(expected.results, found.results, strict=True)):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return Mismatch(names[i], f"{a.dtype.name} of shape {a.shape}", f"{b.dtype.name} of shape {b.shape}")
        wrong = find_unequal(a, b)
        if spreads is not None:
            wrong = wrong & ~_within(a, b, np.broadcast_to(spreads[i], a.shape))
        if numerics.reassociates:
            # The sign of a zero depends on which terms cancel.
            wrong = wrong & ~((a == 0) & (b == 0))
        if numerics.rtol or numerics.atol:
            wrong = wrong & ~_is_approximate(a, b, numerics)
        if np.any(wrong):
            index = tuple(int(n) for n in np.unravel_index(int(np.argmax(wrong)), a.shape))
            place = f"{names[i]}[{', '.join(map(str, index))}]" if index else names[i]
            allowed = "" if spreads is None else _tolerance(np.broadcast_to(spreads[i], a.shape)[index])
            old, new = specs[i].shown(a[index]), specs[i].shown(b[index])
            return Mismatch(place, f"{old[()]!s}{allowed}", str(new[()]))
    return None


def find_other_failure(expected: CallOutcome, found: CallOutcome) -> Mismatch | None:
    """Return how a call ends in which an assertion failed before, unless the same one fails."""
    if expected.failed == found.failed:
        return None
    return Mismatch("", f"the failed assertion '{expected.failed}'", found.error or "a result")


def find_other_calls(expected: CallOutcome, found: CallOutcome, effectful: Collection[str]) -> Mismatch | None:
    """Return the first call of a library function with side effects that another one takes the place of; None if there
    is none, or if the calls are not known.

    Arguments are only compared with the arguments of the other calls: how far rounding may change them is not known.
    """
    if expected.calls is None or found.calls is None:
        return None
    olds, news = ([call for call in calls if call[0] in effectful] for calls in (expected.calls, found.calls))
    for i, (a, b) in enumerate(zip_longest(olds, news)):
        if a is None or b is None or not _may_be_same(a, b):
            return Mismatch(f"library call {i}", _described(a), _described(b))
        if not _is_close(a, b) and any(_is_close(other, b) for other in olds):
            return Mismatch(
                f"the arguments of library call {i}, {_described(a)},", _shown(a), f"{_shown(b)} in another call"
            )
    return None


def _may_be_same(a: Call, b: Call) -> bool:
    (name, old), (other, new) = a, b
    return name == other and [(x.dtype, x.shape) for x in old] == [(x.dtype, x.shape) for x in new]


def _is_close(a: Call, b: Call) -> bool:
    """Return whether two calls have the same arguments to about three digits."""
    with np.errstate(all="ignore"):
        pairs = zip(a[1], b[1], strict=True) if _may_be_same(a, b) else ()
        return _may_be_same(a, b) and all(np.allclose(x, y, rtol=1e-3, equal_nan=x.dtype.kind == "f") for x, y in pairs)


def _described(call: Call | None) -> str:
    return (
        "none" if call is None else f'"{call[0]}"({", ".join(f"{x.dtype.name} of shape {x.shape}" for x in call[1])})'
    )


def _shown(call: Call) -> str:
    return ", ".join(" ".join(str(x).split()) for x in call[1])


def find_unequal(a: Array, b: Array) -> Array:
    """Return a mask of the elements that differ in a bit; all NaNs are equal."""
    if not is_float_dtype(a.dtype):
        return np.asarray(a != b)
    bits = np.dtype(f"u{a.itemsize}")
    different = np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits)
    return np.asarray(different & ~(np.isnan(a) & np.isnan(b))).reshape(a.shape)


def _within(a: Array, b: Array, spread: Array) -> Array:
    if not is_float_dtype(a.dtype):
        return np.asarray(spread > 0)
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return np.asarray((spread > 0) & ((apart <= spread) | np.isinf(spread)))


def _is_approximate(a: Array, b: Array, numerics: Numerics) -> Array:
    """Return a mask of the elements that lie as close to the elements of `a` as `numerics` allow. An infinity counts as
    the largest number: an approximation of a number near it may overflow."""
    if a.dtype.kind != "f":
        return np.zeros(a.shape, np.bool_)
    largest = float(np.finfo(a.dtype).max)
    wide_a, wide_b = (np.clip(x.astype(np.float64), -largest, largest) for x in (a, b))
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(wide_a - wide_b) <= numerics.atol + numerics.rtol * np.abs(wide_a))


def _tolerance(spread: Any) -> str:
    return f" (give or take {spread:.2g})" if spread > 0 else ""
