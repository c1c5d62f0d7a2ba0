"""Loop functions checked in wider precision: each op on numbers is compared with its function of intervals, on its own
operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from relex.dialects.relex import Operator
from relex.reference.domains.domain import Make
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.scalars import dtype_of
from relex.reference.intervals.domain import Intervals
from relex.reference.intervals.graphs import Agreement, judge
from relex.reference.intervals.numbers import known_of

TIMES = 100
"""The number of times that an op is checked, which takes longer than interpreting it."""

Note = Callable[[Operation, Agreement], None]
"""Called with an op and how its results agree with intervals."""

INTERVALS = Intervals()


class HeldNumbers(Numbers):
    """NumPy's numbers, each checked against the function of intervals of the op that computes it."""

    def __init__(self, note: Note) -> None:
        super().__init__(checked=True)
        self._note = note

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        make = function_of(op, function)
        if make is None:
            return function
        times = 0

        def run(*numbers: Any) -> Any:
            nonlocal times
            found = function(*numbers)
            if times < TIMES:
                times += 1
                self._note(op, verdict_on(op, make, numbers, found))
            return found

        return run


def function_of(op: Operation, function: Callable[..., Any]) -> Make | None:
    """Return the function of an op on intervals; None if it has none."""
    if isinstance(op, Operator) or len(op.results) != 1:
        return None
    try:
        return INTERVALS.make_op(op, function)
    except KeyError:
        return None


def verdict_on(op: Operation, make: Make, numbers: Sequence[Any], found: Any) -> Agreement:
    """Return how the result of an op on numbers agrees with its function of intervals."""
    array = np.asarray(found)
    operands = [INTERVALS.constants(np.asarray(x)) for x in numbers]
    known = known_of(make(*operands), dtype_of(op, op.results[0].type))
    return judge(known.moved(lambda part: np.broadcast_to(part, array.shape)), array, signs=True)
