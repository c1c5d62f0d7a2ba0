"""Formulas of the ops on single numbers in loop functions: the ops of `arith` and `math`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.upstream.arith import RemFOp
from relex.reference.equivalence.bounded import where
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.elementwise import OF_ONE, OF_TWO, remainder, select, truncated, wrapped_around
from relex.reference.intervals.formulas import FORMULAS, Formula, stacked
from relex.reference.intervals.numbers import (
    Integers,
    Reals,
    Value,
    booleans,
    enclose,
    format_of,
    objects,
    wide_dtype,
    width_of,
    wrapped,
)

INDEX = IntegerType(64)
"""The integer type of indices."""


def stored_type(t: Attribute) -> Attribute:
    """Return the type of the numbers that represent values of a type."""
    return INDEX if isinstance(t, IndexType) else t


def _result_type(op: Operation) -> Attribute:
    return stored_type(op.results[0].type)


# Floats


def _away_from_zero(a: Array) -> Any:
    return np.copysign(np.floor(np.abs(a) + 0.5), a)


def _other_if_nan(choose: Callable[[Reals, Reals], Reals]) -> Callable[[Reals, Reals], Reals]:
    def formula(a: Reals, b: Reals) -> Reals:
        a_is_nan, b_is_nan = np.isnan(a.low), np.isnan(b.low)
        first = stacked([a, b], lambda parts: where(a_is_nan, parts[1], parts[0]))
        second = stacked([a, b], lambda parts: where(b_is_nan, parts[0], parts[1]))
        return choose(first, second)

    return formula


def _arc(y: Reals, x: Reals) -> Reals:
    return real.apply(np.arctan2, y, x, ulps=where(np.isfinite(y.low) & (y.low != 0), real.ULPS, 1.0))


def fused(a: Reals, b: Reals, c: Reals) -> Reals:
    """Return a * b + c, rounded once. The product is exact in wide arithmetic, but for f64."""
    product = a.low * b.low
    found = product + c.low
    is_exact = 2 * a.fmt.precision <= np.finfo(product.dtype).nmant + 1
    finite = np.isfinite(found) & np.isfinite(product)
    off = where(finite & (not is_exact), np.abs(product) * np.finfo(product.dtype).eps, 0.0)
    known = a.is_point & b.is_point & c.is_point & (np.isfinite(product) == (np.isfinite(a.low) & np.isfinite(b.low)))
    return enclose(a.fmt, [found] if is_exact else [found - off, found + off], known)


_NAMED_AS_OPERATORS: tuple[type[Operation], ...] = (
    *(math.SqrtOp, math.ExpOp, math.LogOp, math.TanhOp, math.ErfOp, math.SinOp, math.CosOp, math.TanOp, math.AsinOp),
    *(math.AcosOp, math.AtanOp, math.SinhOp, math.CoshOp, math.AsinhOp, math.AcoshOp, math.AtanhOp, math.FloorOp),
    *(math.CeilOp, math.TruncOp),
)
"""Functions with the name of an operator, and the formula of it."""

_OF_FLOATS: dict[type[Operation], Callable[..., Reals]] = {
    arith.AddfOp: real.add,
    arith.SubfOp: real.subtract,
    arith.MulfOp: real.multiply,
    arith.DivfOp: real.divide,
    RemFOp: OF_TWO[relex.ModOp][0],
    arith.NegfOp: OF_ONE[relex.NegativeOp][0],
    arith.MaximumfOp: real.larger,
    arith.MinimumfOp: real.smaller,
    arith.MaxnumfOp: _other_if_nan(real.larger),
    arith.MinnumfOp: _other_if_nan(real.smaller),
    math.FmaOp: fused,
    math.PowFOp: real.power,
    math.Atan2Op: _arc,
    math.CopySignOp: partial(real.apply, np.copysign),
    math.RoundOp: partial(real.apply, _away_from_zero),
    math.RoundEvenOp: OF_ONE[relex.RoundOp][0],
    math.RsqrtOp: partial(real.library, lambda x: 1 / np.sqrt(x)),
    math.CbrtOp: partial(real.library, np.cbrt),
    math.Exp2Op: partial(real.library, np.exp2),
    math.ExpM1Op: partial(real.library, np.expm1),
    math.Log1pOp: partial(real.library, np.log1p),
    math.Log2Op: partial(real.library, np.log2),
    math.Log10Op: partial(real.library, np.log10),
    math.AbsFOp: OF_ONE[relex.AbsOp][0],
    **{kind: OF_ONE[getattr(relex, kind.__name__)][0] for kind in _NAMED_AS_OPERATORS},
}


# Integers


def signed(x: Integers) -> Integers:
    """Return integers as signed ones: a true i1 is -1."""
    return Integers(x.t, objects(-x.value), x.known) if width_of(x.t)[0] == 1 else x


def unsigned(x: Integers) -> Integers:
    """Return integers as unsigned ones."""
    return Integers(x.t, objects(x.value & ((1 << width_of(x.t)[0]) - 1)), x.known)


_Reading = Callable[[Integers], Integers]

_OF_INTEGERS: dict[type[Operation], tuple[_Reading, Callable[[int, int], int]]] = {
    arith.AddiOp: (signed, lambda x, y: x + y),
    arith.SubiOp: (signed, lambda x, y: x - y),
    arith.MuliOp: (signed, lambda x, y: x * y),
    arith.AndIOp: (unsigned, lambda x, y: x & y),
    arith.OrIOp: (unsigned, lambda x, y: x | y),
    arith.XOrIOp: (unsigned, lambda x, y: x ^ y),
    arith.MaxSIOp: (signed, max),
    arith.MinSIOp: (signed, min),
    arith.MaxUIOp: (unsigned, max),
    arith.MinUIOp: (unsigned, min),
    arith.ShLIOp: (unsigned, lambda x, n: x << n),
    arith.ShRSIOp: (signed, lambda x, n: x >> n),
    arith.ShRUIOp: (unsigned, lambda x, n: x >> n),
    arith.DivSIOp: (signed, truncated),
    arith.RemSIOp: (signed, remainder),
    arith.FloorDivSIOp: (signed, lambda x, y: x // y),
    arith.CeilDivSIOp: (signed, lambda x, y: -(-x // y)),
    arith.DivUIOp: (unsigned, lambda x, y: x // y),
    arith.RemUIOp: (unsigned, lambda x, y: x % y),
    arith.CeilDivUIOp: (unsigned, lambda x, y: -(-x // y)),
}
"""The interpretation of an op's operands as signed or unsigned, and its function. A run stops where that is not
defined."""


def _size(x: int) -> int:
    return abs(x)


def _of_floats(function: Callable[..., Reals]) -> Formula:
    def formula(op: Operation, *operands: Reals) -> Value:
        return function(*operands)

    return formula


def _of_integers(read: _Reading, function: Callable[..., int]) -> Formula:
    def formula(op: Operation, *operands: Integers) -> Value:
        return wrapped_around(function, *map(read, operands))

    return formula


for _kind, _function in _OF_FLOATS.items():
    FORMULAS.add(_of_floats(_function), _kind)
for _kind, _read_and_function in _OF_INTEGERS.items():
    FORMULAS.add(_of_integers(*_read_and_function), _kind)

FORMULAS.add(_of_integers(signed, _size), math.AbsIOp)
FORMULAS.add(select, arith.SelectOp)


@FORMULAS.rule(arith.CmpfOp)
def compare_floats(op: arith.CmpfOp, a: Reals, b: Reals) -> Value:
    """The name of a predicate says for which orders it holds, and its first letter whether it does for NaN."""
    name = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    x, y = a.low, b.low
    of_nan = np.isnan(x) | np.isnan(y)
    match name:
        case "false" | "true":
            found: Any = (of_nan | True) & (name == "true")
        case "ord" | "uno":
            found = of_nan == (name == "uno")
        case _:
            ordered = getattr(operator, name[1:])(x, y)
            found = np.where(of_nan, name[0] == "u", ordered)
    return booleans(found, a.is_point & b.is_point)


@FORMULAS.rule(arith.CmpiOp)
def compare_integers(op: arith.CmpiOp, a: Integers, b: Integers) -> Value:
    """Equal and not equal, then four orders of signed and of unsigned integers."""
    predicate = op.predicate.value.data
    read = unsigned if predicate > 5 else signed
    x, y = read(a).value, read(b).value
    orders = (x == y, x != y, x < y, x <= y, x > y, x >= y)
    return booleans(orders[predicate - 4 if predicate > 5 else predicate], a.known & b.known)


@FORMULAS.rule(arith.ExtFOp, arith.TruncFOp)
def convert_float(op: Operation, x: Reals) -> Value:
    """Round to another format."""
    return x.rounded_to(format_of(_result_type(op)))


@FORMULAS.rule(arith.ExtSIOp, arith.TruncIOp, arith.IndexCastOp)
def resize_signed(op: Operation, x: Integers) -> Value:
    """Extend by the sign, or drop the highest bits."""
    return wrapped(_result_type(op), signed(x).value, x.known)


@FORMULAS.rule(arith.ExtUIOp)
def resize_unsigned(op: Operation, x: Integers) -> Value:
    """Extend by zeros."""
    return wrapped(_result_type(op), unsigned(x).value, x.known)


@FORMULAS.rule(arith.SIToFPOp, arith.UIToFPOp)
def float_of_integer(op: Operation, x: Integers) -> Value:
    """Round integers to floats."""
    fmt = format_of(_result_type(op))
    number = (signed if isinstance(op, arith.SIToFPOp) else unsigned)(x)
    return enclose(fmt, [number.value.astype(wide_dtype(fmt))], x.known)


@FORMULAS.rule(arith.FPToSIOp, arith.FPToUIOp)
def integer_of_float(op: Operation, x: Reals) -> Value:
    """Round floats towards zero; of those out of range, nothing is known."""
    t = _result_type(op)
    bits, _ = width_of(t)
    is_signed = isinstance(op, arith.FPToSIOp)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    numbers = np.trunc(where(np.isfinite(x.low), x.low, 0.0))
    values = np.frompyfunc(int, 1, 1)(numbers)
    fits = np.asarray((values >= low) & (values <= high), np.bool_)
    return wrapped(t, values, x.is_point & np.isfinite(x.low) & fits)
