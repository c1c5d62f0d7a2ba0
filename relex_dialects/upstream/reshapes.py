"""Views that collapse groups of dimensions to one each, or expand dimensions to groups, in `tensor` and `memref`."""

from __future__ import annotations

from itertools import chain
from math import prod

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType, TensorType
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import size_str
from relex.dialects.upstream.hints import isa

Collapse = tensor.CollapseShapeOp | memref.CollapseShapeOp
Expand = tensor.ExpandShapeOp | memref.ExpandShapeOp


def groups_of(op: Collapse | Expand) -> list[list[int]]:
    """Return the dimensions of the larger shape that each dimension of the smaller one stands for."""
    return [[d.value.data for d in group] for group in op.reassociation if isa(group, ArrayAttr[IntegerAttr])]


def verify_groups(op: Collapse | Expand) -> None:
    """Verify that each dimension of the larger shape is in one group, in order, and that numbers of elements agree."""
    source, result = op.src.type, op.result.type
    assert isa(source, TensorType | MemRefType)
    assert isa(result, TensorType | MemRefType)
    small, large = (result, source) if isinstance(op, Collapse) else (source, result)
    groups, small_shape, large_shape = groups_of(op), small.get_shape(), large.get_shape()
    named = [*chain.from_iterable(groups)]
    if named != [*range(len(large_shape))] or len(groups) != len(small_shape):
        what = f"{len(small_shape)} groups of the dimensions 0 to {len(large_shape) - 1}, in order"
        raise VerifyException(f"expected {what}, found {groups}")
    if small.element_type != large.element_type:
        raise VerifyException(f"expected elements of one type, found {small.element_type} and {large.element_type}")
    for d, (size, group) in enumerate(zip(small_shape, groups, strict=True)):
        sizes = [large_shape[i] for i in group]
        expected = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else prod(sizes)
        if size != expected:
            raise VerifyException(
                f"expected size {size_str(expected)} of dimension {d} of {small}, found {size_str(size)}"
            )
