"""Other shapes of the same elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relex.dialects.relex import BroadcastToOp, ExpandDimsOp, PermuteDimsOp, ReshapeOp, SqueezeOp
from relex.dialects.sizes import Size, count, never_negative
from relex.lowering.legalizations.broadcasting import broadcast_indices
from relex.lowering.legalizations.table import legalizes, result_shape
from relex.lowering.te import Axis, Expr, Tensor, compute


@legalizes(PermuteDimsOp)
def permute_dims(op: PermuteDimsOp, x: Tensor) -> Tensor:
    order = op.order

    def element(*i: Axis) -> Expr:
        return x[*(i[order.index(d)] for d in range(x.ndim))]

    return compute(result_shape(op, x), element, name="permute_dims")


@legalizes(BroadcastToOp)
def broadcast_to(op: BroadcastToOp, x: Tensor) -> Tensor:
    return compute(result_shape(op, x), lambda *i: x[broadcast_indices(x.shape, i)], name="broadcast_to")


@legalizes(ReshapeOp, ExpandDimsOp, SqueezeOp)
def reshape(op: ReshapeOp | ExpandDimsOp | SqueezeOp, x: Tensor) -> Tensor:
    new = result_shape(op, x)
    if 0 in new:
        return compute(new, lambda *i: x[*[0] * x.ndim], name="reshape")  # Nothing is read.

    def element(*i: Axis) -> Expr:
        place: list[Expr | int] = []
        for old_sizes, axes in _groups(x.shape, i):
            place += _unflatten(_flatten(axes), old_sizes)
        return x[place]

    return compute(new, element, name="reshape")


def _groups(old: Sequence[Size], new: Sequence[Axis]) -> Iterator[tuple[list[Size], list[Axis]]]:
    """The sizes of the old shape and the axes of the new one in groups, as small as they can be, of equally many
    elements: between groups no index depends on another."""
    sizes, axes = list(old), list(new)
    while sizes or axes:
        group: tuple[list[Size], list[Axis]] = (sizes[:1], axes[:1])
        del sizes[:1], axes[:1]
        while (have := count(group[0])) != (want := count([axis.extent for axis in group[1]])):
            if not sizes and not axes:
                break  # They are equally many in every run, though not in form.
            if sizes and (not axes or never_negative(want - have)):
                group[0].append(sizes.pop(0))
            else:
                group[1].append(axes.pop(0))
        yield group


def _flatten(axes: Sequence[Axis]) -> Expr | int:
    """The place in row-major order."""
    place: Expr | int = 0
    for axis in axes:
        if axis.extent != 1:
            place = axis if isinstance(place, int) else place * axis.extent + axis
    return place


def _unflatten(place: Expr | int, sizes: Sequence[Size]) -> list[Expr | int]:
    """The indices of a place in row-major order."""
    if isinstance(place, int):
        return [place] * len(sizes)
    indices: list[Expr | int] = []
    outermost = next((d for d, size in enumerate(sizes) if size != 1), 0)
    for d, size in enumerate(sizes):
        step = count(sizes[d + 1 :])
        index = place // step if step != 1 else place
        # In front of it there is nothing that the quotient could count.
        indices.append(0 if size == 1 else index if d == outermost else index % size)
    return indices
