"""Integers that depend on a choice, and conditions, as systems of constraints.

What `arith` computes by sums, products, quotients and extremes is an expression (`relex.dialects.index.from_ir`). The
rules here are for the rest: a number that is one of several, depending on a condition or a sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.index.constraints import System, at_least, different, less, limits_of, same
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, larger, smaller
from relex.dialects.index.from_ir import divisor_of
from relex.dialects.table import Table
from relex.dialects.upstream.hints import isa

if TYPE_CHECKING:
    from relex.passes.analysis.iteration_systems import Instance

Rule = Callable[[Any, "Instance"], Index | None]
"""Map an op and the values of a run to an expression of its result; None if it is not understood."""

CHOICES = Table[type[Operation], Rule]("integers that depend on choices")


def type_limits(t: Attribute) -> tuple[int, int]:
    """Return the smallest and the largest number of a type, as signed integers except for i1."""
    width = t.width.data if isa(t, IntegerType) else 64
    return (0, 1) if width == 1 else (-(1 << width - 1), (1 << width - 1) - 1)


@CHOICES.rule(arith.IndexCastOp, arith.ExtSIOp)
def convert_cast(op: arith.IndexCastOp | arith.ExtSIOp, values: Instance) -> Index | None:
    """Forward the operand, unless it is an i1."""
    return values.form(op.input) if op.input.type != IntegerType(1) else None


@CHOICES.rule(arith.DivSIOp)
def convert_divsi(op: arith.DivSIOp, values: Instance) -> Index | None:
    """Divide by a positive constant, rounding towards zero."""
    divisor = divisor_of(values.form(op.rhs))
    return _towards_zero(values.form(op.lhs), divisor) if divisor else None


@CHOICES.rule(arith.RemSIOp)
def convert_remsi(op: arith.RemSIOp, values: Instance) -> Index | None:
    """Return the remainder of a division by a positive constant that rounds towards zero."""
    dividend, divisor = values.form(op.lhs), divisor_of(values.form(op.rhs))
    return dividend - _towards_zero(dividend, divisor) * divisor if divisor else None


def _towards_zero(dividend: Index, divisor: int) -> Index:
    return larger(dividend, 0) // divisor - larger(-dividend, 0) // divisor


@CHOICES.rule(arith.DivUIOp)
def convert_divui(op: arith.DivUIOp, values: Instance) -> Index | None:
    """Divide by a positive constant as unsigned numbers."""
    divisor = divisor_of(values.form(op.rhs))
    return _signed(_unsigned(op.lhs, values) // divisor, op.lhs.type, values) if divisor else None


@CHOICES.rule(arith.RemUIOp)
def convert_remui(op: arith.RemUIOp, values: Instance) -> Index | None:
    """Return the remainder of an unsigned division by a positive constant."""
    divisor = divisor_of(values.form(op.rhs))
    return _unsigned(op.lhs, values) % divisor if divisor else None


@CHOICES.rule(arith.MinUIOp, arith.MaxUIOp)
def convert_unsigned_extreme(op: arith.MinUIOp | arith.MaxUIOp, values: Instance) -> Index | None:
    """Return the minimum or maximum of unsigned numbers."""
    choose = smaller if isinstance(op, arith.MinUIOp) else larger
    return _signed(choose(_unsigned(op.lhs, values), _unsigned(op.rhs, values)), op.lhs.type, values)


def _unsigned(value: SSAValue, values: Instance) -> Index:
    """Return an integer read as unsigned: a negative number is larger than all others."""
    form, (low, high) = values.form(value), type_limits(value.type)
    if limits_of(form)[0] >= 0:
        return form
    count = high - low + 1
    return values.new(
        "unsigned", (0, count - 1), lambda u: System.of(same(u, form)), lambda u: System.of(same(u, form + count))
    )


def _signed(index: Index, t: Attribute, values: Instance) -> Index:
    """Return an unsigned number of a type read as signed."""
    form, (low, high) = values.linear(index), type_limits(t)
    if limits_of(form)[1] <= high:
        return form
    count = high - low + 1
    return values.new(
        "signed", (low, high), lambda s: System.of(same(s, form)), lambda s: System.of(same(s, form - count))
    )


@CHOICES.rule(arith.SelectOp)
def convert_select(op: arith.SelectOp, values: Instance) -> Index | None:
    """Return one of two values, depending on a condition."""
    return _either(op.cond, op.lhs, op.rhs, values)


@CHOICES.rule(scf.IfOp)
def convert_if(op: scf.IfOp, values: Instance) -> Index | None:
    """Return the only result of a conditional."""
    branches = [region.block.last_op for region in op.regions]
    if len(op.results) != 1 or None in branches:
        return None
    yes, no = (branch.operands[0] for branch in branches if branch is not None)
    return _either(op.cond, yes, no, values)


def _either(condition: SSAValue, yes: SSAValue, no: SSAValue, values: Instance) -> Index:
    a, b = values.form(yes), values.form(no)
    return values.new(
        "choice",
        (min(limits_of(a)[0], limits_of(b)[0]), max(limits_of(a)[1], limits_of(b)[1])),
        lambda m: condition_of(condition, True, values) & System.of(same(m, a)),
        lambda m: condition_of(condition, False, values) & System.of(same(m, b)),
    )


def condition_of(value: SSAValue, holds: bool, values: Instance) -> System:
    """Return the system under which an i1 of the program is true, or is false."""
    match value.owner:
        case arith.AndIOp(lhs=lhs, rhs=rhs) if holds:
            return condition_of(lhs, True, values) & condition_of(rhs, True, values)
        case arith.OrIOp(lhs=lhs, rhs=rhs) if not holds:
            return condition_of(lhs, False, values) & condition_of(rhs, False, values)
        case arith.AndIOp(lhs=lhs, rhs=rhs) | arith.OrIOp(lhs=lhs, rhs=rhs):
            return System.any_of(condition_of(part, holds, values) for part in (lhs, rhs))
        case arith.XOrIOp(lhs=lhs, rhs=rhs) if (flipped := constant_value(rhs)) is not None:
            return condition_of(lhs, holds is (flipped == 0), values)
        case arith.CmpiOp() as comparison if comparison.lhs.type != IntegerType(1):
            return _comparison(comparison, holds, values)
        case _:
            return System.of(same(values.form(value), int(holds)))


def _comparison(op: arith.CmpiOp, holds: bool, values: Instance) -> System:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    a, b = (_unsigned(v, values) if predicate.startswith("u") else values.form(v) for v in (op.lhs, op.rhs))
    if predicate in ("eq", "ne"):
        return System.of(same(a, b)) if holds is (predicate == "eq") else different([a], [b])
    if predicate.endswith(("gt", "ge")):
        a, b = b, a
    strictly = predicate.endswith("t")
    if not holds:
        a, b, strictly = b, a, not strictly
    return System.of(less(a, b) if strictly else at_least(b, a))
