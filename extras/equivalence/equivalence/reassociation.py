"""
Bounds for passes that regroup sums and products across ops, as `reassociates` declares.

Every sum counts as one in any order, and every product and quotient as rounded anywhere in its chain: each contributes
`ROUNDINGS` roundings, so that a chain of n factors may be off by n in either order, and as much again where a factor
is exact in one order only. Beyond `_limit`, factors may overflow or vanish in another order: nothing is compared there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith

from relex.dialects.table import Table
from relex.reference.domains.symbols import SUM, SymbolHead
from relex.reference.equivalence.bounded import Format, add_terms, plain, quantum_of, spread_of, value_of, where
from relex.reference.equivalence.bounds import Bounds
from relex.reference.equivalence.spread_rules import Rule, bound_divf, bound_mulf, names_of

ROUNDINGS = 4
"""Roundings of a product that is not exact."""

REASSOCIATED = Table[str, Rule]("reassociated bounds")
"""Spread of the results of ops that may be regrouped, by name of op."""


class ReassociatedBounds(Bounds):
    """Numbers with the spread of their values in any order of sums and products."""

    def rule_of(self, name: str) -> Rule:
        return REASSOCIATED.get(name) or super().rule_of(name)


def _limit(dtype: np.dtype[Any]) -> float:
    """Return the magnitude up to which products of a few numbers neither overflow nor vanish."""
    return Format.of(dtype).largest ** 0.25


@REASSOCIATED.rule(SUM, *names_of(arith.AddfOp, arith.SubfOp))
def bound_sum(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Add a term to a sum in any order. The difference of infinities may be anything after a distribution."""
    result = add_terms(value, a, b)
    is_made = np.isnan(value) & ~np.isnan(value_of(a)) & ~np.isnan(value_of(b))
    if np.any(is_made):
        result = plain(value, where(is_made, np.inf, spread_of(result)))
    return result


@REASSOCIATED.rule(*names_of(arith.MulfOp))
def bound_product(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound a factor of a product in any order."""
    wide_a, wide_b = (np.abs(np.asarray(value_of(x), np.float64)) for x in (a, b))
    is_exact = np.asarray(np.abs(value), np.float64) < 2.0 ** Format.of(value.dtype).precision * (
        quantum_of(wide_a) * quantum_of(wide_b)
    )
    limit = _limit(value.dtype)
    return _rounded_anywhere(bound_mulf, head, value, a, b, is_exact, ~((wide_a <= limit) & (wide_b <= limit)))


@REASSOCIATED.rule(*names_of(arith.DivfOp))
def bound_quotient(head: SymbolHead, value: Any, a: Any, b: Any) -> Any:
    """Bound a quotient, which may be a product with the reciprocal."""
    wide_a, wide_b = (np.abs(np.asarray(value_of(x), np.float64)) for x in (a, b))
    limit = _limit(value.dtype)
    # A divisor that is certainly zero is zero in any order.
    is_zero = (wide_b == 0) & (spread_of(b) == 0)
    is_extreme = ~((wide_a <= limit) & (wide_b <= limit) & ((wide_b >= 1 / limit) | is_zero))
    return _rounded_anywhere(bound_divf, head, value, a, b, False, is_extreme)


def _rounded_anywhere(
    bound: Callable[..., Any], head: SymbolHead, value: Any, a: Any, b: Any, is_exact: Any, is_extreme: Any
) -> Any:
    """Return a result with the spread that `bound` gives, and the roundings of another order."""
    spread = spread_of(bound(head, value, a, b))
    fmt = Format.of(value.dtype)
    rounding = ROUNDINGS * fmt.roundoff * np.abs(np.asarray(value, np.float64)) + fmt.tiny
    spread = spread + where(is_exact | ~np.isfinite(rounding), 0.0, rounding)
    is_nan = (np.isnan(value_of(a)) & np.isfinite(spread_of(a))) | (np.isnan(value_of(b)) & np.isfinite(spread_of(b)))
    return plain(value, where(is_nan, 0.0, where(is_extreme, np.inf, spread)))
