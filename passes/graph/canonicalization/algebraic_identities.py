"""Simplifications of elementwise operators."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.dtypes import record_of
from relex.dialects.relex import (
    AbsOp,
    AddOp,
    AstypeOp,
    BinaryElementwise,
    ClipOp,
    EwiseFMAOp,
    MultiplyOp,
    NegativeOp,
    Operator,
    UnaryElementwise,
    WhereOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.passes.graph.canonicalization.canonicalization_table import simplifies
from relex.passes.rewriting.constants import holds_only


@simplifies(BinaryElementwise)
def with_neutral_number(op: BinaryElementwise) -> SSAValue | None:
    """Fold `x + -0`, `x * 1` and the like to `x`, and `maximum(x, x)` as well."""
    left, right = op.NEUTRAL
    if (right is not None and holds_only(op.rhs, right)) or (op.IDEMPOTENT and op.lhs is op.rhs):
        return op.lhs
    return op.rhs if left is not None and holds_only(op.lhs, left) else None


@simplifies(EwiseFMAOp)
def half_of_fma(op: EwiseFMAOp) -> Operator | None:
    """Simplify an FMA with a factor of 1 to a sum, or with an addend of -0 to a product."""
    if holds_only(op.x, 1):
        return AddOp(op.y, op.z)
    if holds_only(op.y, 1):
        return AddOp(op.x, op.z)
    return MultiplyOp(op.x, op.y) if holds_only(op.z, -0.0) else None


@simplifies(WhereOp)
def choice_that_is_none(op: WhereOp) -> SSAValue | None:
    """Fold a choice between a tensor and itself, or by a constant condition."""
    if op.x is op.y or holds_only(op.condition, True):
        return op.x
    return op.y if holds_only(op.condition, False) else None


@simplifies(UnaryElementwise)
def done_already(op: UnaryElementwise) -> SSAValue | None:
    """Fold the second application of an idempotent operator."""
    inner = op.operand.owner
    again = isinstance(inner, Operation) and type(inner) is type(op) and inner.properties == op.properties
    return op.operand if op.IDEMPOTENT and again else None


@simplifies(NegativeOp)
def negative_of_negative(op: NegativeOp) -> SSAValue | None:
    """Fold `-(-x)` to `x`."""
    return inner.operand if isinstance(inner := op.operand.owner, NegativeOp) else None


@simplifies(AbsOp)
def without_sign(op: AbsOp) -> Operator | None:
    """Simplify `abs(-x)` to `abs(x)`."""
    return AbsOp(inner.operand) if isinstance(inner := op.operand.owner, NegativeOp) else None


@simplifies(ClipOp)
def no_bounds(op: ClipOp) -> SSAValue | None:
    """Fold a clip without bounds."""
    return op.operand if op.min is None and op.max is None else None


@simplifies(AstypeOp)
def same_type(op: AstypeOp) -> SSAValue | None:
    """Fold a conversion to the same type."""
    return op.operand if op.dtype == _element_type(op.operand) else None


@simplifies(AstypeOp)
def conversion_on_the_way(op: AstypeOp) -> Operator | None:
    """Merge two conversions if the first one keeps all values and the second one depends on nothing else."""
    if not isinstance(inner := op.operand.owner, AstypeOp):
        return None
    first, middle, last = map(record_of, (_element_type(inner.operand), inner.dtype, op.dtype))
    # Conversions from floats to integers saturate, those between integers wrap around.
    saturates = middle.is_float and not (first.is_float or last.is_float or last.is_bool or last.holds(first))
    return AstypeOp(inner.operand, op.dtype) if middle.holds(first) and not saturates else None


def _element_type(value: SSAValue) -> Attribute:
    return tensor_type(value.type).element_type
