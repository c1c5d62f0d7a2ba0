"""Rules that bound the results of ops: the spread of a float from its value and the spreads of the operands.

What a spread is, and which results are correct, is said in `relex.reference.equivalence.bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.table import Table
from relex.dialects.tir import Dot2Op
from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.equivalence.bounded import SLACK, Format, add_terms, plain, quantum_of, spread_of, value_of, where
from relex.reference.interpreter.arith import bf16_in
from relex.reference.interpreter.math import FUNCTIONS
from relex.reference.interpreter.memory import any_of

FUNCTION_ULPS = 8
"""The maximum distance between the results of two libraries in units in the last place: each is accurate to half of it.
(The formulas of `expand-math` are accurate to 1.5, the common C libraries to 1 or 2, NumPy to 4.)"""

Rule = Callable[..., Any]
"""Maps a function, the value of its result, and its operands to the result with its spread."""

RULES = Table[str, Rule]("bounds")
"""Spread of the results of functions, by name of op. Without a rule, a result is known if all operands are."""


def names_of(*kinds: type[Operation]) -> tuple[str, ...]:
    """Return the names of ops."""
    return tuple(kind.name for kind in kinds)


def known_if_operands_are(head: SymbolHead, value: Any, *operands: Any) -> Any:
    """Return a result that is known, without a spread, if all operands are."""
    unknown = np.any(np.broadcast_arrays(*(spread_of(x) != 0 for x in operands), False), axis=0)
    return plain(value, where(unknown, np.inf, 0.0))


_OPEN = {FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT, FastMathFlag.NO_SIGNED_ZEROS, FastMathFlag.ALLOW_RECIP}
"""The fast-math flags whose effect is bounded."""


def _wide(number: Any) -> Any:
    return np.asarray(value_of(number), np.float64)


def _rounded(head: SymbolHead, value: Any, exact: Any, operands: Sequence[Any], *, straddles: Any = False) -> Any:
    """Return `value` with its spread as a rounded result: `exact` is the spread before rounding, which counts only
    where an operand has a spread. `straddles` marks where an operand may have either sign."""
    fmt, flags = Format.of(value.dtype), head.flags
    spreads = [spread_of(x) for x in operands]
    if flags - _OPEN:
        result = np.full(np.shape(value), np.inf)
    elif any(any_of(spread != 0) for spread in spreads):
        result = _spread_of_rounded(fmt, value, exact, operands, spreads, straddles)
    else:
        result = np.zeros(np.shape(value))
    if FastMathFlag.NO_SIGNED_ZEROS in flags:
        result = where(value == 0, np.maximum(result, fmt.tiny), result)
    return plain(value, result)


def _spread_of_rounded(
    fmt: Format, value: Any, exact: Any, operands: Sequence[Any], spreads: Sequence[Any], straddles: Any
) -> Any:
    wide = np.abs(np.asarray(value, np.float64))
    uncertain = np.any(np.broadcast_arrays(*(s != 0 for s in spreads)), axis=0)
    spread = SLACK * (exact + 2 * fmt.roundoff * (wide + exact)) + 2 * fmt.tiny
    spread = where(np.isnan(spread) | ~(wide + spread < fmt.largest), np.inf, spread)
    wides = [_wide(x) for x in operands]
    finite_or_known = [(s == 0) | (np.isfinite(s) & np.isfinite(x)) for x, s in zip(wides, spreads, strict=True)]
    some_infinite = np.any(np.broadcast_arrays(*(~np.isfinite(x) for x in wides)), axis=0)
    is_determined = np.all(np.broadcast_arrays(*finite_or_known), axis=0) & some_infinite & ~np.asarray(straddles)
    spread = where(~np.isfinite(wide) & is_determined, 0.0, spread)
    return where(uncertain, spread, 0.0)


@RULES.rule(SUM, *names_of(arith.AddfOp, arith.SubfOp))
def bound_addition(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Add a term to a sum in any order, if flags allow that; else add the spreads."""
    if head.name == SUM or (FastMathFlag.REASSOC in head.flags and not head.flags - _OPEN):
        return add_terms(value, a, b)
    return _rounded(head, value, spread_of(a) + spread_of(b), (a, b))


@RULES.rule(*names_of(arith.MulfOp))
def bound_mulf(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound a product over all operands; if it may be fused into a sum, its rounding is uncertain, too."""
    wide_a, wide_b, spread_a, spread_b = np.abs(_wide(a)), np.abs(_wide(b)), spread_of(a), spread_of(b)
    exact = wide_a * spread_b + wide_b * spread_a + 2 * spread_a * spread_b
    straddles = ((spread_a > 0) & (wide_a <= spread_a)) | ((spread_b > 0) & (wide_b <= spread_b))
    result = _rounded(head, value, exact, (a, b), straddles=straddles)
    if not head.flags & {FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT}:
        return result
    # It may be fused into a sum without rounding.
    fmt, wide = Format.of(value.dtype), np.abs(np.asarray(value, np.float64))
    quantum = quantum_of(wide_a) * quantum_of(wide_b)
    is_exact = (wide < 2.0**fmt.precision * quantum) & (quantum >= fmt.tiny)
    is_known = is_exact | ~np.isfinite(wide_a) | ~np.isfinite(wide_b) | (wide_a == 0) | (wide_b == 0)
    rounding = where(is_known, 0.0, 2 * fmt.roundoff * wide + fmt.tiny)
    return plain(value, spread_of(result) + rounding)


@RULES.rule(*names_of(arith.DivfOp))
def bound_divf(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound a quotient by the smallest possible divisor; infinite if that may be zero."""
    spread_a, spread_b = spread_of(a), spread_of(b)
    least = np.abs(_wide(b)) - spread_b
    exact = (spread_a + (np.abs(_wide(a)) + spread_a) / least * spread_b) / least
    straddles = (spread_b > 0) & ~(least > 0)
    result = _rounded(head, value, where(straddles, np.inf, exact), (a, b), straddles=straddles)
    if FastMathFlag.ALLOW_RECIP not in head.flags:
        return result
    # It may be the product with the rounded reciprocal, unless that is no normal number.
    fmt, wide_a, wide_b = Format.of(value.dtype), np.abs(_wide(a)), np.abs(_wide(b))
    wide = np.abs(np.asarray(value, np.float64)) + spread_of(result)
    is_known = (wide_b == 0) | ~np.isfinite(wide_b)
    is_normal = (fmt.tiny * 2.0**fmt.precision < 1 / wide_b) & (1 / wide_b < fmt.largest)
    rounding = where((wide_a == 0) | ~np.isfinite(wide_a), 0.0, 4 * fmt.roundoff * wide + fmt.tiny)
    return plain(value, spread_of(result) + where(is_known, 0.0, where(is_normal, rounding, np.inf)))


@RULES.rule(*names_of(math.FmaOp))
def bound_fma(head: SymbolHead, value: Any, a: Any, b: Any, c: Any) -> Any:
    """Bound a product and a sum with one rounding."""
    spread_a, spread_b = spread_of(a), spread_of(b)
    exact = np.abs(_wide(a)) * spread_b + np.abs(_wide(b)) * spread_a + 2 * spread_a * spread_b + spread_of(c)
    return _rounded(head, value, exact, (a, b, c), straddles=True)


@RULES.rule(*names_of(Dot2Op))
def bound_pairs(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound two products that are added up. Either of them may be fused into a sum without rounding, and what is not
    normal, factors and sums, may be zero: a tile has some sums for each pair."""
    fmt, least = Format.of(value.dtype), float(np.finfo(value.dtype).tiny)
    size, lost = 0.0, 4 * least
    with np.errstate(all="ignore"):
        for place in range(2):
            left, right = (np.abs(_wide(bf16_in(value_of(x), place))) for x in (a, b))
            size += left * right
            lost += where(((left > 0) & (left < least)) | ((right > 0) & (right < least)), left * right, 0.0)
    is_known = (spread_of(a) == 0) & (spread_of(b) == 0) & ((size < fmt.largest) | ~np.isfinite(size))
    spread = where(np.isfinite(size), SLACK * (2 * fmt.roundoff * size + lost), 0.0)
    return plain(value, where(is_known, spread, np.inf))


@RULES.rule(*names_of(arith.NegfOp, math.AbsFOp, arith.ExtFOp))
def bound_exact_op(head: SymbolHead, value: Any, a: Any) -> Any:
    """Keep the spread of the operand: these ops are exact."""
    return plain(value, spread_of(a))


@RULES.rule(*names_of(arith.BitcastOp))
def bound_bits(head: SymbolHead, value: Any, a: Any) -> Any:
    """Bound the bits of a number: the bits of NaN are not known."""
    result, number = known_if_operands_are(head, value, a), value_of(a)
    return plain(value, where(np.isnan(number), np.inf, spread_of(result))) if is_float_dtype(number.dtype) else result


@RULES.rule(*names_of(arith.TruncFOp))
def bound_truncf(head: SymbolHead, value: Any, a: Any) -> Any:
    """Round the operand once more."""
    return _rounded(head, value, spread_of(a), (a,))


@RULES.rule(*names_of(arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp))
def bound_minmax(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Keep the spread of the operand that is chosen, or the larger one if either may be."""
    left, right, spread_a, spread_b = _wide(a), _wide(b), spread_of(a), spread_of(b)
    is_left = np.asarray(value == value_of(a)) | np.isnan(left)
    is_clear = np.abs(left - right) > spread_a + spread_b
    spread = where(is_clear, where(is_left, spread_a, spread_b), np.maximum(spread_a, spread_b))
    zeros = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
    spread = where(zeros, np.maximum(spread, Format.of(value.dtype).tiny), spread)
    return plain(value, where(np.isnan(left) | np.isnan(right), where(np.isfinite(spread), 0.0, np.inf), spread))


@RULES.rule(*names_of(arith.CmpfOp))
def bound_cmpf(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound a comparison: known if the operands lie further apart than their spreads."""
    left, right, spread = _wide(a), _wide(b), spread_of(a) + spread_of(b)
    is_clear = np.abs(left - right) > spread
    if a is b:
        is_clear = np.isfinite(spread)
    is_nan = (np.isnan(left) | np.isnan(right)) & np.isfinite(spread)
    return plain(value, where((spread == 0) | is_clear | is_nan, 0.0, np.inf))


@RULES.rule(*names_of(arith.SelectOp))
def bound_select(head: SymbolHead, value: Any, condition: Any, a: Any, b: Any) -> Any:
    """Keep the spread of the chosen operand; if either may be, add the distance between the two."""
    chosen = where(value_of(condition), a, b)
    unclear = spread_of(condition) != 0
    if not np.any(unclear):
        return chosen[()]
    if not is_float_dtype(value.dtype):
        apart = where(value_of(a) == value_of(b), 0.0, np.inf)
    else:
        apart = np.abs(_wide(a) - _wide(b))
        apart = where(np.isnan(apart), np.inf, apart)
    either = np.maximum(spread_of(a), spread_of(b)) + apart
    return where(unclear, plain(value, np.broadcast_to(either, np.shape(value))), chosen)[()]


@RULES.rule(*names_of(arith.FPToSIOp, arith.FPToUIOp))
def bound_float_to_integer(head: SymbolHead, value: Any, a: Any) -> Any:
    """Bound a conversion: known if the range of the operand truncates to one integer that fits."""
    wide, spread = _wide(a), spread_of(a)
    is_known = (spread == 0) | (np.trunc(wide - spread) == np.trunc(wide + spread))
    unsigned = head.name == arith.FPToUIOp.name
    limit = 2.0 ** (8 * value.dtype.itemsize - (not unsigned))
    fits = (np.trunc(wide) < limit) & (np.trunc(wide) >= (0 if unsigned else -limit))
    return plain(value, where(is_known & fits, 0.0, np.inf))


_EXACT = (math.CeilOp, math.FloorOp, math.RoundEvenOp, math.SqrtOp, math.TruncOp)
"""Increasing functions with one correct result."""

_INVERSES = (math.AcosOp, math.AcoshOp, math.AsinOp, math.AsinhOp, math.AtanOp, math.AtanhOp, math.CbrtOp)
_EXPONENTIALS = (math.Exp2Op, math.ExpM1Op, math.ExpOp, math.SinhOp, math.TanhOp)
_LOGARITHMS = (math.Log10Op, math.Log1pOp, math.Log2Op, math.LogOp)
"""Monotonic functions from libraries."""

_STEADY: dict[type[Operation], float] = {math.CosOp: 1.0, math.SinOp: 1.0, math.ErfOp: 1.13}
"""Functions from libraries, with bounds of their slopes (Lipschitz constants)."""

_SLOPES = {kind.name: slope for kind, slope in _STEADY.items()}
_FUNCTIONS = {kind.name: function for kind, function in FUNCTIONS.items()}


@RULES.rule(*names_of(*_EXACT, *_INVERSES, *_EXPONENTIALS, *_LOGARITHMS))
def bound_monotonic_function(head: SymbolHead, value: Any, a: Any) -> Any:
    """Bound a monotonic function by its values at both ends of the operand's range."""
    function = _FUNCTIONS[head.name]
    wide, spread = _wide(a), spread_of(a)
    exact = where(spread > 0, np.abs(function(wide + spread) - function(wide - spread)), 0.0)
    result = _rounded(head, value, exact, (a,))
    return result if head.name in names_of(*_EXACT) else _from_library(head, result)


@RULES.rule(*names_of(*_STEADY))
def bound_lipschitz_function(head: SymbolHead, value: Any, a: Any) -> Any:
    """Bound a function by its largest slope."""
    return _from_library(head, _rounded(head, value, _SLOPES[head.name] * spread_of(a), (a,)))


_CORNERED = (math.CoshOp, math.PowFOp, math.RsqrtOp)
"""Functions from libraries that are monotonic in each argument, as long as the first one keeps its sign."""


@RULES.rule(*names_of(*_CORNERED))
def bound_cornered_function(head: SymbolHead, value: Any, *operands: Any) -> Any:
    """Bound a function by its values at the corners of the operands' ranges."""
    ends = [(_wide(x) - spread_of(x), _wide(x) + spread_of(x)) for x in operands]
    corners = np.broadcast_arrays(*(_FUNCTIONS[head.name](*corner) for corner in product(*ends)))
    exact = np.max(corners, axis=0) - np.min(corners, axis=0)
    straddles = np.abs(_wide(operands[0])) <= spread_of(operands[0])
    is_known = np.all(np.broadcast_arrays(*(spread_of(x) == 0 for x in operands)), axis=0)
    exact = where(is_known, 0.0, where(straddles, np.inf, exact))
    return _from_library(head, _rounded(head, value, exact, operands, straddles=True))


@RULES.rule(*names_of(math.TanOp, math.Atan2Op, math.FPowIOp))
def bound_discontinuous_function(head: SymbolHead, value: Any, *operands: Any) -> Any:
    """Bound a function with jumps or poles: known if all operands are."""
    return _from_library(head, known_if_operands_are(head, value, *operands))


LIBRARY_FUNCTIONS: tuple[type[Operation], ...] = (
    *(*_INVERSES, *_EXPONENTIALS, *_LOGARITHMS, *_STEADY, *_CORNERED),
    *(math.TanOp, math.Atan2Op, math.FPowIOp),
)
"""Functions that may come from any library."""


def _from_library(head: SymbolHead, number: Any) -> Any:
    """Add the distance between libraries to the spread of a function's result."""
    value = value_of(number)
    fmt, wide = Format.of(value.dtype), np.abs(np.asarray(value, np.float64))
    apart = where(np.isfinite(wide), FUNCTION_ULPS * (2 * fmt.roundoff * wide + fmt.tiny), 0.0)
    return plain(value, spread_of(number) + apart)
