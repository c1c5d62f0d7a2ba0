"""Folding of index arithmetic while it is emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add, mul

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.domains import constant_value

_RULES: Mapping[type[Operation], tuple[int, Callable[[int, int], int]]] = {
    arith.AddiOp: (0, add),
    arith.MuliOp: (1, mul),
}
"""The neutral element of an op, and its function of numbers."""


def folded(op: Operation, values: Mapping[SSAValue, SSAValue]) -> SSAValue | int | None:
    """Return what a sum or product of indices is if `values` replace its operands: a number, or one of the operands.
    None if there is more to compute, and for other ops."""
    rule = _RULES.get(type(op))
    if rule is None or not isinstance(op.results[0].type, IndexType):
        return None
    neutral, compute = rule
    lhs, rhs = (values.get(value, value) for value in op.operands)
    left, right = constant_value(lhs), constant_value(rhs)
    if left is not None and right is not None:
        return compute(left, right)
    if neutral in (left, right):
        return rhs if left == neutral else lhs
    return 0 if type(op) is arith.MuliOp and 0 in (left, right) else None
