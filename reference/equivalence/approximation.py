"""
Bounds for passes that approximate, as `approximate(rtol=..., atol=...)` declares.

Such a pass may replace any operator by one whose results lie within the tolerance. What follows computes with these
results: a number that is subtracted, rounded to an integer or compared may then differ by more than the tolerance, or
be undecided. So the tolerance becomes a spread of each result of an operator that computes floats, and, in loops, of
each quotient, root, and function such as `exp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from relex.dialects.dtypes import is_float_dtype
from relex.dialects.relex import Exactness, Operator
from relex.passes.numerics import Numerics
from relex.reference.equivalence.bounded import SLACK, Format, plain, spread_of, value_of, where
from relex.reference.equivalence.bounds import BoundedNumbers
from relex.reference.equivalence.reassociation import ReassociatedNumbers
from relex.reference.equivalence.spread_rules import LIBRARY_FUNCTIONS, Rule


def numbers_for(numerics: Numerics) -> BoundedNumbers:
    """Return numbers with the spread that they may have after a pass of these numerics."""
    if numerics.rtol or numerics.atol:
        return ApproximateNumbers(numerics)
    return ReassociatedNumbers() if numerics.reassociates else BoundedNumbers()


class ApproximateNumbers(BoundedNumbers):
    """Numbers with the spread of their values if operators are approximated."""

    def __init__(self, numerics: Numerics) -> None:
        super().__init__()
        self._numerics = numerics
        self._others = ReassociatedNumbers if numerics.reassociates else BoundedNumbers

    def of_loops(self) -> BoundedNumbers:
        return self._others()

    def rule_of(self, op: Operation) -> Rule:
        rule = self._others().rule_of(op)
        return self._approximated(rule) if isinstance(op, _APPROXIMATED) else rule

    def result_of(self, op: Operator, result: Any) -> Any:
        is_approximated = op.EXACTNESS is not Exactness.BITS and is_float_dtype(value_of(result).dtype)
        return self._with_tolerance(result) if is_approximated else result

    def _approximated(self, rule: Callable[..., Any]) -> Rule:
        def bound(op: Operation, value: Any, *operands: Any) -> Any:
            return self._with_tolerance(rule(op, value, *operands))

        return bound

    def _with_tolerance(self, number: Any) -> Any:
        """Add the tolerance to the spread of numbers. NaN and infinities stay, but near the largest number results may
        become infinite."""
        value = value_of(number)
        wide = np.abs(np.asarray(value, np.float64))
        tolerance = SLACK * (self._numerics.atol + self._numerics.rtol * wide)
        spread = spread_of(number) + where(np.isfinite(wide), tolerance, 0.0)
        may_overflow = np.isfinite(wide) & ~(wide + spread < Format.of(value.dtype).largest)
        return plain(value, where(may_overflow, np.inf, spread))


_APPROXIMATED = (arith.DivfOp, math.SqrtOp, *LIBRARY_FUNCTIONS)
"""Ops in loops whose results may be approximated."""
