"""Formulas of reductions, matrix products, normalizations, scans and sorts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Operation

from relex.dialects import relex
from relex.reference.equivalence.bounded import where
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.formulas import FORMULAS, axes_of, given, in_rows, moved, stacked
from relex.reference.intervals.numbers import Integers, Reals, Value, objects, wrapped


def dot(a: Any, b: Any) -> Any:
    """Return the sum of products along the last dimension."""
    if isinstance(a, Reals):
        return real.dot(a, b)
    known = np.all(np.broadcast_arrays(a.known & b.known)[0], axis=-1)
    if a.limits == (0, 1):
        return Integers(a.t, objects(np.any(np.asarray(a.value * b.value, np.bool_), axis=-1)), known)
    return wrapped(a.t, np.sum(a.value * b.value, axis=-1, initial=0), known)


def total(x: Any) -> Any:
    """Return the sum along the last dimension."""
    return real.total(x) if isinstance(x, Reals) else _whole(x, lambda a: np.sum(a, axis=-1, initial=0))


def multiplied(x: Any) -> Any:
    """Return the product along the last dimension."""
    return real.multiplied(x) if isinstance(x, Reals) else _whole(x, lambda a: np.prod(a, axis=-1, initial=1))


def extreme(x: Any, *, largest: bool) -> Any:
    """Return the maximum or minimum along the last dimension."""
    if isinstance(x, Reals):
        return real.extreme(x, largest=largest)
    return _whole(x, lambda a: np.max(a, axis=-1) if largest else np.min(a, axis=-1))


def _whole(x: Integers, function: Callable[[Any], Any]) -> Integers:
    return wrapped(x.t, function(x.value), np.all(x.known, axis=-1))


@FORMULAS.rule(relex.DenseOp)
def dense(op: Operation, x: Any, weight: Any) -> Value:
    """Each row of the data with each row of the weight."""
    return dot(moved(x, lambda a: a[..., None, :]), weight)


@FORMULAS.rule(relex.MatmulOp)
def matmul(op: Operation, a: Any, b: Any) -> Value:
    """Rows with columns."""
    return product(a, b)


def product(a: Any, b: Any) -> Any:
    """Return the product of matrices, one for each of the leading indices."""
    ranks = len(a.shape), len(b.shape)
    a = a if ranks[0] > 1 else moved(a, lambda x: x[None])
    b = b if ranks[1] > 1 else moved(b, lambda x: x[:, None])
    found = dot(moved(a, lambda x: x[..., :, None, :]), moved(b, lambda x: np.swapaxes(x, -1, -2)[..., None, :, :]))
    if ranks[1] == 1:
        found = moved(found, lambda x: x[..., 0])
    return moved(found, lambda x: x[..., 0, :] if ranks[1] > 1 else x[..., 0]) if ranks[0] == 1 else found


def _reduced(op: Operation, x: Any, function: Callable[[Any], Any]) -> Any:
    axes = axes_of(op, "axis", len(x.shape))
    found = function(in_rows(x, axes))
    if given(op, "keepdims"):
        kept = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
        return moved(found, lambda a: a.reshape(kept))
    return found


def mean(rows: Reals) -> Reals:
    """Return the sum along the last dimension, divided by the number of elements."""
    return real.divide(real.total(rows), real.number(rows, rows.shape[-1]))


_REDUCTIONS: dict[type[Operation], Callable[[Any], Any]] = {
    relex.SumOp: total,
    relex.ProdOp: multiplied,
    relex.MeanOp: mean,
    relex.MaxOp: partial(extreme, largest=True),
    relex.MinOp: partial(extreme, largest=False),
}
"""Functions of rows. Sums and products wrap around for integers."""


@FORMULAS.rule(*_REDUCTIONS)
def reduction(op: Operation, x: Any) -> Value:
    """A function of `_REDUCTIONS`."""
    return _reduced(op, x, _REDUCTIONS[type(op)])


@FORMULAS.rule(relex.ArgmaxOp, relex.ArgminOp)
def place_of_extreme(op: Operation, x: Any) -> Value:
    """The place of the maximum or the minimum, the first or the last one."""
    sign, last = 1 if isinstance(op, relex.ArgmaxOp) else -1, bool(given(op, "select_last_index"))
    return _reduced(op, x, lambda rows: _place(rows, sign, last))


def _place(rows: Any, sign: int, last: bool) -> Integers:
    """Return the place of the largest element of each row, in which NaN counts as larger than all."""
    shape = rows.shape[:-1]
    places, known = np.zeros(shape, object), np.zeros(shape, np.bool_)
    for at in np.ndindex(shape):
        row = moved(rows, lambda a, at=at: a[at])
        if row.shape[0] and np.all(row.known):
            places[at], known[at] = _place_in(row, sign, last)
    return Integers(i64, objects(places), known)


def _place_in(row: Any, sign: int, last: bool) -> tuple[int, bool]:
    """Return the place of the largest element of a row, and whether it is certain."""
    if isinstance(row, Reals):
        nan = np.flatnonzero(np.isnan(row.low))
        if nan.size:
            return int(nan[-1 if last else 0]), True
    ends = [row.value] if isinstance(row, Integers) else row.ends
    bounds = [[sign * v for v in end] for end in ends]
    low, high = ([pick(pair) for pair in zip(*bounds, strict=True)] for pick in (min, max))
    best = max(low)
    found = [i for i, v in enumerate(low) if v == best]
    rivals = [i for i, v in enumerate(high) if v >= best]
    # All that may be the largest are certainly equal to it.
    return found[-1 if last else 0], len(rivals) == 1 or (rivals == found and all(high[i] == best for i in found))


@FORMULAS.rule(relex.SoftmaxOp, relex.LogSoftmaxOp)
def softmax(op: Operation, x: Reals) -> Value:
    """Shares along a dimension, or their logarithms."""
    shared = partial(shares, safe=given(op, "safe", False))
    return _along(op, x, shared if isinstance(op, relex.SoftmaxOp) else logarithms_of_shares)


def shares(rows: Reals, safe: bool) -> Reals:
    """Return exp(x - max(x)) / sum(exp(x - max(x))). Unless all elements are minus infinity, the sum is 1 or more."""
    highest = real.extreme(rows, largest=True)
    limited = real.larger(highest, real.number(rows, -rows.fmt.largest)) if safe else highest
    powers = real.exp(real.subtract(rows, _column(limited)))
    total = real.total(powers)
    total = real.larger(total, real.number(rows, 1)) if safe else total
    return real.loosened(real.divide(powers, _column(total)), 1)


def logarithms_of_shares(rows: Reals) -> Reals:
    """Return x - max(x) - log(sum(exp(x - max(x))))."""
    shifted = real.subtract(rows, _column(real.extreme(rows, largest=True)))
    return real.subtract(shifted, _column(real.library(np.log, real.total(real.exp(shifted)))))


def _column(x: Any) -> Any:
    return moved(x, lambda a: a[..., None])


def _along(op: Operation, x: Any, function: Callable[[Any], Any]) -> Any:
    """Return a function of rows along the dimension of an operator."""
    axis = given(op, "axis", -1) % len(x.shape)
    found = function(moved(x, lambda a: np.moveaxis(a, axis, -1)))
    return moved(found, lambda a: np.moveaxis(a, -1, axis))


@FORMULAS.rule(relex.LayerNormOp)
def layer_norm(op: Operation, x: Reals, gamma: Reals, beta: Reals) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta."""
    axes = sorted(axes_of(op, "axes", len(x.shape)))
    rows = in_rows(x, axes)
    centred = real.subtract(rows, _column(mean(rows)))
    variance = real.divide(real.dot(centred, centred), real.number(rows, rows.shape[-1]))
    epsilon = real.number(x, given(op, "epsilon", 1e-5))
    scale = real.divide(_flat(gamma), _column(real.square_root(real.add(variance, epsilon))))
    scaled = real.loosened(real.multiply(centred, real.loosened(scale, 1)), 1)
    found = real.add(scaled, _flat(beta))
    others = [axis for axis in range(len(x.shape)) if axis not in axes]
    order = [*others, *axes]
    shape = [x.shape[axis] for axis in order]
    return moved(found, lambda a: a.reshape(shape).transpose(np.argsort(order)))


def _flat(x: Any) -> Any:
    return moved(x, lambda a: a.reshape(-1))


@FORMULAS.rule(relex.BatchNormOp)
def batch_norm(op: Operation, x: Reals, *parameters: Reals) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, with parameters along a dimension."""
    axis = given(op, "axis", 1) % len(x.shape)
    shape = [-1 if d == axis else 1 for d in range(len(x.shape))]
    gamma, beta, average, variance = (
        moved(p, lambda a: a.reshape([a.size if n < 0 else n for n in shape])) for p in parameters
    )
    deviation = real.square_root(real.add(variance, real.number(x, given(op, "epsilon", 1e-5))))
    scale = real.loosened(real.divide(gamma, deviation), 1)
    return real.add(real.loosened(real.multiply(real.subtract(x, average), scale), 1), beta)


@FORMULAS.rule(relex.CumsumOp, relex.CumprodOp)
def scan(op: Operation, x: Any) -> Value:
    """The sums or the products of the first elements."""
    function = total if isinstance(op, relex.CumsumOp) else multiplied
    axis = given(op, "axis")
    axis = 0 if axis is None else axis % len(x.shape)
    turn = -1 if given(op, "reverse") else 1
    rows = moved(x, lambda a: np.moveaxis(a, axis, -1)[..., ::turn])
    size = rows.shape[-1]
    if not size:
        return x
    first = 0 if given(op, "exclusive") else 1
    parts = [_column(function(moved(rows, lambda a, n=n: a[..., :n]))) for n in range(first, size + first)]
    found = stacked(parts, lambda arrays: np.concatenate(arrays, axis=-1))
    return moved(found, lambda a: np.moveaxis(a[..., ::turn], -1, axis))


@FORMULAS.rule(relex.SortOp, relex.ArgsortOp)
def sort(op: Operation, x: Any) -> Value:
    """The elements in order, NaN last of all, or their places."""
    descending, part = bool(given(op, "descending")), 0 if isinstance(op, relex.SortOp) else 1
    return _along(op, x, lambda rows: _ordered(rows, descending)[part])


def _ordered(rows: Any, descending: bool) -> tuple[Any, Integers]:
    """Return rows in order and the places of their elements: known if no two elements may be in either order."""
    shape = rows.shape
    places, known = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    for at in np.ndindex(shape[:-1]):
        row = moved(rows, lambda a, at=at: a[at])
        ends = [row.value, row.value] if isinstance(row, Integers) else [row.low, row.high]
        low, high = ([_key(v, descending) for v in end] for end in ends)
        if descending:
            low, high = high, low
        order = sorted(range(len(low)), key=low.__getitem__)
        places[at] = order
        pairs = pairwise(order)
        clear = all(high[i] < low[j] or low[i] == high[i] == low[j] == high[j] for i, j in pairs)
        known[at] = clear and np.all(row.known)
    found = moved(rows, lambda a: np.take_along_axis(a, places, -1))
    return found.only(known), Integers(IntegerType(64), objects(places), known)


def _key(value: Any, descending: bool) -> tuple[int, Any]:
    if value != value:
        return (-1 if descending else 1, 0)
    return (0, -value if descending else value)


@FORMULAS.rule(relex.MatmulPackedOp)
def matmul_packed(op: Operation, a: Integers, b: Integers) -> Value:
    """Products of unsigned bytes with signed ones."""
    return product(unpacked(a, -1, signed=False), unpacked(b, -2 if len(b.shape) > 1 else -1, signed=True))


def unpacked(words: Integers, axis: int, *, signed: bool) -> Integers:
    """Return the bytes of words along a dimension."""
    axis %= len(words.shape)

    def byte(word: int, n: int) -> int:
        found = (word >> 8 * n) & 0xFF
        return found - 256 if signed and found > 127 else found

    parts = [np.asarray(np.frompyfunc(lambda w, n=n: byte(w, n), 1, 1)(words.value), object) for n in range(4)]
    shape = [*words.shape[:axis], 4 * words.shape[axis], *words.shape[axis + 1 :]]
    value = np.stack(parts, axis + 1).reshape(shape)
    return Integers(words.t, value, np.repeat(words.known, 4, axis))


@FORMULAS.rule(relex.PackBytesOp)
def pack_bytes(op: Operation, x: Integers) -> Value:
    """Four bytes to a word, the first one in the low bits."""
    axis: int = given(op, "axis") % len(x.shape)
    count = -(-x.shape[axis] // 4)

    def word(n: int) -> Integers:
        places = np.arange(count) * 4 + n
        inside = (places < x.shape[axis]).reshape([-1, *[1] * (len(x.shape) - axis - 1)])
        at = np.minimum(places, max(x.shape[axis] - 1, 0))
        part = moved(x, lambda a: np.take(a, at, axis))
        return Integers(x.t, where(inside, objects(part.value) & 0xFF, 0), part.known | ~inside)

    words = [word(n) for n in range(4)] if count else [x] * 4
    value: Any = reduce(lambda a, b: a + b, [objects(w.value) << 8 * n for n, w in enumerate(words)])
    return wrapped(IntegerType(32), value, np.all([w.known for w in words], axis=0))
