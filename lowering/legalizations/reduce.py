"""Reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import AnyFloat, IndexType, i64

from relex.dialects.relex import ArgExtreme, ArgmaxOp, MaxOp, MeanOp, MinOp, ProdOp, Reduction, SumOp
from relex.dialects.relex.reductions import reduced_shape
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import legalizes

ReduceFunction = Callable[[te.PrimExpr, Sequence[te.Axis]], te.PrimExpr]
"""A function from an expression and the axes to reduce over to the reduction, such as `te.sum`."""


_FUNCTIONS: Mapping[type[Reduction], ReduceFunction] = {SumOp: te.sum, ProdOp: te.prod, MaxOp: te.max, MinOp: te.min}


@legalizes(*_FUNCTIONS)
def reduction(op: Reduction, x: te.Tensor) -> te.Tensor:
    """Legalize to a reduction over the axes by the function of the same name."""
    return reduced(x, op.axes, _FUNCTIONS[type(op)], op.name.rpartition(".")[2], keepdims=op.keeps)


@legalizes(MeanOp)
def mean(op: MeanOp, x: te.Tensor) -> te.Tensor:
    """Legalize to a sum divided by the number of elements."""
    return average(reduced(x, op.axes, te.sum, "sum", keepdims=op.keeps), x, op.axes, "mean")


@legalizes(ArgExtreme)
def arg_extreme(op: ArgExtreme, x: te.Tensor) -> te.Tensor:
    """Legalize to the extreme, then the smallest position that holds it, or NaN; or the largest position."""
    function = te.max if isinstance(op, ArgmaxOp) else te.min
    name = op.name.rpartition(".")[2]
    return extreme_place(x, op.axes, function, name, keepdims=op.keeps, selects_last=op.selects_last)


def extreme_place(
    x: te.Tensor,
    axes: Sequence[int],
    function: ReduceFunction,
    name: str,
    *,
    keepdims: bool = False,
    selects_last: bool = False,
) -> te.Tensor:
    """Find the position of the extreme over some dimensions, in row-major order."""
    best = reduced(x, axes, function, "best", keepdims=True)
    places = {axis: te.reduce_axis(x.shape[axis], f"k{axis}") for axis in axes}
    beyond = -1 if selects_last else math.prod(x.shape[axis] for axis in axes)
    choose = te.max if selects_last else te.min
    shape = reduced_shape(x.shape, axes, keepdims)

    def element(*i: te.Axis) -> te.PrimExpr:
        at = dict(zip(_kept(x, axes, keepdims), i, strict=True)) | places
        value = x[*(at[d] for d in range(x.ndim))]
        wanted = best[*(0 if d in axes else at[d] for d in range(x.ndim))]
        found = te.equal(value, wanted) | te.is_nan(value) if isinstance(x.type, AnyFloat) else te.equal(value, wanted)
        place = te.select(found, te.cast(_place(list(places.values())), i64), beyond)
        return choose(place, list(places.values())) if places else place

    return te.compute(shape, element, name=name)


def _place(axes: Sequence[te.Axis]) -> te.PrimExpr:
    """Return the position in row-major order."""
    place = te.as_expr(0, IndexType())
    for step, axis in enumerate(axes):
        place = place * axis.extent + axis if step else axis
    return place


def _kept(x: te.Tensor, axes: Sequence[int], keepdims: bool) -> list[int]:
    """The dimensions of a tensor that its reduction keeps."""
    return [d for d in range(x.ndim) if keepdims or d not in axes]


def reduced(x: te.Tensor, axes: Sequence[int], function: ReduceFunction, name: str, *, keepdims: bool) -> te.Tensor:
    """Reduce a tensor over some of its dimensions."""
    places = {axis: te.reduce_axis(x.shape[axis], f"k{axis}") for axis in axes}

    def element(*i: te.Axis) -> te.PrimExpr:
        at = dict(zip(_kept(x, axes, keepdims), i, strict=True)) | places
        value = x[*(at[d] for d in range(x.ndim))]
        if places:
            return function(value, list(places.values()))
        # A sum begins with 0, and 0 + -0 is 0.
        return value + 0 if function is te.sum and isinstance(value.type, AnyFloat) else value

    return te.compute(reduced_shape(x.shape, axes, keepdims), element, name=name)


def average(total: te.Tensor, x: te.Tensor, axes: Sequence[int], name: str) -> te.Tensor:
    """Divide a sum over some dimensions of `x` by the number of its terms."""
    count = math.prod(x.shape[axis] for axis in axes)
    return te.compute(total.shape, lambda *i: total[*i] / count, name=name)
