"""Operators that change the shape of a tensor and keep its elements, and those that make one of its shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from xdsl.dialects.builtin import i64

from relex.dialects.relex import BroadcastToOp, ExpandDimsOp, IotaOp, PermuteDimsOp, ReshapeOp, SqueezeOp
from relex.dialects.relex.properties import as_integer
from relex.dialects.sizes import Size, count
from relex.lowering import te
from relex.lowering.legalizations.broadcasting import broadcast_indices
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


@legalizes(PermuteDimsOp)
def permute_dims(op: PermuteDimsOp, x: te.Tensor) -> te.Tensor:
    """Legalize to a copy with permuted indices."""
    order = op.order

    def element(*i: te.Axis) -> te.PrimExpr:
        return x[*(i[order.index(d)] for d in range(x.ndim))]

    return te.compute(result_shape(op, x), element, name="permute_dims")


@legalizes(BroadcastToOp)
def broadcast_to(op: BroadcastToOp, x: te.Tensor, *like: te.Tensor) -> te.Tensor:
    """Legalize to a copy that reads dimensions of size 1 repeatedly."""
    return te.compute(result_shape(op, x, *like), lambda *i: x[broadcast_indices(x.shape, i)], name="broadcast_to")


@legalizes(IotaOp)
def iota(op: IotaOp, *like: te.Tensor) -> te.Tensor:
    """Legalize to the index along the axis."""
    axis = as_integer(op.axis)
    return te.compute(result_shape(op, *like), lambda *i: te.cast(te.cast(i[axis], i64), op.dtype), name="iota")


@legalizes(ReshapeOp, ExpandDimsOp, SqueezeOp)
def reshape(op: ReshapeOp | ExpandDimsOp | SqueezeOp, x: te.Tensor, *like: te.Tensor) -> te.Tensor:
    """Legalize to a copy that keeps the row-major order of the elements."""
    new = result_shape(op, x, *like)
    if 0 in new:
        return te.compute(new, lambda *i: x[*[0] * x.ndim], name="reshape")  # Nothing is read.

    def element(*i: te.Axis) -> te.PrimExpr:
        place: list[te.PrimExpr | int] = []
        for old_sizes, axes in _groups(x.shape, i):
            place += unflatten(flatten(axes), old_sizes)
        return x[place]

    return te.compute(new, element, name="reshape")


def _groups(old: Sequence[Size], new: Sequence[te.Axis]) -> Iterator[tuple[Sequence[Size], Sequence[te.Axis]]]:
    """Split the sizes of the old shape and the axes of the new one into the smallest groups with equal numbers of
    elements. Indices of one group do not depend on indices of another."""
    while old or new:
        ends = product(*(range(min(1, len(dimensions)), len(dimensions) + 1) for dimensions in (old, new)))
        equal = [(i, j) for i, j in ends if count(old[:i]) == count([axis.extent for axis in new[:j]])]
        # The counts of the rest may be equal at run time, though not symbolically.
        i, j = min(equal, key=sum, default=(len(old), len(new)))
        yield old[:i], new[:j]
        old, new = old[i:], new[j:]


def flatten(axes: Sequence[te.Axis]) -> te.PrimExpr | int:
    """Return the position in row-major order."""
    place: te.PrimExpr | int = 0
    for axis in axes:
        if axis.extent != 1:
            place = axis if isinstance(place, int) else place * axis.extent + axis
    return place


def unflatten(place: te.PrimExpr | int, sizes: Sequence[Size]) -> list[te.PrimExpr | int]:
    """Return the indices of a position in row-major order."""
    if isinstance(place, int):
        return [place] * len(sizes)
    indices: list[te.PrimExpr | int] = []
    outermost = next((d for d, size in enumerate(sizes) if size != 1), 0)
    for d, size in enumerate(sizes):
        step = count(sizes[d + 1 :])
        index = place // step if step != 1 else place
        # The outermost index needs no remainder: the quotient is below its size.
        indices.append(0 if size == 1 else index if d == outermost else index % size)
    return indices
