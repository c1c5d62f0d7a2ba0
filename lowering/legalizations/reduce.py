"""Reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import AnyFloat, IndexType, i64

from relex.dialects.relex import ArgExtreme, ArgmaxOp, MaxOp, MeanOp, MinOp, ProdOp, Reduction, SumOp
from relex.dialects.relex.reductions import reduced_shape
from relex.lowering.legalizations.legalization_table import legalizes
from relex.lowering.te import (
    Axis,
    PrimExpr,
    Tensor,
    as_expr,
    cast,
    compute,
    equal,
    is_nan,
    max,
    min,
    prod,
    reduce_axis,
    select,
    sum,
)

ReduceFunction = Callable[[PrimExpr, Sequence[Axis]], PrimExpr]
"""A function from an expression and the axes to reduce over to the reduction, such as `te.sum`."""


_FUNCTIONS: Mapping[type[Reduction], ReduceFunction] = {SumOp: sum, ProdOp: prod, MaxOp: max, MinOp: min}


@legalizes(*_FUNCTIONS)
def reduction(op: Reduction, x: Tensor) -> Tensor:
    """Legalize to a reduction over the axes by the function of the same name."""
    return reduced(x, op.axes, _FUNCTIONS[type(op)], op.name.rpartition(".")[2], keepdims=op.keeps)


@legalizes(MeanOp)
def mean(op: MeanOp, x: Tensor) -> Tensor:
    """Legalize to a sum divided by the number of elements."""
    return average(reduced(x, op.axes, sum, "sum", keepdims=op.keeps), x, op.axes, "mean")


@legalizes(ArgExtreme)
def arg_extreme(op: ArgExtreme, x: Tensor) -> Tensor:
    """Legalize to the extreme, then the smallest position that holds it, or NaN; or the largest position."""
    function = max if isinstance(op, ArgmaxOp) else min
    name = op.name.rpartition(".")[2]
    return extreme_place(x, op.axes, function, name, keepdims=op.keeps, selects_last=op.selects_last)


def extreme_place(
    x: Tensor,
    axes: Sequence[int],
    function: ReduceFunction,
    name: str,
    *,
    keepdims: bool = False,
    selects_last: bool = False,
) -> Tensor:
    """Find the position of the extreme over some dimensions, in row-major order."""
    best = reduced(x, axes, function, "best", keepdims=True)
    places = {axis: reduce_axis(x.shape[axis], f"k{axis}") for axis in axes}
    beyond = -1 if selects_last else math.prod(x.shape[axis] for axis in axes)
    choose = max if selects_last else min
    shape = reduced_shape(x.shape, axes, keepdims)

    def element(*i: Axis) -> PrimExpr:
        at = dict(zip(_kept(x, axes, keepdims), i, strict=True)) | places
        value = x[*(at[d] for d in range(x.ndim))]
        wanted = best[*(0 if d in axes else at[d] for d in range(x.ndim))]
        found = equal(value, wanted) | is_nan(value) if isinstance(x.type, AnyFloat) else equal(value, wanted)
        place = select(found, cast(_place(list(places.values())), i64), beyond)
        return choose(place, list(places.values())) if places else place

    return compute(shape, element, name=name)


def _place(axes: Sequence[Axis]) -> PrimExpr:
    """Return the position in row-major order."""
    place = as_expr(0, IndexType())
    for step, axis in enumerate(axes):
        place = place * axis.extent + axis if step else axis
    return place


def _kept(x: Tensor, axes: Sequence[int], keepdims: bool) -> list[int]:
    """The dimensions of a tensor that its reduction keeps."""
    return [d for d in range(x.ndim) if keepdims or d not in axes]


def reduced(x: Tensor, axes: Sequence[int], function: ReduceFunction, name: str, *, keepdims: bool) -> Tensor:
    """Reduce a tensor over some of its dimensions."""
    places = {axis: reduce_axis(x.shape[axis], f"k{axis}") for axis in axes}

    def element(*i: Axis) -> PrimExpr:
        at = dict(zip(_kept(x, axes, keepdims), i, strict=True)) | places
        value = x[*(at[d] for d in range(x.ndim))]
        if places:
            return function(value, list(places.values()))
        # A sum begins with 0, and 0 + -0 is 0.
        return value + 0 if function is sum and isinstance(value.type, AnyFloat) else value

    return compute(reduced_shape(x.shape, axes, keepdims), element, name=name)


def average(total: Tensor, x: Tensor, axes: Sequence[int], name: str) -> Tensor:
    """Divide a sum over some dimensions of `x` by the number of its terms."""
    count = math.prod(x.shape[axis] for axis in axes)
    return compute(total.shape, lambda *i: total[*i] / count, name=name)
