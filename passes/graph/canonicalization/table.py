"""The table of simplifications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from relex.dialects.relex import Operator
from relex.dialects.table import Table

Simplification = Callable[..., SSAValue | Operator | None]
"""From an operator to a value that equals its result, or to a new operator with the same result; None if there is none.

It looks at the operator and those that make its operands, and changes nothing. Equal means to the bit, for NaN,
infinities and zeros of both signs too.
"""

SIMPLIFICATIONS = Table[type[Operation], "tuple[Simplify, ...]"]("simplifications")
"""The table, by operator class; an operator may have several."""


@dataclass(frozen=True)
class Simplify(RewritePattern):
    """Replace an operator by what a simplification finds, if that has the same type."""

    simplification: Simplification

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        found = self.simplification(op)
        if found is None or SSAValue.get(found).type != op.results[0].type:
            return
        if isinstance(found, Operator):
            found.location = op.location
            rewriter.replace(op, found)
        else:
            rewriter.replace(op, [], [SSAValue.get(found)])


def simplifies(*operators: type[Operation]) -> Callable[[Simplification], Simplification]:
    """Enter a function into the table."""

    def enter(function: Simplification) -> Simplification:
        for operator in operators:
            SIMPLIFICATIONS[operator] = (*SIMPLIFICATIONS.get(operator, ()), Simplify(function))
        return function

    return enter
