"""Operators whose result sizes depend on elements: a count, and what fills a result of that size."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import IndexType, i64

from relex.dialects.relex import CompressOp, NonzeroOp
from relex.dialects.sizes import Size
from relex.lowering.legalizations.legalization_table import CountAndFill, legalizes, result_shape
from relex.lowering.legalizations.shape import unflatten
from relex.lowering.te import (
    Code,
    PrimExpr,
    Tensor,
    as_expr,
    cast,
    compute,
    not_equal,
    procedure,
    reduce_axis,
    select,
    sum,
)


@legalizes(NonzeroOp)
def nonzero(op: NonzeroOp, x: Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that notes each place."""
    axes = [reduce_axis(size, f"k{d}") for d, size in enumerate(x.shape)]
    rows = compute((), lambda *_: sum(select(not_equal(x[*axes], 0), _one(), 0), axes), name="rows")

    def fill(x: Tensor) -> Tensor:
        shape = result_shape(op, x)

        def emit(code: Code, out: Tensor) -> None:
            with _filling(code, out, "nonzero") as row:
                with (
                    code.loops(*x.shape) as places,
                    code.when(not_equal(x[*places], 0)),
                    _next(code, row, shape[0]) as at,
                ):
                    for d, place in enumerate(places):
                        code.store(out, (at, d), cast(place, i64))

        return procedure(shape, i64, [x], emit, "nonzero")

    return CountAndFill({"rows": rows}, fill)


@legalizes(CompressOp)
def compress(op: CompressOp, data: Tensor, condition: Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that copies each part."""
    k = reduce_axis(condition.shape[0], "k")
    kept = compute((), lambda *_: sum(select(condition[k], _one(), 0), [k]), name="kept")
    axis = op.normal_axis

    def fill(data: Tensor, condition: Tensor) -> Tensor:
        shape = result_shape(op, data, condition)

        def emit(code: Code, out: Tensor) -> None:
            with _filling(code, out, "compress") as row:
                with (
                    code.loop(condition.shape[0]) as k,
                    code.when(condition[k]),
                    _next(code, row, shape[axis or 0]) as at,
                ):
                    if axis is None:
                        code.store(out, (at,), data[*unflatten(k, data.shape)])
                    else:
                        with code.loops(*data.shape[:axis], *data.shape[axis + 1 :]) as others:
                            before, after = others[:axis], others[axis:]
                            code.store(out, (*before, at, *after), data[*before, k, *after])

        return procedure(shape, data.type, [data, condition], emit, "compress")

    return CountAndFill({"kept": kept}, fill)


@contextmanager
def _filling(code: Code, out: Tensor, name: str) -> Generator[Tensor]:
    """Open a block that fills a tensor row by row, with a variable for the number of the row. All of it is written
    before, as no analysis can know that there is a row for each."""
    with code.block(name):
        with code.loops(*out.shape) as place:
            code.store(out, place, 0)
        yield code.variable(i64, 0, "row")


@contextmanager
def _next(code: Code, row: Tensor, size: Size) -> Generator[PrimExpr]:
    """Fill the next row, and count it. There is one, which no analysis can know of a number in a buffer."""
    at = code.let(cast(row[()], IndexType()))
    with code.when((at >= 0) & (at < size)):
        yield at
    code.store(row, (), row[()] + 1)


def _one() -> PrimExpr:
    return as_expr(1, i64)
