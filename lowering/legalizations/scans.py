"""Cumulative sums and products, and sorting."""

from __future__ import annotations

from contextlib import nullcontext

from xdsl.dialects.builtin import AnyFloat, IndexType, i64

from relex.dialects.relex import ArgsortOp, CumsumOp, Scan, SortOp
from relex.lowering.legalizations.legalization_table import legalizes
from relex.lowering.te import (
    Axis,
    Code,
    PrimExpr,
    Tensor,
    call,
    cast,
    compute,
    equal,
    is_nan,
    maximum,
    minimum,
    procedure,
    select,
)


@legalizes(Scan)
def scan(op: Scan, x: Tensor) -> Tensor:
    """Legalize to a loop along the axis, with a variable for the elements so far."""
    axis, name = op.normal_axis, op.name.rpartition(".")[2]
    combiner = "add" if isinstance(op, CumsumOp) else "multiply"
    size = x.shape[axis]
    # 0 + -0 is 0: the sum of -0 alone would lose its sign.
    start = -0.0 if op.START == 0 and op.exclusive is None and isinstance(x.type, AnyFloat) else op.START

    def emit(code: Code, out: Tensor) -> None:
        with code.block(name, *x.shape[:axis], *x.shape[axis + 1 :]) as others:
            total = code.variable(x.type, start, "total")
            with code.loop(size) as k:
                place = k if op.reverse is None else -k + (size - 1)
                at = (*others[:axis], place, *others[axis:])
                before = code.let(total[()])
                after = code.let(call(combiner, before, x[at]))
                code.store(out, at, after if op.exclusive is None else before)
                code.store(total, (), after)

    return procedure(x.shape, x.type, [x], emit, name)


@legalizes(ArgsortOp)
def argsort(op: ArgsortOp, x: Tensor) -> Tensor:
    """Legalize to a merge sort of the positions."""
    return in_order(x, op.normal_axis, "argsort", descends=op.descends)


@legalizes(SortOp)
def sort(op: SortOp, x: Tensor) -> Tensor:
    """Legalize to a merge sort of the positions, and a gather."""
    axis = op.normal_axis
    order = in_order(x, axis, "order", descends=op.descends)

    def element(*i: Axis) -> PrimExpr:
        # It is an index already, which no analysis can know of a number in a buffer.
        place = minimum(maximum(cast(order[i], IndexType()), 0), x.shape[axis] - 1)
        return x[*i[:axis], place, *i[axis + 1 :]]

    return compute(x.shape, element, name="sort")


def _precedes(a: PrimExpr, b: PrimExpr, *, descends: bool) -> PrimExpr:
    """Return whether a number comes before another one that is not equal; NaN counts as the largest."""
    if descends:
        return (a > b) | (is_nan(a) & equal(b, b)) if isinstance(a.type, AnyFloat) else a > b
    return (a < b) | (is_nan(b) & equal(a, a)) if isinstance(a.type, AnyFloat) else a < b


_MOST_DOUBLINGS = 62
"""As often can a width of 1 be doubled before it exceeds any size."""


def in_order(x: Tensor, axis: int, name: str, *, descends: bool) -> Tensor:
    """Sort positions along a dimension by merging runs of 1, 2, 4, ... elements."""
    size = x.shape[axis]
    if size == 0:
        return compute(x.shape, lambda *i: cast(i[axis], i64), name=name)
    passes = (size - 1).bit_length() if isinstance(size, int) else _MOST_DOUBLINGS

    def position(number: PrimExpr) -> PrimExpr:
        """Return a number as an index. It is one already, which no analysis can know of a number in a buffer."""
        return cast(minimum(maximum(number, 0), size - 1), IndexType())

    def emit(code: Code, out: Tensor) -> None:
        with code.block(name, *x.shape[:axis], *x.shape[axis + 1 :]) as others:
            order, merged = code.buffer((size,), i64, "order"), code.buffer((size,), i64, "merged")
            width = code.variable(i64, 1, "width")
            left, right = code.variable(i64, 0, "left"), code.variable(i64, 0, "right")
            with code.loop(size) as k:
                code.store(order, (k,), cast(k, i64))
            with code.loop(passes, "pass"), nullcontext() if isinstance(size, int) else code.when(width[()] < size):
                run = code.let(width[()])
                with code.loop(size, "place") as k:
                    place = cast(k, i64)
                    # The width is a power of two: without its lower bits, a place is where its pair of runs starts.
                    start = code.let(call("bitwise_and", place, -(run * 2)))
                    middle, end = (code.let(minimum(start + run * n, size)) for n in (1, 2))
                    with code.when(equal(start, place)):
                        code.store(left, (), start)
                        code.store(right, (), middle)
                    i, j = code.let(left[()]), code.let(right[()])
                    a, b = order[position(i)], order[position(j)]
                    first, second = (x[(*others[:axis], position(n), *others[axis:])] for n in (a, b))
                    takes_right = (i >= middle) | ((j < end) & _precedes(second, first, descends=descends))
                    code.store(merged, (k,), select(takes_right, b, a))
                    code.store(left, (), select(takes_right, i, i + 1))
                    code.store(right, (), select(takes_right, j + 1, j))
                with code.loop(size) as k:
                    code.store(order, (k,), merged[k])
                code.store(width, (), run * 2)
            with code.loop(size) as k:
                code.store(out, (*others[:axis], k, *others[axis:]), order[k])

    return procedure(x.shape, i64, [x], emit, name)
