"""Simplifications of elementwise operators."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects import relex
from relex.dialects.dtypes import record_of
from relex.dialects.relex.operator import tensor_type
from relex.passes.graph.canonicalization.canonicalization_table import simplifies
from relex.passes.rewriting.constants import holds_only


@simplifies(relex.BinaryElementwise)
def with_neutral_number(op: relex.BinaryElementwise) -> SSAValue | None:
    """Fold `x + -0`, `x * 1` and the like to `x`, and `maximum(x, x)` as well."""
    left, right = op.NEUTRAL
    if (right is not None and holds_only(op.rhs, right)) or (op.IDEMPOTENT and op.lhs is op.rhs):
        return op.lhs
    return op.rhs if left is not None and holds_only(op.lhs, left) else None


@simplifies(relex.EwiseFMAOp)
def half_of_fma(op: relex.EwiseFMAOp) -> relex.Operator | None:
    """Simplify an FMA with a factor of 1 to a sum, or with an addend of -0 to a product."""
    if holds_only(op.x, 1):
        return relex.AddOp(op.y, op.z)
    if holds_only(op.y, 1):
        return relex.AddOp(op.x, op.z)
    return relex.MultiplyOp(op.x, op.y) if holds_only(op.z, -0.0) else None


@simplifies(relex.WhereOp)
def choice_that_is_none(op: relex.WhereOp) -> SSAValue | None:
    """Fold a choice between a tensor and itself, or by a constant condition."""
    if op.x is op.y or holds_only(op.condition, True):
        return op.x
    return op.y if holds_only(op.condition, False) else None


@simplifies(relex.UnaryElementwise)
def done_already(op: relex.UnaryElementwise) -> SSAValue | None:
    """Fold the second application of an idempotent operator."""
    inner = op.operand.owner
    again = isinstance(inner, Operation) and type(inner) is type(op) and inner.properties == op.properties
    return op.operand if op.IDEMPOTENT and again else None


@simplifies(relex.NegativeOp)
def negative_of_negative(op: relex.NegativeOp) -> SSAValue | None:
    """Fold `-(-x)` to `x`."""
    return inner.operand if isinstance(inner := op.operand.owner, relex.NegativeOp) else None


@simplifies(relex.AbsOp)
def without_sign(op: relex.AbsOp) -> relex.Operator | None:
    """Simplify `abs(-x)` to `abs(x)`."""
    return relex.AbsOp(inner.operand) if isinstance(inner := op.operand.owner, relex.NegativeOp) else None


@simplifies(relex.ClipOp)
def no_bounds(op: relex.ClipOp) -> SSAValue | None:
    """Fold a clip without bounds."""
    return op.operand if op.min is None and op.max is None else None


@simplifies(relex.AstypeOp)
def same_type(op: relex.AstypeOp) -> SSAValue | None:
    """Fold a conversion to the same type."""
    return op.operand if op.dtype == _element_type(op.operand) else None


@simplifies(relex.AstypeOp)
def conversion_on_the_way(op: relex.AstypeOp) -> relex.Operator | None:
    """Merge two conversions if the first one keeps all values and the second one depends on nothing else."""
    if not isinstance(inner := op.operand.owner, relex.AstypeOp):
        return None
    first, middle, last = map(record_of, (_element_type(inner.operand), inner.dtype, op.dtype))
    # Conversions from floats to integers saturate, those between integers wrap around.
    saturates = middle.is_float and not (first.is_float or last.is_float or last.is_bool or last.holds(first))
    return relex.AstypeOp(inner.operand, op.dtype) if middle.holds(first) and not saturates else None


def _element_type(value: SSAValue) -> Attribute:
    return tensor_type(value.type).element_type
