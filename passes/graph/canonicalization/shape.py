"""Simplifications of operators that change shapes or move elements."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue

from relex.dialects import relex
from relex.dialects.relex.properties import as_integers
from relex.dialects.relex.types import rank_of, shape_of, tensor_type
from relex.passes.graph.canonicalization.canonicalization_table import simplifies

_RESHAPES = (relex.ExpandDimsOp, relex.ReshapeOp, relex.SqueezeOp)
"""Operators that keep the order of the elements."""


def _type(value: SSAValue) -> TensorType:
    return tensor_type(value.type)


@simplifies(relex.PermuteDimsOp)
def permutation(op: relex.PermuteDimsOp) -> SSAValue | relex.Operator | None:
    """Merge two permutations, and fold the identity."""
    if list(op.order) == sorted(op.order):
        return op.operand
    if not isinstance(inner := op.operand.owner, relex.PermuteDimsOp):
        return None
    return relex.PermuteDimsOp(inner.operand, [inner.order[axis] for axis in op.order])


@simplifies(relex.ReshapeOp)
def reshape_to_the_same(op: relex.ReshapeOp) -> SSAValue | None:
    """Fold a reshape to the same type. One unknown size follows from the number of elements, unless that is 0."""
    shape = shape_of(op.operand)
    unknown = shape.count(DYNAMIC_INDEX)
    return op.operand if not unknown or (unknown == 1 and 0 not in shape) else None


@simplifies(relex.ExpandDimsOp, relex.SqueezeOp)
def no_dimensions(op: relex.ExpandDimsOp | relex.SqueezeOp) -> SSAValue | None:
    """Fold an operator that adds or removes no dimensions."""
    return op.operand if rank_of(op.operand) == rank_of(op.result) else None


@simplifies(*_RESHAPES)
def reshape_of_reshape(op: relex.ExpandDimsOp | relex.ReshapeOp | relex.SqueezeOp) -> SSAValue | relex.Operator | None:
    """Merge two reshapes if all sizes are known."""
    if not isinstance(inner := op.operand.owner, _RESHAPES) or not _type(inner.operand).has_static_shape():
        return None
    if not _type(op.result).has_static_shape():
        return None
    shape = shape_of(op.result)
    return inner.operand if shape_of(inner.operand) == shape else relex.ReshapeOp(inner.operand, shape)


@simplifies(relex.ExpandDimsOp, relex.SqueezeOp)
def undone(op: relex.ExpandDimsOp | relex.SqueezeOp) -> SSAValue | None:
    """Fold dimensions that are added and removed again, or the reverse; their sizes need not be known."""
    inner = op.operand.owner
    if not isinstance(inner, relex.ExpandDimsOp | relex.SqueezeOp) or type(inner) is type(op):
        return None
    if inner.axis is None or op.axis is None:
        return None
    rank = max(rank_of(value) for value in (op.operand, op.result))
    changed, restored = ({axis % rank for axis in as_integers(axes)} for axes in (inner.axis, op.axis))
    return inner.operand if changed == restored else None


@simplifies(relex.BroadcastToOp)
def broadcast_to_the_same(op: relex.BroadcastToOp) -> SSAValue | None:
    """Fold a broadcast to the same type: known sizes stay the same, and unknown ones are never broadcast. One to
    certain sizes checks the sizes of the operand."""
    return op.operand if op.sizes is None else None


@simplifies(relex.BroadcastToOp)
def broadcast_of_broadcast(op: relex.BroadcastToOp) -> relex.Operator | None:
    """Merge two broadcasts if all sizes are known."""
    if not isinstance(inner := op.operand.owner, relex.BroadcastToOp) or not _type(inner.operand).has_static_shape():
        return None
    if not _type(op.result).has_static_shape():
        return None
    return relex.BroadcastToOp(inner.operand, shape_of(op.result))


@simplifies(relex.StridedSliceOp)
def all_elements(op: relex.StridedSliceOp) -> SSAValue | None:
    """Fold a slice of all elements in their order."""
    if not op.is_static:
        return None
    shape = shape_of(op.operand)
    parts = zip(op.slices, shape, strict=True)
    whole = all(part == slice(None) or (size >= 0 and range(size)[part] == range(size)) for part, size in parts)
    return op.operand if whole else None


@simplifies(relex.ConcatOp)
def join_those_that_are_not_empty(op: relex.ConcatOp) -> SSAValue | relex.Operator | None:
    """Drop empty operands of a concatenation, and fold the concatenation of a single tensor."""
    kept = [value for value in op.tensors if shape_of(value)[op.normal_axis] != 0] or list(op.tensors[:1])
    if len(kept) == 1:
        return kept[0]
    return relex.ConcatOp(*kept, axis=op.normal_axis) if len(kept) < len(op.tensors) else None


@simplifies(relex.PadOp)
def no_padding(op: relex.PadOp) -> SSAValue | None:
    """Fold a padding by nothing."""
    return None if any(as_integers(op.pad_width)) else op.operand
