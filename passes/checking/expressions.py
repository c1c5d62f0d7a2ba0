"""Linear forms of `arith` on indices: an open table of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.index.constraints import Constraint, System, at_least, different, less, limits_of, same, unknowns
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, Variable, constant_of
from relex.dialects.table import Table

Quotient = tuple[int, frozenset[tuple[Variable, int]], int]
"""The constant and the coefficients of a dividend, and the divisor."""


class Values(Protocol):
    """The values of one run of a piece of the program."""

    quotients: dict[Quotient, Index]
    """The quotients met so far: quotient and remainder of a division share a variable."""

    def form(self, value: SSAValue) -> Index:
        """Return the linear form of an integer in the program."""
        ...

    def new(self, name: str, limits: tuple[int, int], *alternatives: Callable[[Index], System]) -> Index:
        """Return a new variable for a number that is not linear in others: one of the systems about it holds."""
        ...


Rule = Callable[[Any, Values], Index | None]
"""Map an op and the values to the linear form of its result; None if it is not understood."""

RULES = Table[type[Operation], Rule]("linear forms")
rule = RULES.rule


def form_of(value: SSAValue, values: Values) -> Index | None:
    """Return the linear form of the result of an op; None if no rule understands the op or the result may wrap."""
    owner = value.owner
    if (constant := constant_value(value)) is not None:
        return constant
    understand = RULES.find(owner)
    if understand is None:
        return None
    form = understand(owner, values)
    if form is None:
        return None
    (low, high), (smallest, largest) = limits_of(form), type_limits(value.type)
    return form if smallest <= low and high <= largest else None


def type_limits(t: Attribute) -> tuple[int, int]:
    """Return the smallest and the largest number of a type, as signed integers except for i1."""
    width = t.width.data if isa(t, IntegerType) else 64
    return (0, 1) if width == 1 else (-(1 << width - 1), (1 << width - 1) - 1)


@rule(arith.AddiOp)
def convert_addi(op: arith.AddiOp, values: Values) -> Index | None:
    """Add the operands."""
    return values.form(op.lhs) + values.form(op.rhs)


@rule(arith.SubiOp)
def convert_subi(op: arith.SubiOp, values: Values) -> Index | None:
    """Subtract the operands."""
    return values.form(op.lhs) - values.form(op.rhs)


@rule(arith.MuliOp)
def convert_muli(op: arith.MuliOp, values: Values) -> Index | None:
    """Multiply the operands, one of which must be constant."""
    left, right = values.form(op.lhs), values.form(op.rhs)
    if not unknowns(right):
        return left * constant_of(right)
    return right * constant_of(left) if not unknowns(left) else None


@rule(arith.IndexCastOp, arith.ExtSIOp)
def convert_cast(op: arith.IndexCastOp | arith.ExtSIOp, values: Values) -> Index | None:
    """Forward the operand, unless it is an i1."""
    return values.form(op.input) if op.input.type != IntegerType(1) else None


@rule(arith.FloorDivSIOp)
def convert_floordivsi(op: arith.FloorDivSIOp, values: Values) -> Index | None:
    """Divide by a positive constant, rounding down."""
    divisor = _divisor(op.rhs)
    return _floor(values.form(op.lhs), divisor, values) if divisor else None


@rule(arith.CeilDivSIOp)
def convert_ceildivsi(op: arith.CeilDivSIOp, values: Values) -> Index | None:
    """Divide by a positive constant, rounding up."""
    divisor = _divisor(op.rhs)
    return _floor(values.form(op.lhs) + (divisor - 1), divisor, values) if divisor else None


@rule(arith.DivSIOp)
def convert_divsi(op: arith.DivSIOp, values: Values) -> Index | None:
    """Divide by a positive constant, rounding towards zero."""
    divisor = _divisor(op.rhs)
    return _towards_zero(values.form(op.lhs), divisor, values) if divisor else None


@rule(arith.RemSIOp)
def convert_remsi(op: arith.RemSIOp, values: Values) -> Index | None:
    """Return the remainder of a division by a positive constant that rounds towards zero."""
    dividend, divisor = values.form(op.lhs), _divisor(op.rhs)
    return dividend - _towards_zero(dividend, divisor, values) * divisor if divisor else None


@rule(arith.DivUIOp)
def convert_divui(op: arith.DivUIOp, values: Values) -> Index | None:
    """Divide by a positive constant as unsigned numbers."""
    divisor = _divisor(op.rhs)
    return _unsigned_floor(values.form(op.lhs), divisor, op.lhs.type, values) if divisor else None


@rule(arith.RemUIOp)
def convert_remui(op: arith.RemUIOp, values: Values) -> Index | None:
    """Return the remainder of an unsigned division by a positive constant."""
    dividend, divisor = values.form(op.lhs), _divisor(op.rhs)
    if not divisor:
        return None
    rest = dividend - _unsigned_floor(dividend, divisor, op.lhs.type, values) * divisor
    if limits_of(dividend)[0] >= 0:
        return rest
    return values.new(
        "remainder",
        (0, divisor - 1),
        lambda r: System.of(Constraint(dividend), same(r, rest)),
        lambda r: System.of(less(dividend, 0), same(r, rest + _modulus(op.lhs.type))),
    )


def _divisor(value: SSAValue) -> int | None:
    """Return the value of a positive constant, or None."""
    constant = constant_value(value)
    return constant if constant is not None and constant > 0 else None


def _floor(dividend: Index, divisor: int, values: Values) -> Index:
    if not unknowns(dividend):
        return constant_of(dividend) // divisor
    key = constant_of(dividend), frozenset(unknowns(dividend).items()), divisor
    if key not in values.quotients:
        low, high = limits_of(dividend)
        limits = low // divisor, high // divisor
        values.quotients[key] = values.new("quotient", limits, lambda q: _is_floor(q, dividend, divisor))
    return values.quotients[key]


def _is_floor(quotient: Index, dividend: Index, divisor: int) -> System:
    rest = dividend - quotient * divisor
    return System.of(Constraint(rest), less(rest, divisor))


def _unsigned_floor(dividend: Index, divisor: int, t: Attribute, values: Values) -> Index:
    """Return the quotient of a number read as unsigned."""
    if limits_of(dividend)[0] >= 0 or divisor == 1:
        return _floor(dividend, divisor, values)
    return values.new(
        "quotient",
        (0, (_modulus(t) - 1) // divisor),
        lambda q: System.of(Constraint(dividend)) & _is_floor(q, dividend, divisor),
        lambda q: System.of(less(dividend, 0)) & _is_floor(q, dividend + _modulus(t), divisor),
    )


def _modulus(t: Attribute) -> int:
    """Return how many numbers a type has."""
    low, high = type_limits(t)
    return high - low + 1


def _towards_zero(dividend: Index, divisor: int, values: Values) -> Index:
    low, high = limits_of(dividend)
    if low >= 0:
        return _floor(dividend, divisor, values)
    return values.new(
        "quotient",
        (-(-low // divisor), max(high, 0) // divisor),
        lambda q: System.of(Constraint(dividend)) & _is_floor(q, dividend, divisor),
        lambda q: System.of(less(dividend, 0)) & _is_floor(q * -1, dividend * -1, divisor),
    )


@rule(arith.MinSIOp)
def convert_minsi(op: arith.MinSIOp, values: Values) -> Index | None:
    """Return the signed minimum."""
    return _smaller(values.form(op.lhs), values.form(op.rhs), values)


@rule(arith.MaxSIOp)
def convert_maxsi(op: arith.MaxSIOp, values: Values) -> Index | None:
    """Return the signed maximum."""
    return _larger(values.form(op.lhs), values.form(op.rhs), values)


@rule(arith.MinUIOp)
def convert_minui(op: arith.MinUIOp, values: Values) -> Index | None:
    """Return the unsigned minimum."""
    return _unsigned(op, values, _smaller, takes_negative=False)


@rule(arith.MaxUIOp)
def convert_maxui(op: arith.MaxUIOp, values: Values) -> Index | None:
    """Return the unsigned maximum."""
    return _unsigned(op, values, _larger, takes_negative=True)


def _smaller(a: Index, b: Index, values: Values) -> Index:
    limits = min(limits_of(a)[0], limits_of(b)[0]), min(limits_of(a)[1], limits_of(b)[1])
    return values.new(
        "minimum",
        limits,
        lambda m: System.of(same(m, a), at_least(b, a)),
        lambda m: System.of(same(m, b), less(b, a)),
    )


def _larger(a: Index, b: Index, values: Values) -> Index:
    return _smaller(a * -1, b * -1, values) * -1


def _unsigned(
    op: arith.MinUIOp | arith.MaxUIOp,
    values: Values,
    function: Callable[[Index, Index, Values], Index],
    *,
    takes_negative: bool,
) -> Index | None:
    """Return an unsigned extremum: negative numbers, read as unsigned, are larger than all others."""
    a, b = sorted((values.form(op.lhs), values.form(op.rhs)), key=lambda form: limits_of(form)[0])
    if limits_of(a)[0] >= 0:
        return function(a, b, values)
    if limits_of(b)[0] < 0:
        return None
    chosen, negative = function(a, b, values), a if takes_negative else b
    limits = min(limits_of(chosen)[0], limits_of(negative)[0]), max(limits_of(chosen)[1], limits_of(negative)[1])
    return values.new(
        "extremum",
        limits,
        lambda m: System.of(Constraint(a), same(m, chosen)),
        lambda m: System.of(less(a, 0), same(m, negative)),
    )


@rule(arith.SelectOp)
def convert_select(op: arith.SelectOp, values: Values) -> Index | None:
    """Return one of two values, depending on a condition."""
    return _either(op.cond, op.lhs, op.rhs, values)


@rule(scf.IfOp)
def convert_if(op: scf.IfOp, values: Values) -> Index | None:
    """Return the only result of a conditional."""
    branches = [region.block.last_op for region in op.regions]
    if len(op.results) != 1 or None in branches:
        return None
    yes, no = (branch.operands[0] for branch in branches if branch is not None)
    return _either(op.cond, yes, no, values)


def _either(condition: SSAValue, yes: SSAValue, no: SSAValue, values: Values) -> Index:
    a, b = values.form(yes), values.form(no)
    return values.new(
        "choice",
        (min(limits_of(a)[0], limits_of(b)[0]), max(limits_of(a)[1], limits_of(b)[1])),
        lambda m: condition_of(condition, True, values) & System.of(same(m, a)),
        lambda m: condition_of(condition, False, values) & System.of(same(m, b)),
    )


def condition_of(value: SSAValue, holds: bool, values: Values) -> System:
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
            found = _comparison(comparison, holds, values)
            return found if found is not None else _opaque_condition(value, holds, values)
        case _:
            return _opaque_condition(value, holds, values)


def _opaque_condition(value: SSAValue, holds: bool, values: Values) -> System:
    return System.of(same(values.form(value), int(holds)))


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_OPPOSITES = dict(zip(_PREDICATES, ("ne", "eq", "sge", "sgt", "sle", "slt", "uge", "ugt", "ule", "ult"), strict=True))


def _comparison(op: arith.CmpiOp, holds: bool, values: Values) -> System | None:
    predicate = _PREDICATES[op.predicate.value.data]
    predicate = predicate if holds else _OPPOSITES[predicate]
    a, b = values.form(op.lhs), values.form(op.rhs)
    if predicate[1:] in ("gt", "ge"):
        a, b, predicate = b, a, predicate[0] + ("lt" if predicate[1:] == "gt" else "le")
    match predicate:
        case "eq":
            return System.of(same(a, b))
        case "ne":
            return different([a], [b])
        case "slt" | "sle":
            return _below(a, b, predicate)
        case _:
            return _unsigned_below(a, b, predicate)


def _below(a: Index, b: Index, predicate: str) -> System:
    return System.of(less(a, b) if predicate.endswith("lt") else at_least(b, a))


def _unsigned_below(a: Index, b: Index, predicate: str) -> System | None:
    """Compare unsigned numbers: negative numbers, read as unsigned, are larger than all others."""
    if limits_of(b)[0] >= 0:
        return System.of(Constraint(a)) & _below(a, b, predicate)
    if limits_of(a)[0] >= 0:
        return System.any_of((System.of(less(b, 0)), _below(a, b, predicate)))
    return None
