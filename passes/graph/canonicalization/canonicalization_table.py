"""The open table of simplifications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from relex.dialects.relex import Operator
from relex.dialects.table import Table
from relex.passes.driver.running import tries

Simplification = Callable[..., SSAValue | Operator | None]
"""Map an operator to a value that equals its result, or to a new operator with the same result; None if there is none.
It may inspect the operator and the definitions of its operands, and changes nothing. Equal means to the bit, including
NaN, infinities and zeros of both signs."""

SIMPLIFICATIONS = Table[type[Operation], "tuple[Simplify, ...]"]("simplifications")
"""The simplifications of each operator class."""


@dataclass(frozen=True)
class Simplify(RewritePattern):
    """Apply a simplification to an operator, if the result has the same type."""

    simplification: Simplification

    @property
    def rule_name(self) -> str:
        """The name of the function."""
        return getattr(self.simplification, "__name__", repr(self.simplification))

    @property
    def title(self) -> str:
        """The name used in error messages."""
        return f"simplification '{self.simplification.__qualname__}'"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        tries(self)
        found = self.simplification(op)
        if found is None or SSAValue.get(found).type != op.results[0].type:
            return
        if isinstance(found, Operator):
            found.location = op.location
            rewriter.replace(op, found)
        else:
            rewriter.replace(op, [], [SSAValue.get(found)])


def simplifies(*operators: type[Operation]) -> Callable[[Simplification], Simplification]:
    """Register a function as a simplification of operators."""
    SIMPLIFICATIONS.expect_keys(*operators)

    def enter(function: Simplification) -> Simplification:
        for operator in operators:
            SIMPLIFICATIONS[operator] = (*SIMPLIFICATIONS.get(operator, ()), Simplify(function))
        return function

    return enter
