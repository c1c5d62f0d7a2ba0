"""
Intervals in place of numbers: a domain, in which operators and ops of any level are evaluated.

The cell of a float has the two numbers that it lies between, in wider precision, the cell of an integer its value; both
say whether that is known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects import arith, math

from relex.dialects.arrays import Array
from relex.dialects.dtypes import element_type_of, is_emulated, is_float_dtype
from relex.dialects.tir import TableLookUpOp
from relex.dialects.upstream.arith import RemFOp
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.equivalence.bounded import Format, where
from relex.reference.intervals import interval_arithmetic as real
from relex.reference.intervals.numbers import (
    IntegerIntervals,
    Reals,
    Value,
    all_known,
    booleans,
    cells_of,
    enclose,
    known_of,
    objects,
    stacked,
    wide_dtype,
    width_of,
    wrapped,
)


class Intervals(Domain):
    """What a correct implementation may compute in place of each number."""

    folds = False

    def constants(self, array: Array) -> Array:
        array = np.asarray(array)
        if is_float_dtype(array.dtype):
            return cells_of(Reals.of(Format.of(array.dtype), array), array.dtype)
        return cells_of(IntegerIntervals.of(element_type_of(array.dtype), array), array.dtype)

    def values(self, cells: Array) -> Array | None:
        if not np.all(cells["known"]):
            return None
        if "value" in (cells.dtype.names or ()):
            return cells["value"]
        # Of which one is meant does not matter where both are zeros or NaN.
        same = (cells["low"] == cells["high"]) | np.isnan(cells["low"])
        return cells["low"] if np.all(same) else None

    def make(self, head: SymbolHead) -> Make:
        function = FUNCTIONS[head.name]

        def run(*cells: Array) -> Array:
            with np.errstate(all="ignore"):
                return cells_of(function(head, *cells), head.dtype)

        return run

    def comparison(
        self, dtype: np.dtype[Any], predicate: int, function: Callable[..., Any], properties: str = ""
    ) -> Make:
        compare: Callable[..., IntegerIntervals] = _compared_floats if is_float_dtype(dtype) else _compared_integers

        def run(a: Array, b: Array) -> Array:
            left = known_of(a, dtype)
            right = left if b is a else known_of(b, dtype)
            with np.errstate(all="ignore"):
                return cells_of(compare(predicate, left, right), np.dtype(np.bool_))

        return run

    def fold(self, head: SymbolHead, begin: Sequence[Any], rows: Array) -> Array:
        function = OF_ROWS.get(head.name)
        if function is None or not (rows.shape[-1] or begin):
            return super().fold(head, begin, rows)
        with np.errstate(all="ignore"):
            return cells_of(function(known_of(rows, head.dtype)), head.dtype)

    def at_once(self, count: int, size: int) -> int:
        # The bounds of a sum depend on all of its terms.
        return max(size, 1)


OF_ROWS: dict[str, Callable[[Any], Reals]] = {
    SUM: real.total,
    arith.MulfOp.name: real.multiplied,
    arith.MaximumfOp.name: partial(real.extreme, largest=True),
    arith.MinimumfOp.name: partial(real.extreme, largest=False),
}
"""Functions of all floats along the last dimension, in any order."""


# Floats


def _multiply(head: SymbolHead, a: Reals, b: Reals) -> Reals:
    return real.contracted(a, b) if "contract" in head.properties else real.multiply(a, b)


def _divide(head: SymbolHead, a: Reals, b: Reals) -> Reals:
    found = real.divide(a, b)
    return real.loosened(found, 1) if "arcp" in head.properties else found


def _away_from_zero(a: Array) -> Any:
    return np.copysign(np.floor(np.abs(a) + 0.5), a)


def _remainder(x: Reals, y: Reals) -> Reals:
    return real.apply(np.fmod, x, y).only(x.is_point & y.is_point)


def _other_if_nan(choose: Callable[[Reals, Reals], Reals]) -> Callable[[Reals, Reals], Reals]:
    def function(a: Reals, b: Reals) -> Reals:
        a_is_nan, b_is_nan = np.isnan(a.low), np.isnan(b.low)
        return choose(_chosen(a_is_nan, b, a), _chosen(b_is_nan, a, b))

    return function


def _chosen(condition: Any, a: Reals, b: Reals) -> Reals:
    parts = ((a.low, b.low), (a.high, b.high), (a.known, b.known))
    return Reals(a.fmt, *(where(condition, *part) for part in parts))


def _added(a: Reals, b: Reals) -> Reals:
    return real.total(stacked(a, b))


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


_OF_FLOATS: dict[str, Callable[..., Reals]] = {
    arith.AddfOp.name: real.add,
    SUM: _added,
    arith.SubfOp.name: real.subtract,
    RemFOp.name: _remainder,
    arith.NegfOp.name: partial(real.apply, np.negative),
    arith.MaximumfOp.name: real.larger,
    arith.MinimumfOp.name: real.smaller,
    arith.MaxnumfOp.name: _other_if_nan(real.larger),
    arith.MinnumfOp.name: _other_if_nan(real.smaller),
    math.FmaOp.name: fused,
    math.PowFOp.name: real.power,
    math.Atan2Op.name: _arc,
    math.CopySignOp.name: partial(real.apply, np.copysign),
    math.AbsFOp.name: partial(real.even, np.abs, ulps=0),
    math.SqrtOp.name: partial(real.apply, np.sqrt),
    math.FloorOp.name: partial(real.apply, np.floor),
    math.CeilOp.name: partial(real.apply, np.ceil),
    math.TruncOp.name: partial(real.apply, np.trunc),
    math.RoundOp.name: partial(real.apply, _away_from_zero),
    math.RoundEvenOp.name: partial(real.apply, np.rint),
    math.RsqrtOp.name: partial(real.library, lambda x: 1 / np.sqrt(x)),
    math.CbrtOp.name: partial(real.library, np.cbrt),
    math.ExpOp.name: partial(real.library, np.exp),
    math.Exp2Op.name: partial(real.library, np.exp2),
    math.ExpM1Op.name: partial(real.library, np.expm1),
    math.LogOp.name: partial(real.library, np.log),
    math.Log1pOp.name: partial(real.library, np.log1p),
    math.Log2Op.name: partial(real.library, np.log2),
    math.Log10Op.name: partial(real.library, np.log10),
    math.ErfOp.name: real.erf,
    math.SinOp.name: partial(real.steady, np.sin),
    math.CosOp.name: partial(real.steady, np.cos),
    math.TanOp.name: real.tangent,
    math.AsinOp.name: partial(real.library, np.arcsin),
    math.AcosOp.name: partial(real.library, np.arccos),
    math.AtanOp.name: partial(real.library, np.arctan),
    math.SinhOp.name: partial(real.library, np.sinh),
    math.CoshOp.name: partial(real.even, np.cosh, ulps=real.ULPS),
    math.TanhOp.name: partial(real.library, np.tanh),
    math.AsinhOp.name: partial(real.library, np.arcsinh),
    math.AcoshOp.name: partial(real.library, np.arccosh),
    math.AtanhOp.name: partial(real.library, np.arctanh),
}


# Integers


def signed(x: IntegerIntervals) -> IntegerIntervals:
    """Return integers as signed ones: a true i1 is -1."""
    return IntegerIntervals(x.t, objects(-x.value), x.known) if width_of(x.t)[0] == 1 else x


def unsigned(x: IntegerIntervals) -> IntegerIntervals:
    """Return integers as unsigned ones."""
    return IntegerIntervals(x.t, objects(x.value & ((1 << width_of(x.t)[0]) - 1)), x.known)


def _quotient(x: int, y: int) -> int:
    """Return a quotient rounded towards zero; the quotient by 0 is 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


_Reading = Callable[[IntegerIntervals], IntegerIntervals]

_OF_INTEGERS: dict[str, tuple[_Reading, Callable[[int, int], int]]] = {
    arith.AddiOp.name: (signed, lambda x, y: x + y),
    arith.SubiOp.name: (signed, lambda x, y: x - y),
    arith.MuliOp.name: (signed, lambda x, y: x * y),
    arith.AndIOp.name: (unsigned, lambda x, y: x & y),
    arith.OrIOp.name: (unsigned, lambda x, y: x | y),
    arith.XOrIOp.name: (unsigned, lambda x, y: x ^ y),
    arith.MaxSIOp.name: (signed, max),
    arith.MinSIOp.name: (signed, min),
    arith.MaxUIOp.name: (unsigned, max),
    arith.MinUIOp.name: (unsigned, min),
    arith.ShLIOp.name: (unsigned, lambda x, n: x << n),
    arith.ShRSIOp.name: (signed, lambda x, n: x >> n),
    arith.ShRUIOp.name: (unsigned, lambda x, n: x >> n),
    arith.DivSIOp.name: (signed, _quotient),
    arith.RemSIOp.name: (signed, lambda x, y: 0 if y == 0 else x - y * _quotient(x, y)),
    arith.FloorDivSIOp.name: (signed, lambda x, y: x // y),
    arith.CeilDivSIOp.name: (signed, lambda x, y: -(-x // y)),
    arith.DivUIOp.name: (unsigned, lambda x, y: x // y),
    arith.RemUIOp.name: (unsigned, lambda x, y: x % y),
    arith.CeilDivUIOp.name: (unsigned, lambda x, y: -(-x // y)),
}
"""The interpretation of an op's operands as signed or unsigned, and its function of Python's integers."""


def _compared_floats(predicate: int, a: Reals, b: Reals) -> IntegerIntervals:
    """The name of a predicate says for which orders it holds, and its first letter whether it does for NaN."""
    name = arith.CMPF_COMPARISON_OPERATIONS[predicate]
    known = a.known & b.known
    of_nan = np.isnan(a.low) | np.isnan(b.low)
    if name in ("false", "true", "ord", "uno"):
        found = of_nan == (name == "uno") if name in ("ord", "uno") else (of_nan | True) & (name == "true")
        return booleans(found, known)
    order = getattr(operator, name[1:])
    corners = [order(p, q) for p in a.ends for q in b.ends]
    found = np.where(of_nan, name[0] == "u", corners[0])
    if a is b:
        return booleans(np.where(of_nan, found, order(0, 0)), known)
    same = np.all(np.broadcast_arrays(*(c == corners[0] for c in corners)), axis=0)
    if name[1:] in ("eq", "ne"):
        # Two ranges that overlap may have a number in common, whatever their ends are.
        apart = (a.high < b.low) | (b.high < a.low)
        same = same & (apart | ((a.low == a.high) & (b.low == b.high)))
    return booleans(found, known & (same | of_nan))


def _compared_integers(predicate: int, a: IntegerIntervals, b: IntegerIntervals) -> IntegerIntervals:
    """Equal and not equal, then four orders of signed and of unsigned integers."""
    read = unsigned if predicate > 5 else signed
    order = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
    compare = order[predicate - 4 if predicate > 5 else predicate]
    return booleans(compare(read(a).value, read(b).value), a.known & b.known)


# Conversions


def _source_of(head: SymbolHead) -> np.dtype[Any]:
    """Return the dtype of the operand of a conversion."""
    return np.dtype(head.properties.split(",")[0] or head.dtype)


def _rounded(target: np.dtype[Any], x: Reals) -> Reals:
    return x.rounded_to(Format.of(target))


def _resized(read: _Reading, target: np.dtype[Any], x: IntegerIntervals) -> IntegerIntervals:
    return wrapped(element_type_of(target), read(x).value, x.known)


def _float_of_integer(read: _Reading, target: np.dtype[Any], x: IntegerIntervals) -> Reals:
    """Round integers to floats: types without arithmetic once, or after a conversion to f32."""
    fmt = Format.of(target)
    wide = read(x).value.astype(wide_dtype(fmt))
    once = enclose(fmt, [wide], x.known)
    if not is_emulated(element_type_of(target)):
        return once
    twice = enclose(Format.of(np.dtype(np.float32)), [wide], x.known).rounded_to(fmt)
    return enclose(fmt, [once.low, twice.low, twice.high], x.known)


def _integer_of_float(is_signed: bool, target: np.dtype[Any], x: Reals) -> IntegerIntervals:
    """Round floats towards zero; of those out of range, nothing is known."""
    t = element_type_of(target)
    bits, _ = width_of(t)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
    ends = [np.frompyfunc(int, 1, 1)(where(np.isfinite(end), end, 0.0)) for end in (x.low, x.high)]
    fits = np.asarray((ends[0] >= low) & (ends[1] <= high) & (ends[0] == ends[1]), np.bool_)
    return wrapped(t, ends[0], x.known & np.isfinite(x.low) & np.isfinite(x.high) & fits)


def _bits(head: SymbolHead, cells: Array) -> Value:
    """Return the numbers of another type that have the same bits; nothing is known about the bits of NaN."""
    source = _source_of(head)
    x = known_of(cells, source)
    if isinstance(x, Reals):
        own, is_known = np.asarray(x.low.astype(source)), x.is_point & ~np.isnan(x.low)
    else:
        own, is_known = np.asarray(x.value.astype(source)), x.known
    found = np.ascontiguousarray(own).view(head.dtype).reshape(own.shape)
    return known_of(Intervals().constants(found), head.dtype).only(is_known)


def _look_up(head: SymbolHead, cells: Array) -> Value:
    x, look_up = known_of(cells, _place_of(head)), head.function
    assert isinstance(x, IntegerIntervals)
    assert look_up is not None
    return known_of(Intervals().constants(look_up(x.value)), head.dtype).only(x.known)


def _place_of(head: SymbolHead) -> np.dtype[Any]:
    """Return the dtype of what is looked up, which is named where it is another one than the dtype of the result."""
    first = head.properties.split(", ")[0]
    return head.dtype if first.startswith("table=") else np.dtype(first)


_CONVERSIONS: dict[str, Callable[[np.dtype[Any], Any], Value]] = {
    arith.ExtFOp.name: _rounded,
    arith.TruncFOp.name: _rounded,
    arith.ExtSIOp.name: partial(_resized, signed),
    arith.TruncIOp.name: partial(_resized, signed),
    arith.IndexCastOp.name: partial(_resized, signed),
    arith.ExtUIOp.name: partial(_resized, unsigned),
    arith.SIToFPOp.name: partial(_float_of_integer, signed),
    arith.UIToFPOp.name: partial(_float_of_integer, unsigned),
    arith.FPToSIOp.name: partial(_integer_of_float, True),
    arith.FPToUIOp.name: partial(_integer_of_float, False),
}


def _select(head: SymbolHead, condition: Array, a: Array, b: Array) -> Value:
    chosen = np.asarray(where(condition["value"], a, b))
    return known_of(chosen, head.dtype).only(condition["known"])


def _on_values(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of cells of the head's dtype."""

    def run(head: SymbolHead, *cells: Array) -> Value:
        return function(*(known_of(c, head.dtype) for c in cells))

    return run


def _with_head(function: Callable[..., Value]) -> Callable[..., Value]:
    def run(head: SymbolHead, *cells: Array) -> Value:
        return function(head, *(known_of(c, head.dtype) for c in cells))

    return run


def _wrapping(read: _Reading, function: Callable[..., int]) -> Callable[..., Value]:
    def run(*operands: IntegerIntervals) -> IntegerIntervals:
        values = np.frompyfunc(function, len(operands), 1)(*(read(x).value for x in operands))
        return wrapped(operands[0].t, values, all_known(operands))

    return _on_values(run)


def _converting(function: Callable[[np.dtype[Any], Any], Value]) -> Callable[..., Value]:
    def run(head: SymbolHead, cells: Array) -> Value:
        return function(head.dtype, known_of(cells, _source_of(head)))

    return run


def _size(x: int) -> int:
    return abs(x)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _on_values(function) for name, function in _OF_FLOATS.items()},
    **{name: _wrapping(*read_and_function) for name, read_and_function in _OF_INTEGERS.items()},
    **{name: _converting(function) for name, function in _CONVERSIONS.items()},
    arith.MulfOp.name: _with_head(_multiply),
    arith.DivfOp.name: _with_head(_divide),
    arith.SelectOp.name: _select,
    arith.BitcastOp.name: _bits,
    TableLookUpOp.name: _look_up,
    math.AbsIOp.name: _wrapping(signed, _size),
}
"""Functions of cells by the names of ops. The first argument is the head."""
