"""The terms of ops on numbers: what each makes of the terms of its operands.

An op without a rule is a function about which nothing is known but that equal operands give equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import AnyFloat
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

from relex.dialects.table import Table
from relex.reference.domains.symbols import SUM, SymbolHead, flags, head_of
from relex.reference.interpreter.arith import MODULAR_FUNCTIONS, SIGNED_FUNCTIONS, UNSIGNED_FUNCTIONS, integer_function
from relex.reference.interpreter.scalars import dtype_of
from relex.reference.interpreter.vector import COMBINING
from relex.reference.proof.terms import EXACT_PRODUCT, Terms

Make = Callable[..., int]
"""Maps the terms of an op's operands to the term of its result."""

Rule = Callable[[Any, Terms, Callable[..., Any]], Make]
"""Returns the `Make` of an op; the last argument computes its result for NumPy's numbers."""

TERMS = Table[type[Operation], Rule]("proof terms")
"""The rules, by class of op."""

REASSOC = FastMathFlag.REASSOC


def make_term(op: Operation, terms: Terms, function: Callable[..., Any]) -> Make:
    """Return the `Make` of an op with one result."""
    rule = TERMS.find(op)
    return terms.make_op(op, function) if rule is None else rule(op, terms, function)


@TERMS.rule(arith.AddfOp)
def make_addf(op: arith.AddfOp, terms: Terms, function: Callable[..., Any]) -> Make:
    """Add to a sum in any order, if flags allow it."""
    return terms.make(_sum_head(op, dtype_of(op, op.result.type)))


@TERMS.rule(arith.SubfOp)
def make_subf(op: arith.SubfOp, terms: Terms, function: Callable[..., Any]) -> Make:
    """Add the negative."""
    dtype = dtype_of(op, op.result.type)
    negative, total = terms.make(head_of("arith.negf", dtype)), terms.make(_sum_head(op, dtype))

    def make(a: int, b: int) -> int:
        return total(a, negative(b))

    return make


@TERMS.rule(math.FmaOp, vector.FMAOp)
def make_fma(op: math.FmaOp | vector.FMAOp, terms: Terms, function: Callable[..., Any]) -> Make:
    """Add a product that is not rounded to a sum in any order, if flags allow it."""
    dtype = dtype_of(op, op.results[0].type)
    if flags(op, REASSOC):
        total, product = terms.make(_sum_head(op, dtype)), terms.make(SymbolHead(EXACT_PRODUCT, dtype))

        def add(a: int, b: int, c: int) -> int:
            return total(c, product(*terms.ordered(a, b)))

        return add
    fused = terms.make(SymbolHead(math.FmaOp.name, dtype, flags(op), function))

    def make(a: int, b: int, c: int) -> int:
        return fused(*terms.ordered(a, b), c)

    return make


def _sum_head(op: Operation, dtype: Any) -> SymbolHead:
    """Return the head for an addition with the flags of an op."""
    if flags(op, REASSOC):
        return SymbolHead(SUM, dtype, "", head_of("arith.addf", dtype).function)
    return head_of("arith.addf", dtype, flags(op))


_EXTREMES: tuple[type[Operation], ...] = (arith.MaximumfOp, arith.MinimumfOp)


@TERMS.rule(*MODULAR_FUNCTIONS, *SIGNED_FUNCTIONS, *UNSIGNED_FUNCTIONS, *_EXTREMES)
def make_exact_op(op: Operation, terms: Terms, function: Callable[..., Any]) -> Make:
    """Apply a function of integers, or choose the larger or smaller float: as one step of a chain if it may be applied
    in any order."""
    return terms.make(SymbolHead(op.name, dtype_of(op, op.results[0].type), "", function))


def reduction_term(op: vector.ReductionOp, terms: Terms, function: Callable[..., Any]) -> Callable[..., int]:
    """Return a function that reduces the terms of a vector, from the first to the last; the accumulator comes first."""
    element: Attribute = op.dest.type
    dtype = dtype_of(op, element)
    kind = COMBINING[op.kind.data][0 if isinstance(element, AnyFloat) else 1]
    assert kind is not None
    if not isinstance(element, AnyFloat):
        step = terms.make(SymbolHead(kind.name, dtype, "", integer_function(op, kind, element)))
        return lambda *values: reduce(step, values)
    properties = "" if kind in _EXTREMES else flags(op)
    step = terms.make(_sum_head(op, dtype) if kind is arith.AddfOp else head_of(kind.name, dtype, properties))
    neutral = 0 if kind is arith.AddfOp else 1 if kind is arith.MulfOp else None
    start = () if neutral is None or len(op.operands) > 1 else (terms.constant(dtype.type(neutral)),)
    return lambda *values: reduce(step, (*start, *values))
