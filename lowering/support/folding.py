"""Folding of index arithmetic while it is emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, mul

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import atom_of, span_of
from relex.dialects.index.from_ir import index_of

_RULES: Mapping[type[Operation], tuple[int, Callable[[int, int], int]]] = {
    arith.AddiOp: (0, add),
    arith.MuliOp: (1, mul),
}
"""The neutral element of an op, and its function of numbers."""

# The ops of a tuple agree on numbers that are not negative.
_QUOTIENTS = (arith.DivUIOp, arith.DivSIOp, arith.FloorDivSIOp)
_REMAINDERS = (arith.RemUIOp, arith.RemSIOp)


def folded(op: Operation, values: Mapping[SSAValue, SSAValue]) -> SSAValue | int | None:
    """Return what a sum or product of indices is if `values` replace its operands: a number, or one of the operands;
    and what a quotient or remainder by a number is if it is another value, such as the `j` in `(8 * i + j) % 8`. None
    if there is more to compute, and for other ops."""
    if not op.results or not isinstance(op.results[0].type, IndexType):
        return None
    lhs, rhs = (values.get(value, value) for value in op.operands) if len(op.operands) == 2 else (None, None)
    if isinstance(op, _QUOTIENTS + _REMAINDERS) and lhs is not None and rhs is not None:
        return _divided(op, lhs, constant_value(rhs))
    rule = _RULES.get(type(op))
    if rule is None or lhs is None or rhs is None:
        return None
    neutral, compute = rule
    left, right = constant_value(lhs), constant_value(rhs)
    if left is not None and right is not None:
        return compute(left, right)
    if neutral in (left, right):
        return rhs if left == neutral else lhs
    return 0 if type(op) is arith.MuliOp and 0 in (left, right) else None


def _divided(op: Operation, dividend: SSAValue, divisor: int | None) -> SSAValue | int | None:
    """Return the quotient or remainder of a value that is not negative, if it is a number or another value."""
    form = index_of(dividend)
    if divisor is None or divisor < 1 or span_of(form).low < 0:
        return None
    found = form // divisor if isinstance(op, _QUOTIENTS) else form % divisor
    atom = atom_of(found)
    return found if isinstance(found, int) else atom if isinstance(atom, SSAValue) else None
