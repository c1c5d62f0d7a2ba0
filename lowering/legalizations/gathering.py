"""Gathering and scattering by tensors of indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from relex.dialects.relex import GatherElementsOp, GatherNdOp, Scatter, ScatterElementsOp, ScatterNdOp
from relex.dialects.relex.gathering import REDUCTIONS
from relex.dialects.sizes import Size
from relex.lowering import te
from relex.lowering.legalizations.gather_scatter import as_place
from relex.lowering.legalizations.legalization_table import legalizes, result_shape


def _from_front(index: te.PrimExpr, size: Size) -> te.PrimExpr:
    """Return an index that counts from the front."""
    place = as_place(index)
    return te.select(place < 0, place + size, place)


def _inside(index: te.PrimExpr, size: Size) -> te.PrimExpr:
    """Return an index that counts from the front, clipped to the valid range."""
    return te.minimum(te.maximum(_from_front(index, size), 0), size - 1)


@legalizes(GatherElementsOp)
def gather_elements(op: GatherElementsOp, x: te.Tensor, indices: te.Tensor) -> te.Tensor:
    """Legalize to a gather along the axis."""
    axis = op.normal_axis

    def element(*i: te.Axis) -> te.PrimExpr:
        return x[*i[:axis], _inside(indices[*i], x.shape[axis]), *i[axis + 1 :]]

    return te.compute(indices.shape, element, name="gather_elements")


@legalizes(GatherNdOp)
def gather_nd(op: GatherNdOp, x: te.Tensor, indices: te.Tensor) -> te.Tensor:
    """Legalize to a gather along several dimensions."""
    batch, places = op.batch, indices.ndim - 1
    depth = indices.shape[-1]
    assert isinstance(depth, int)

    def element(*i: te.Axis) -> te.PrimExpr:
        chosen = [_inside(indices[*i[:places], d], x.shape[batch + d]) for d in range(depth)]
        return x[*i[:batch], *chosen, *i[places:]]

    return te.compute(result_shape(op, x, indices), element, name="gather_nd")


def _scatter(
    op: Scatter,
    x: te.Tensor,
    indices: te.Tensor,
    updates: te.Tensor,
    place: Callable[[Sequence[te.Axis]], tuple[Sequence[te.PrimExpr], Sequence[int]]],
) -> te.Tensor:
    """Copy the data, then apply the updates in order. `place` gives the indices of an update from those in `updates`,
    and says which of them may be out of range."""
    name = op.name.rpartition(".")[2]
    combiner = REDUCTIONS[op.reduction.data]

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block(f"{name}_data", *x.shape) as i:
            code.store(out, i, x[i])
        with code.block(name), code.loops(*updates.shape) as i:
            at, unsure = place(i)
            exists = reduce(lambda a, b: a & b, [(at[d] >= 0) & (at[d] < x.shape[d]) for d in unsure])
            with code.when(exists):
                update = updates[i]
                code.store(out, at, update if combiner is None else te.call(combiner, out[at], update))

    return te.procedure(x.shape, x.type, [x, indices, updates], emit, name)


@legalizes(ScatterElementsOp)
def scatter_elements(op: ScatterElementsOp, x: te.Tensor, indices: te.Tensor, updates: te.Tensor) -> te.Tensor:
    """Legalize to a copy and a loop over the updates."""
    axis = op.normal_axis

    def place(i: Sequence[te.Axis]) -> tuple[Sequence[te.PrimExpr], Sequence[int]]:
        return [*i[:axis], _from_front(indices[i], x.shape[axis]), *i[axis + 1 :]], [axis]

    return _scatter(op, x, indices, updates, place)


@legalizes(ScatterNdOp)
def scatter_nd(op: ScatterNdOp, x: te.Tensor, indices: te.Tensor, updates: te.Tensor) -> te.Tensor:
    """Legalize to a copy and a loop over the updates."""
    axis, depth = op.normal_axis, indices.shape[-1]
    after = axis + indices.ndim - 1
    assert isinstance(depth, int)

    def place(i: Sequence[te.Axis]) -> tuple[Sequence[te.PrimExpr], Sequence[int]]:
        chosen = [_from_front(indices[*i[axis:after], d], x.shape[axis + d]) for d in range(depth)]
        return [*i[:axis], *chosen, *i[after:]], range(axis, axis + depth)

    return _scatter(op, x, indices, updates, place)
