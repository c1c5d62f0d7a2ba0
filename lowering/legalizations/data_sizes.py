"""Operators whose result sizes depend on elements: a count, and what fills a result of that size."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import AnyFloat, IndexType, f64, i1, i64
from xdsl.ir import Attribute

from relex.dialects import relex
from relex.dialects.relex.random_numbers import ui64
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Size
from relex.lowering.legalizations.legalization_table import CountAndFill, legalizes, plain_size, result_shape
from relex.lowering.legalizations.scans import in_order
from relex.lowering.legalizations.shape import unflatten
from relex.lowering.te import (
    Axis,
    Code,
    PrimExpr,
    Tensor,
    as_expr,
    call,
    cast,
    compute,
    equal,
    if_then_else,
    maximum,
    minimum,
    not_equal,
    procedure,
    reduce_axis,
    select,
    sum,
)


@legalizes(relex.NonzeroOp)
def nonzero(op: relex.NonzeroOp, x: Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that notes each place."""
    axes = [reduce_axis(size, f"k{d}") for d, size in enumerate(x.shape)]
    rows = compute((), lambda *_: sum(select(not_equal(x[*axes], 0), one(), 0), axes), name="rows")

    def fill(x: Tensor) -> Tensor:
        shape = result_shape(op, x)

        def emit(code: Code, out: Tensor) -> None:
            with filling(code, out, "nonzero") as row:
                with code.loops(*x.shape) as places:
                    with row_if(not_equal(x[*places], 0), code, row, shape[0]) as at:
                        for d, place in enumerate(places):
                            code.store(out, (at, d), cast(place, i64))

        return procedure(shape, i64, [x], emit, "nonzero")

    return CountAndFill({"rows": rows}, fill)


@legalizes(relex.CompressOp)
def compress(op: relex.CompressOp, data: Tensor, condition: Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that copies each part; single elements as `row_if` does."""
    k = reduce_axis(condition.shape[0], "k")
    kept = compute((), lambda *_: sum(select(condition[k], one(), 0), [k]), name="kept")
    axis = op.normal_axis

    def fill(data: Tensor, condition: Tensor) -> Tensor:
        shape = result_shape(op, data, condition)

        def emit(code: Code, out: Tensor) -> None:
            with filling(code, out, "compress") as row, code.loop(condition.shape[0]) as k:
                if axis is None or len(out.shape) == 1:
                    with row_if(condition[k], code, row, shape[0]) as at:
                        code.store(out, (at,), data[*unflatten(k, data.shape)])
                else:
                    with code.when(condition[k]), next_row(code, row, shape[axis or 0]) as at:
                        with code.loops(*data.shape[:axis], *data.shape[axis + 1 :]) as others:
                            before, after = others[:axis], others[axis:]
                            code.store(out, (*before, at, *after), data[*before, k, *after])

        return procedure(shape, data.type, [data, condition], emit, "compress")

    return CountAndFill({"kept": kept}, fill)


@contextmanager
def filling(code: Code, out: Tensor, name: str) -> Generator[Tensor]:
    """Open a block that fills a tensor row by row, with a variable for the number of the row. All of it is written
    before, as no analysis can know that there is a row for each."""
    with code.block(name):
        with code.loops(*out.shape) as place:
            code.store(out, place, 0)
        yield code.variable(i64, 0, "row")


@contextmanager
def next_row(code: Code, row: Tensor, size: Size) -> Generator[PrimExpr]:
    """Fill the next row, and count it. There is one, which no analysis can know of a number in a buffer."""
    at = code.let(cast(row[()], IndexType()))
    with code.when((at >= 0) & (at < size)):
        yield at
    code.store(row, (), row[()] + 1)


@contextmanager
def row_if(condition: PrimExpr, code: Code, row: Tensor, size: Size) -> Generator[PrimExpr]:
    """Fill the next row, and count it if a condition holds: otherwise the next one that is filled replaces it. A
    processor would guess wrong whether elements are chosen, and lose more time than it takes to store them."""
    before = code.let(row[()])
    at = code.let(cast(before, IndexType()))
    with code.when((at >= 0) & (at < size)):
        yield at
    code.store(row, (), before + select(condition, one(), 0))


def one() -> PrimExpr:
    return as_expr(1, i64)


@legalizes(relex.RepeatOp)
def repeat(op: relex.RepeatOp, data: Tensor, times: Tensor) -> CountAndFill:
    """Legalize to a running sum, and to a copy of the part whose number was last noted at or before a place."""
    size, axis = times.shape[0], op.normal_axis

    def emit_ends(code: Code, out: Tensor) -> None:
        with code.block("ends"):
            total = code.variable(i64, 0, "total")
            with code.loop(size) as k:
                # A negative count, or too large a sum, stays negative.
                so_far = code.let(total[()])
                is_wrong = (so_far < 0) | (times[k] < 0) | (times[k] > MAX_ARGUMENT_SIZE)
                code.store(total, (), select(is_wrong, -one(), minimum(so_far + times[k], MAX_ARGUMENT_SIZE + 1)))
                code.store(out, (k,), total[()])

    ends = procedure((size,), i64, [times], emit_ends, "ends")

    def fill(data: Tensor, times: Tensor, ends: Tensor) -> Tensor:
        shape = result_shape(op, data, times)

        def emit_parts(code: Code, out: Tensor) -> None:
            with filling(code, out, "parts"):
                with code.loop(size) as k, code.when(times[k] > 0):
                    with inside(code, cast(ends[k] - times[k], IndexType()), shape[axis]) as at:
                        code.store(out, (at,), cast(k, i64))
                part = code.variable(i64, 0, "part")
                with code.loop(shape[axis], "place") as k:
                    latest = code.let(maximum(part[()], out[k]))
                    code.store(part, (), latest)
                    code.store(out, (k,), latest)

        parts = procedure((shape[axis],), i64, [times, ends], emit_parts, "parts")

        def element(*i: Axis) -> PrimExpr:
            return data[*i[:axis], clipped(parts[i[axis]], size), *i[axis + 1 :]]

        return compute(shape, element, name="repeat")

    def last(*_: Axis) -> PrimExpr:
        return if_then_else(_is_empty(size), as_expr(0, i64), ends[_last_of(size)])

    return CountAndFill({"total": compute((), last, name="total")}, fill, [ends])


@legalizes(relex.ArangeOp)
def arange(op: relex.ArangeOp, first: Tensor, end: Tensor, step: Tensor) -> CountAndFill:
    """Legalize to a quotient that is rounded up, and to multiples of the step."""

    def length(*_: Axis) -> PrimExpr:
        a, b, by = first[()], end[()], step[()]
        if isinstance(first.type, AnyFloat):
            exact = [cast(x, f64) for x in (a, b, by)]
            number = call("ceil", (exact[1] - exact[0]) / exact[2])
            # NaN fits no comparison.
            fits = (number <= MAX_ARGUMENT_SIZE) & (number > -math.inf)
            return select(fits & not_equal(by, 0), cast(minimum(maximum(number, 0), MAX_ARGUMENT_SIZE), i64), -one())
        a, b, by = (cast(x, i64) for x in (a, b, by))
        # The distance of two integers fits an unsigned one. One step is left out, so that the quotient rounds up.
        distance, stride = (cast(select(by < 0, -x, x), ui64) for x in (b - a, select(equal(by, 0), one(), by)))
        steps = cast(call("trunc_divide", distance - 1, stride), i64) + 1
        runs = select(by < 0, b < a, a < b)
        return select(equal(by, 0), -one(), select(runs, steps, as_expr(0, i64)))

    def fill(first: Tensor, end: Tensor, step: Tensor) -> Tensor:
        shape = result_shape(op, first, end, step)
        return compute(shape, lambda i: first[()] + cast(cast(i, i64), first.type) * step[()], name="arange")

    return CountAndFill({"length": compute((), length, name="length")}, fill)


@legalizes(relex.UniqueOp)
def unique(op: relex.UniqueOp, x: Tensor) -> CountAndFill:
    """Legalize to a sort of the places, a number for each group of equal elements, and a loop for each result."""
    size = x.shape[0]
    order = in_order(x, 0, "order", descends=False)

    def starts(k: PrimExpr, order: Tensor, x: Tensor) -> PrimExpr:
        """Whether the element at a place in the order differs from the one before."""
        here, before = (x[clipped(order[maximum(place, 0)], size)] for place in (k, k - 1))
        differs = not_equal(here, before)
        if isinstance(x.type, AnyFloat):
            differs = differs & (equal(here, here) | equal(before, before))
        return equal(k, 0) | differs

    def emit_groups(code: Code, out: Tensor) -> None:
        with code.block("groups"):
            group = code.variable(i64, -1, "group")
            with code.loop(size) as k:
                now = code.let(group[()] + select(starts(k, order, x), one(), 0))
                code.store(group, (), now)
                code.store(out, (k,), now)

    groups = procedure((size,), i64, [order, x], emit_groups, "groups")

    def fill(x: Tensor, order: Tensor, groups: Tensor) -> list[Tensor]:
        shapes = [tuple(map(plain_size, t.get_shape())) for t in op.infer_results([SizedType(x.type, x.shape)], {})]
        different = shapes[0][0]

        def of_groups(name: str, type: Attribute, value: Callable[[Axis], PrimExpr]) -> Tensor:
            """Store a value for the first element of each group."""

            def emit(code: Code, out: Tensor) -> None:
                with filling(code, out, name), code.loop(size) as k, code.when(starts(k, order, x)):
                    with inside(code, cast(groups[k], IndexType()), different) as at:
                        code.store(out, (at,), value(k))

            return procedure((different,), type, [x, order, groups], emit, name)

        def emit_inverse(code: Code, out: Tensor) -> None:
            with filling(code, out, "inverse"), code.loop(size) as k:
                with inside(code, cast(order[k], IndexType()), size) as at:
                    code.store(out, (at,), groups[k])

        def emit_numbers(code: Code, out: Tensor) -> None:
            with filling(code, out, "numbers"), code.loop(size) as k:
                with inside(code, cast(groups[k], IndexType()), different) as at:
                    code.store(out, (at,), out[at] + 1)

        return [
            of_groups("values", x.type, lambda k: x[clipped(order[k], size)]),
            of_groups("first", i64, lambda k: order[k]),
            procedure((size,), i64, [order, groups], emit_inverse, "inverse"),
            procedure((different,), i64, [groups], emit_numbers, "numbers"),
        ]

    def count(*_: Axis) -> PrimExpr:
        return if_then_else(_is_empty(size), as_expr(0, i64), groups[_last_of(size)] + 1)

    return CountAndFill({"different": compute((), count, name="different")}, fill, [order, groups])


@legalizes(relex.DynamicStridedSliceOp)
def dynamic_strided_slice(
    op: relex.DynamicStridedSliceOp, data: Tensor, begin: Tensor, end: Tensor, step: Tensor
) -> CountAndFill:
    """Legalize to the first place and the length of each dimension's part, and to a copy."""
    axes = op.normal_axes

    def limits(d: int, by: PrimExpr) -> Callable[[PrimExpr], PrimExpr]:
        """Return what clips a place as Python does."""
        size = as_expr(data.shape[d], i64)
        low, high = select(by < 0, -one(), as_expr(0, i64)), select(by < 0, size - 1, size)
        return lambda place: minimum(maximum(select(place < 0, place + size, place), low), high)

    def first(i: int, d: int) -> Tensor:
        return compute((), lambda *_: limits(d, step[i])(begin[i]), name=f"first{d}")

    firsts = [first(i, d) for i, d in enumerate(axes)]

    def length(i: int, d: int) -> Tensor:
        def of(*_: Axis) -> PrimExpr:
            by, start = step[i], firsts[i][()]
            distance = limits(d, by)(end[i]) - start
            # One step is left out, so that the quotient rounds up. The distance is at most the size.
            steps = (
                call("trunc_divide", select(by < 0, distance + 1, distance - 1), select(equal(by, 0), one(), by)) + 1
            )
            runs = select(by < 0, distance < 0, distance > 0)
            return select(equal(by, 0), -one(), select(runs, steps, as_expr(0, i64)))

        return compute((), of, name=f"d{d}")

    def fill(data: Tensor, begin: Tensor, end: Tensor, step: Tensor, *firsts: Tensor) -> Tensor:
        def element(*places: Axis) -> PrimExpr:
            at: list[PrimExpr] = [*places]
            for i, d in enumerate(axes):
                at[d] = clipped(firsts[i][()] + cast(places[d], i64) * step[i], data.shape[d])
            return data[*at]

        return compute(result_shape(op, data, begin, end, step), element, name="dynamic_strided_slice")

    return CountAndFill({f"d{d}": length(i, d) for i, d in enumerate(axes)}, fill, firsts)


@legalizes(relex.AsSizesOp)
def as_sizes(op: relex.AsSizesOp, numbers: Tensor) -> CountAndFill:
    """Legalize to a copy of each number, and to a loop without trips."""

    def fill(numbers: Tensor) -> Tensor:
        return compute(result_shape(op, numbers), lambda *i: as_expr(0, i1), name="as_sizes")

    (count,) = numbers.shape
    assert isinstance(count, int)
    counts = {f"d{d}": compute((), lambda *_, d=d: numbers[d], name=f"d{d}") for d in range(count)}
    return CountAndFill(counts, fill)


@contextmanager
def inside(code: Code, place: PrimExpr, size: Size) -> Generator[PrimExpr]:
    """Do something at a place. It exists, which no analysis can know of a number in a buffer."""
    at = code.let(place)
    with code.when((at >= 0) & (at < size)):
        yield at


def clipped(place: PrimExpr, size: Size) -> PrimExpr:
    """Return an index for a number that is one, which no analysis can know of a number in a buffer."""
    return minimum(maximum(cast(place, IndexType()), 0), size - 1)


def _is_empty(size: Size) -> PrimExpr:
    return equal(as_expr(size, IndexType()), 0)


def _last_of(size: Size) -> PrimExpr:
    return maximum(as_expr(size, IndexType()) - 1, 0)
