"""Loop functions checked against formulas: each op on numbers is compared with its formula, on its own operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.reference.interpreter.numbers import Numbers

# Enters the formulas of ops on numbers.
from relex.reference.intervals import scalars as scalars
from relex.reference.intervals.formulas import FORMULAS, Formula
from relex.reference.intervals.graphs import Verdict, judge
from relex.reference.intervals.numbers import Reals, Value, format_of, value_of
from relex.reference.intervals.scalars import stored_type

TIMES = 100
"""The number of times that an op is checked against its formula, which takes longer than interpreting it."""

Note = Callable[[Operation, Verdict], None]
"""Called with an op and how its results agree with its formula."""


class HeldNumbers(Numbers):
    """NumPy's numbers, each checked against the formula of the op that computes it."""

    def __init__(self, note: Note) -> None:
        super().__init__(checked=True)
        self._note = note

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        formula = FORMULAS.find(op)
        if formula is None or isinstance(op, Operator):
            return function
        times = 0

        def run(*numbers: Any) -> Any:
            nonlocal times
            found = function(*numbers)
            if times < TIMES:
                times += 1
                self._note(op, verdict_on(op, formula, numbers, found))
            return found

        return run


def verdict_on(op: Operation, formula: Formula, numbers: Sequence[Any], found: Any) -> Verdict:
    """Return how the result of an op on numbers agrees with its formula."""
    array = np.asarray(found)
    operands = [value_of(stored_type(v.type), np.asarray(x)) for v, x in zip(op.operands, numbers, strict=True)]
    if any(x is None for x in operands):
        return Verdict(0, array.size, None)
    with np.errstate(all="ignore"):
        known: Value = formula(op, *operands)
    result = stored_type(op.results[0].type)
    if isinstance(known, Reals):
        known = known.rounded_to(format_of(result))
    return judge(known.moved(lambda part: np.broadcast_to(part, array.shape)), array, signs=True)
