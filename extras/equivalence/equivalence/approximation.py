"""
Bounds for passes that approximate, as `approximate(rtol=..., atol=...)` declares.

Such a pass may replace any operator by one whose results lie within the tolerance. What follows computes with these
results: a number that is subtracted, rounded to an integer or compared may then differ by more than the tolerance, or
be undecided. So the tolerance becomes a spread of each result of an operator that computes floats, and, in loops, of
each quotient, root, and function such as `exp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, math

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.relex import Convolution, DenseBlockRowsOp, DenseBlocksOp, DenseOp, Exactness, MatmulOp, Operator
from relex.passes.rewriting.numerics import Numerics
from relex.reference.domains.symbols import SymbolHead
from relex.reference.equivalence.bounded import SLACK, Format, plain, spread_of, value_of, where
from relex.reference.equivalence.bounds import BoundedNumbers, Bounds
from relex.reference.equivalence.reassociation import ReassociatedBounds
from relex.reference.equivalence.spread_rules import LIBRARY_FUNCTIONS, Rule, names_of


def numbers_for(numerics: Numerics) -> BoundedNumbers:
    """Return numbers with the spread that they may have after a pass of these numerics."""
    bounds = ReassociatedBounds() if numerics.reassociates else Bounds()
    if numerics.rtol or numerics.atol:
        return ApproximateNumbers(ApproximateBounds(bounds, numerics))
    if numerics.operands:
        return RoundedOperands(bounds, numerics.operands)
    if numerics.rows:
        return RoundedRows(bounds, numerics.rows)
    return BoundedNumbers(bounds)


class RoundedOperands(BoundedNumbers):
    """Numbers with the spread of their values if operands of products are rounded."""

    def __init__(self, bounds: Bounds, rtol: float) -> None:
        super().__init__(bounds)
        self._rounding = ApproximateBounds(bounds, Numerics(rtol=rtol, atol=2.0**-134))  # Small numbers of 8 bits less.
        self._of_both = ApproximateBounds(bounds, Numerics(rtol=rtol * (2 + rtol), atol=2.0**-133))

    def run_operator(self, op: Operator, arrays: Sequence[Any]) -> Any:
        if isinstance(op, DenseOp | MatmulOp | Convolution):
            arrays = [self._rounding.with_tolerance(a) if is_float_dtype(value_of(a).dtype) else a for a in arrays]
        if isinstance(op, DenseBlocksOp | DenseBlockRowsOp):
            # The numbers of a weight in blocks are no operand: their rounding counts as one of the data.
            data, *blocks = arrays
            arrays = [self._of_both.with_tolerance(data), *blocks]
        return super().run_operator(op, arrays)


class RoundedRows(BoundedNumbers):
    """Numbers with the spread of their values if data of matrix products are rounded, relative to the largest of a
    row."""

    def __init__(self, bounds: Bounds, rtol: float) -> None:
        super().__init__(bounds)
        self._rtol = rtol

    def run_operator(self, op: Operator, arrays: Sequence[Any]) -> Any:
        if isinstance(op, DenseOp | MatmulOp | DenseBlocksOp | DenseBlockRowsOp):
            data, *weight = arrays
            arrays = [self._rounded(data), *weight]
        return super().run_operator(op, arrays)

    def _rounded(self, data: Any) -> Any:
        """Add the rounding to the spread of data; in a row with infinite numbers or NaN, any number may be NaN."""
        value = value_of(data)
        largest = np.max(np.abs(np.asarray(value, np.float64)), -1, keepdims=True, initial=0.0)
        tolerance = np.broadcast_to(SLACK * self._rtol * largest, value.shape)
        spread = spread_of(data) + where(np.isfinite(tolerance), tolerance, np.inf)
        return plain(value, spread)


class ApproximateBounds(Bounds):
    """Numbers with the spread of their values if functions in loops are approximated."""

    def __init__(self, bounds: Bounds, numerics: Numerics) -> None:
        self.exact = bounds
        self._numerics = numerics

    def rule_of(self, name: str) -> Rule:
        rule = self.exact.rule_of(name)
        if name not in _APPROXIMATED:
            return rule

        def bound(head: SymbolHead, value: Any, *operands: Any) -> Any:
            return self.with_tolerance(rule(head, value, *operands))

        return bound

    def with_tolerance(self, number: Any) -> Any:
        """Add the tolerance to the spread of numbers. NaN and infinities stay, but near the largest number results may
        become infinite."""
        value = value_of(number)
        wide = np.abs(np.asarray(value, np.float64))
        tolerance = SLACK * (self._numerics.atol + self._numerics.rtol * wide)
        spread = spread_of(number) + where(np.isfinite(wide), tolerance, 0.0)
        may_overflow = np.isfinite(wide) & ~(wide + spread < Format.of(value.dtype).largest)
        return plain(value, where(may_overflow, np.inf, spread))


class ApproximateNumbers(BoundedNumbers):
    """Numbers with the spread of their values if operators are approximated."""

    def __init__(self, bounds: ApproximateBounds) -> None:
        super().__init__(bounds)
        self._bounds = bounds
        self._exact = BoundedNumbers(bounds.exact)

    def run_operator(self, op: Operator, arrays: Sequence[Any]) -> Any:
        found = self._exact.run_operator(op, arrays)
        if op.EXACTNESS is Exactness.BITS:
            return found
        if len(op.results) == 1:
            return self._approximated(found)
        return tuple(map(self._approximated, found))

    def _approximated(self, array: Any) -> Any:
        return self._bounds.with_tolerance(array) if is_float_dtype(value_of(array).dtype) else array


_APPROXIMATED = names_of(arith.DivfOp, math.SqrtOp, *LIBRARY_FUNCTIONS)
"""Ops in loops whose results may be approximated."""
