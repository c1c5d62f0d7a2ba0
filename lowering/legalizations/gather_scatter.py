"""Concatenation, slicing, padding and gathering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

from xdsl.dialects.builtin import IndexType, i64

from relex.dialects.relex import ConcatOp, PadOp, StridedSliceOp, TakeOp
from relex.dialects.relex.slicing import taken
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import Size
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


@legalizes(ConcatOp)
def concat(op: ConcatOp, *x: te.Tensor) -> te.Tensor:
    """Legalize to a tree of conditions on the index along the axis: it nests no deeper than a search by halves."""
    axis = op.normal_axis
    tensors = [tensor for tensor in x if tensor.shape[axis] != 0] or x[:1]
    starts = list(accumulate((tensor.shape[axis] for tensor in tensors), initial=0))

    def element(*i: te.Axis) -> te.PrimExpr:
        def choose(first: int, end: int) -> te.PrimExpr:
            if end - first == 1:
                place = i[axis] - starts[first] if first else i[axis]
                return tensors[first][*i[:axis], place, *i[axis + 1 :]]
            middle = (first + end) // 2
            return te.if_then_else(i[axis] < starts[middle], choose(first, middle), choose(middle, end))

        return choose(0, len(tensors))

    return te.compute(result_shape(op, *x), element, name="concat")


@legalizes(StridedSliceOp)
def strided_slice(op: StridedSliceOp, x: te.Tensor, *like: te.Tensor) -> te.Tensor:
    """Legalize to a copy at indices scaled by the step and shifted by the start."""
    slices = op.slices_of([SizedType(t.type, t.shape) for t in (x, *like)])
    parts = list(zip(slices, x.shape, strict=True))

    def place(index: te.Axis, part: slice, size: Size) -> te.PrimExpr:
        first, step, _ = taken(part, size)
        scaled = index if step == 1 else index * step
        return scaled if first == 0 else scaled + first

    return te.compute(
        result_shape(op, x, *like),
        lambda *i: x[*(place(index, *part) for index, part in zip(i, parts, strict=True))],
        name="strided_slice",
    )


@legalizes(TakeOp)
def take(op: TakeOp, x: te.Tensor, indices: te.Tensor) -> te.Tensor:
    """Legalize to a gather with indices clamped to the valid range."""
    axis = op.normal_axis
    last = x.shape[axis] - 1

    def element(*i: te.Axis) -> te.PrimExpr:
        after = axis + indices.ndim
        place = as_place(indices[*i[axis:after]])
        return x[*i[:axis], te.minimum(te.maximum(place, 0), last), *i[after:]]

    return te.compute(result_shape(op, x, indices), element, name="take")


def as_place(index: te.PrimExpr) -> te.PrimExpr:
    """Return an element of a tensor of indices as an index; one that is too large is the largest, beyond any size."""
    if te.highest(index.type) > te.highest(i64):
        index = te.minimum(index, te.highest(i64))
    return te.cast(index, IndexType())


@legalizes(PadOp)
def pad(op: PadOp, x: te.Tensor) -> te.Tensor:
    """Legalize to `padded`."""
    return padded(x, op.before, op.after, op.value, "pad")


def padded(x: te.Tensor, before: Sequence[int], after: Sequence[Size], value: float, name: str = "padded") -> te.Tensor:
    """Surround a tensor with a constant. Nothing is read in the padding."""

    def element(*i: te.Axis) -> te.PrimExpr:
        inside = [index >= width for index, width in zip(i, before, strict=True) if width]
        ends = (first + size for first, size in zip(before, x.shape, strict=True))
        inside += [index < end for index, end, width in zip(i, ends, after, strict=True) if width != 0]
        place = [index - width if width else index for index, width in zip(i, before, strict=True)]
        return te.if_then_else(reduce(lambda a, b: a & b, inside), x[place], value) if inside else x[place]

    shape = [sum(sizes) for sizes in zip(before, x.shape, after, strict=True)]
    return te.compute(shape, element, name=name)
