"""Formulas of elementwise operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.reference.equivalence.bounded import where
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.formulas import FORMULAS, Formula, given, stacked
from relex.reference.intervals.numbers import (
    Integers,
    Reals,
    Value,
    all_known,
    booleans,
    computed_in,
    enclose,
    format_of,
    objects,
    value_of,
    wide_dtype,
    width_of,
    wrapped,
)


def element_type(op: Operation) -> Attribute:
    """Return the type of the elements of the result."""
    t = op.results[0].type
    assert isa(t, TensorType)
    return t.element_type


def wrapped_around(function: Callable[..., Any], *operands: Integers) -> Integers:
    """Return a function of integers that wraps around."""
    values = np.frompyfunc(function, len(operands), 1)(*(x.value for x in operands))
    return wrapped(operands[0].t, values, all_known(operands))


OfOne = tuple[Callable[[Reals], Reals], Callable[[int], int] | None]
OfTwo = tuple[Callable[[Reals, Reals], Reals], Callable[[int, int], int] | None]
"""Functions of floats, and of integers if there is one."""


def _formula(kind: type[Operation], on_floats: Callable[..., Value], on_integers: Callable[..., int] | None) -> Formula:
    def formula(op: Operation, *operands: Any) -> Value:
        if isinstance(operands[0], Reals):
            return on_floats(*operands)
        assert on_integers is not None
        of_booleans = _ON_BOOLEANS.get(kind) if operands[0].limits == (0, 1) else None
        return wrapped_around(of_booleans or on_integers, *operands)

    return formula


def sigmoid(x: Reals) -> Reals:
    """Return 1 / (1 + exp(-x))."""
    one = real.number(x, 1)
    return real.divide(one, real.add(one, real.exp(real.apply(np.negative, x))))


def silu(x: Reals) -> Reals:
    """Return x / (1 + exp(-x)), where numerator and denominator depend on each other."""
    return real.divide(x, real.add(real.number(x, 1), real.exp(real.apply(np.negative, x))))


def gelu(x: Reals) -> Reals:
    """Return x / 2 * (1 + erf(x / sqrt(2))), which the operator computes in another form."""
    share = real.erf(real.loosened(real.multiply(x, real.number(x, sqrt(0.5))), 1))
    product = real.multiply(real.multiply(x, real.number(x, 0.5)), real.add(real.number(x, 1), share))
    return real.loosened(product, 4)


def whole_power(x: int, y: int) -> int:
    """Return a power of an integer, wrapped around in 64 bits or less later."""
    if y >= 0:
        return pow(x, y, 1 << 64)
    return {1: 1, -1: 1 if y % 2 == 0 else -1}.get(x, 0)


def remainder(x: int, y: int) -> int:
    """Return what is left of a quotient that is rounded towards zero."""
    return 0 if y == 0 else x - y * truncated(x, y)


def truncated(x: int, y: int) -> int:
    """Return a quotient rounded towards zero; that by 0 is 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _float_remainder(x: Reals, y: Reals) -> Reals:
    found = real.apply(np.fmod, x, y)
    return found.only(x.is_point & y.is_point)


def _float_floor_remainder(x: Reals, y: Reals) -> Reals:
    left = _float_remainder(x, y)
    differs = (left.low != 0) & (np.signbit(left.low) != np.signbit(y.low))
    added = real.add(left, y)
    zero = np.copysign(0.0, y.low)
    ends = [where(left.low == 0, zero, where(differs, end, left.low)) for end in added.ends]
    return enclose(x.fmt, [np.asarray(end, wide_dtype(x.fmt)) for end in ends], left.known & added.known)


def _sign(a: Array) -> Array:
    return where(a == 0, a, np.sign(a))


_ON_BOOLEANS: dict[type[Operation], Callable[..., int]] = {relex.AddOp: max, relex.MultiplyOp: min}
"""Sums and products of truth values, which do not wrap around."""

OF_ONE: dict[type[Operation], OfOne] = {
    relex.ReluOp: (lambda x: real.larger(x, real.number(x, 0)), lambda x: max(x, 0)),
    relex.NegativeOp: (partial(real.apply, np.negative), lambda x: -x),
    relex.AbsOp: (lambda x: real.even(np.abs, x, 0), abs),
    relex.SqrtOp: (real.square_root, None),
    relex.RsqrtOp: (lambda x: real.divide(real.number(x, 1), real.square_root(x)), None),
    relex.ExpOp: (real.exp, None),
    relex.Exp2Op: (partial(real.library, np.exp2), None),
    relex.Expm1Op: (partial(real.library, np.expm1), None),
    relex.LogOp: (partial(real.library, np.log), None),
    relex.Log1pOp: (partial(real.library, np.log1p), None),
    relex.Log2Op: (partial(real.library, np.log2), None),
    relex.Log10Op: (partial(real.library, np.log10), None),
    relex.TanhOp: (partial(real.library, np.tanh), None),
    relex.ErfOp: (real.erf, None),
    relex.SigmoidOp: (sigmoid, None),
    relex.SiluOp: (silu, None),
    relex.GeluOp: (gelu, None),
    relex.SinOp: (lambda x: real.steady(np.sin, x), None),
    relex.CosOp: (lambda x: real.steady(np.cos, x), None),
    relex.TanOp: (real.tangent, None),
    relex.AsinOp: (partial(real.library, np.arcsin), None),
    relex.AcosOp: (partial(real.library, np.arccos), None),
    relex.AtanOp: (partial(real.library, np.arctan), None),
    relex.SinhOp: (partial(real.library, np.sinh), None),
    relex.CoshOp: (lambda x: real.even(np.cosh, x, real.ULPS), None),
    relex.AsinhOp: (partial(real.library, np.arcsinh), None),
    relex.AcoshOp: (partial(real.library, np.arccosh), None),
    relex.AtanhOp: (partial(real.library, np.arctanh), None),
    relex.FloorOp: (partial(real.apply, np.floor), None),
    relex.CeilOp: (partial(real.apply, np.ceil), None),
    relex.TruncOp: (partial(real.apply, np.trunc), None),
    relex.RoundOp: (partial(real.apply, np.rint), None),
    relex.SignOp: (partial(real.apply, _sign), lambda x: (x > 0) - (x < 0)),
    relex.BitwiseNotOp: (real.unknown_like, lambda x: ~x),
    relex.LogicalNotOp: (real.unknown_like, lambda x: 1 - x),
}
OF_TWO: dict[type[Operation], OfTwo] = {
    relex.AddOp: (real.add, lambda x, y: x + y),
    relex.SubtractOp: (real.subtract, lambda x, y: x - y),
    relex.MultiplyOp: (real.multiply, lambda x, y: x * y),
    relex.DivideOp: (real.divide, None),
    relex.PowerOp: (real.power, whole_power),
    relex.MaximumOp: (real.larger, max),
    relex.MinimumOp: (real.smaller, min),
    relex.FloorDivideOp: (real.unknown_like, lambda x, y: x // y if y else 0),
    relex.TruncDivideOp: (real.unknown_like, truncated),
    relex.FloorModOp: (_float_floor_remainder, lambda x, y: x % y if y else 0),
    relex.ModOp: (_float_remainder, remainder),
    relex.BitwiseAndOp: (real.unknown_like, lambda x, y: x & y),
    relex.BitwiseOrOp: (real.unknown_like, lambda x, y: x | y),
    relex.BitwiseXorOp: (real.unknown_like, lambda x, y: x ^ y),
    relex.LogicalAndOp: (real.unknown_like, lambda x, y: x and y),
    relex.LogicalOrOp: (real.unknown_like, lambda x, y: x or y),
    relex.LogicalXorOp: (real.unknown_like, lambda x, y: int(x != y)),
}

for _kind, _functions in (OF_ONE | OF_TWO).items():
    FORMULAS.add(_formula(_kind, *_functions), _kind)


@FORMULAS.rule(relex.EwiseFMAOp)
def ewise_fma(op: Operation, x: Any, y: Any, z: Any) -> Value:
    """x * y + z, rounded after the product and after the sum."""
    if isinstance(x, Integers):
        return wrapped_around(_both_or if x.limits == (0, 1) else _product_and_sum, x, y, z)
    own = format_of(element_type(op))
    return real.add(real.multiply(x, y).rounded_to(own), z.rounded_to(own))


def _both_or(a: int, b: int, c: int) -> int:
    return (a and b) or c


def _product_and_sum(a: int, b: int, c: int) -> int:
    return a * b + c


@FORMULAS.rule(relex.LeftShiftOp)
def left_shift(op: Operation, x: Integers, count: Integers) -> Value:
    """Zeros are filled in; a count out of range leaves none but these."""
    bits, _ = width_of(x.t)

    def shifted(a: int, n: int) -> int:
        return a << n if 0 <= n < bits else 0

    return wrapped_around(shifted, x, count)


@FORMULAS.rule(relex.RightShiftOp)
def right_shift(op: Operation, x: Integers, count: Integers) -> Value:
    """The sign is filled in; a count out of range leaves only the sign."""
    bits, _ = width_of(x.t)

    def shifted(a: int, n: int) -> int:
        return a >> n if 0 <= n < bits else -(a < 0)

    return wrapped_around(shifted, x, count)


def _compared(order: Callable[[Any, Any], Any], is_order: bool) -> Callable[..., Value]:
    def formula(op: Operation, a: Any, b: Any) -> Value:
        known = a.known & b.known
        if isinstance(a, Integers):
            return booleans(np.frompyfunc(order, 2, 1)(a.value, b.value), known)
        found = [order(p, q) for p in a.ends for q in b.ends]
        same = np.all(np.broadcast_arrays(*(f == found[0] for f in found)), axis=0)
        if not is_order:
            # Two ranges that overlap may have a number in common, whatever their ends are.
            apart = (a.high < b.low) | (b.high < a.low) | np.isnan(a.low) | np.isnan(b.low)
            both = (a.low == a.high) & (b.low == b.high)
            same = same & (apart | both)
        return booleans(found[0], known & same)

    return formula


FORMULAS.add(_compared(operator.eq, False), relex.EqualOp)
FORMULAS.add(_compared(operator.ne, False), relex.NotEqualOp)
FORMULAS.add(_compared(operator.lt, True), relex.LessOp)
FORMULAS.add(_compared(operator.le, True), relex.LessEqualOp)
FORMULAS.add(_compared(operator.gt, True), relex.GreaterOp)
FORMULAS.add(_compared(operator.ge, True), relex.GreaterEqualOp)


def _classified(is_of_class: Callable[[Array], Any]) -> Callable[..., Value]:
    """Return the formula that is true for one class of floats: NaN, the infinities, or all but these."""

    def formula(op: Operation, x: Reals) -> Value:
        return booleans(is_of_class(x.low), x.known)

    return formula


FORMULAS.add(_classified(np.isnan), relex.IsnanOp)
FORMULAS.add(_classified(np.isinf), relex.IsinfOp)
FORMULAS.add(_classified(np.isfinite), relex.IsfiniteOp)


@FORMULAS.rule(relex.WhereOp)
def select(op: Operation, condition: Integers, x: Any, y: Any) -> Value:
    """The elements of one array where a condition is true, else the elements of another."""
    chosen = np.asarray(condition.value, np.bool_)
    return stacked([x, y], lambda parts: np.where(chosen, parts[0], parts[1])).only(condition.known)


@FORMULAS.rule(relex.ClipOp)
def clip(op: Operation, x: Any) -> Value:
    """No less than one bound, then no more than another."""
    low, high = given(op, "min"), given(op, "max")
    if isinstance(x, Integers):
        return wrapped_around(partial(_between, low=low, high=high), x)
    if low is not None:
        x = real.larger(x, real.number(x, low))
    return x if high is None else real.smaller(x, real.number(x, high))


def _between(x: int, low: Any, high: Any) -> int:
    x = x if low is None else max(x, int(low))
    return x if high is None else min(x, int(high))


@FORMULAS.rule(relex.AstypeOp)
def astype(op: Operation, x: Any) -> Value:
    """Conversions: integers wrap around, floats are rounded towards zero and saturate, NaN is 0."""
    t = element_type(op)
    if t in FLOATS:
        fmt = format_of(t)
        if isinstance(x, Reals):
            return x.rounded_to(fmt)
        # Twice, where processors convert to f32 first.
        return enclose(computed_in(t), [x.value.astype(wide_dtype(fmt))], x.known).rounded_to(fmt)
    if isinstance(x, Integers):
        return booleans(x.value != 0, x.known) if _is_boolean(t) else wrapped(t, x.value, x.known)
    if _is_boolean(t):
        never = (x.low > 0) | (x.high < 0) | np.isnan(x.low)
        return booleans(x.low != 0, x.known & (never | (x.low == x.high)))
    limits = Integers.of(t, 0).limits
    ends = [np.frompyfunc(lambda a: _saturated(a, limits), 1, 1)(end) for end in (x.low, x.high)]
    return wrapped(t, ends[0], x.known & np.asarray(ends[0] == ends[1], np.bool_))


def _is_boolean(t: Attribute) -> bool:
    return numpy_dtype(t) == np.bool_


def _saturated(x: Any, limits: tuple[int, int]) -> int:
    if np.isnan(x):
        return 0
    if np.isinf(x):
        return limits[int(x > 0)]
    return min(max(int(x), limits[0]), limits[1])


@FORMULAS.rule(relex.BitcastOp)
def bitcast(op: Operation, x: Any) -> Value:
    """The numbers of another type that have the same bits; nothing is known about the bits of NaN."""
    t, dtype = element_type(op), numpy_dtype(element_type(op))
    if isinstance(x, Reals):
        own = np.asarray(x.low).astype(numpy_dtype(op.operands[0].type.element_type))  # pyright: ignore
        is_known = x.is_point & ~np.isnan(x.low)
    else:
        bits = objects(np.frompyfunc(lambda a: a & (1 << width_of(x.t)[0]) - 1, 1, 1)(x.value))
        own, is_known = bits.astype(f"u{dtype.itemsize}"), x.known
    found = value_of(t, np.ascontiguousarray(own).view(dtype).reshape(own.shape))
    assert found is not None
    return found.only(is_known)
