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
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import CountAndFill, legalizes, plain_size, result_shape
from relex.lowering.legalizations.scans import in_order
from relex.lowering.legalizations.shape import unflatten


@legalizes(relex.NonzeroOp)
def nonzero(op: relex.NonzeroOp, x: te.Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that notes each place."""
    axes = [te.reduce_axis(size, f"k{d}") for d, size in enumerate(x.shape)]
    rows = te.compute((), lambda *_: te.sum(te.select(te.not_equal(x[*axes], 0), one(), 0), axes), name="rows")

    def fill(x: te.Tensor) -> te.Tensor:
        shape = result_shape(op, x)

        def emit(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "nonzero") as row:
                with code.loops(*x.shape) as places:
                    with row_if(te.not_equal(x[*places], 0), code, row, shape[0]) as at:
                        for d, place in enumerate(places):
                            code.store(out, (at, d), te.cast(place, i64))

        return te.procedure(shape, i64, [x], emit, "nonzero")

    return CountAndFill({"rows": rows}, fill)


@legalizes(relex.CompressOp)
def compress(op: relex.CompressOp, data: te.Tensor, condition: te.Tensor) -> CountAndFill:
    """Legalize to a sum of ones, and to a loop that copies each part; single elements as `row_if` does."""
    k = te.reduce_axis(condition.shape[0], "k")
    kept = te.compute((), lambda *_: te.sum(te.select(condition[k], one(), 0), [k]), name="kept")
    axis = op.normal_axis

    def fill(data: te.Tensor, condition: te.Tensor) -> te.Tensor:
        shape = result_shape(op, data, condition)

        def emit(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "compress") as row, code.loop(condition.shape[0]) as k:
                if axis is None or len(out.shape) == 1:
                    with row_if(condition[k], code, row, shape[0]) as at:
                        code.store(out, (at,), data[*unflatten(k, data.shape)])
                else:
                    with code.when(condition[k]), next_row(code, row, shape[axis or 0]) as at:
                        with code.loops(*data.shape[:axis], *data.shape[axis + 1 :]) as others:
                            before, after = others[:axis], others[axis:]
                            code.store(out, (*before, at, *after), data[*before, k, *after])

        return te.procedure(shape, data.type, [data, condition], emit, "compress")

    return CountAndFill({"kept": kept}, fill)


@contextmanager
def filling(code: te.Code, out: te.Tensor, name: str) -> Generator[te.Tensor]:
    """Open a block that fills a tensor row by row, with a variable for the number of the row. All of it is written
    before, as no analysis can know that there is a row for each."""
    with code.block(name):
        with code.loops(*out.shape) as place:
            code.store(out, place, 0)
        yield code.variable(i64, 0, "row")


@contextmanager
def next_row(code: te.Code, row: te.Tensor, size: Size) -> Generator[te.PrimExpr]:
    """Fill the next row, and count it. There is one, which no analysis can know of a number in a buffer."""
    at = code.let(te.cast(row[()], IndexType()))
    with code.when((at >= 0) & (at < size)):
        yield at
    code.store(row, (), row[()] + 1)


@contextmanager
def row_if(condition: te.PrimExpr, code: te.Code, row: te.Tensor, size: Size) -> Generator[te.PrimExpr]:
    """Fill the next row, and count it if a condition holds: otherwise the next one that is filled replaces it. A
    processor would guess wrong whether elements are chosen, and lose more time than it takes to store them."""
    before = code.let(row[()])
    at = code.let(te.cast(before, IndexType()))
    with code.when((at >= 0) & (at < size)):
        yield at
    code.store(row, (), before + te.select(condition, one(), 0))


def one() -> te.PrimExpr:
    return te.as_expr(1, i64)


@legalizes(relex.RepeatOp)
def repeat(op: relex.RepeatOp, data: te.Tensor, times: te.Tensor) -> CountAndFill:
    """Legalize to a running sum, and to a copy of the part whose number was last noted at or before a place."""
    size, axis = times.shape[0], op.normal_axis

    def emit_ends(code: te.Code, out: te.Tensor) -> None:
        with code.block("ends"):
            total = code.variable(i64, 0, "total")
            with code.loop(size) as k:
                # A negative count, or too large a sum, stays negative.
                so_far = code.let(total[()])
                is_wrong = (so_far < 0) | (times[k] < 0) | (times[k] > MAX_ARGUMENT_SIZE)
                code.store(total, (), te.select(is_wrong, -one(), te.minimum(so_far + times[k], MAX_ARGUMENT_SIZE + 1)))
                code.store(out, (k,), total[()])

    ends = te.procedure((size,), i64, [times], emit_ends, "ends")

    def fill(data: te.Tensor, times: te.Tensor, ends: te.Tensor) -> te.Tensor:
        shape = result_shape(op, data, times)

        def emit_parts(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "parts"):
                with code.loop(size) as k, code.when(times[k] > 0):
                    with inside(code, te.cast(ends[k] - times[k], IndexType()), shape[axis]) as at:
                        code.store(out, (at,), te.cast(k, i64))
                part = code.variable(i64, 0, "part")
                with code.loop(shape[axis], "place") as k:
                    latest = code.let(te.maximum(part[()], out[k]))
                    code.store(part, (), latest)
                    code.store(out, (k,), latest)

        parts = te.procedure((shape[axis],), i64, [times, ends], emit_parts, "parts")

        def element(*i: te.Axis) -> te.PrimExpr:
            return data[*i[:axis], clipped(parts[i[axis]], size), *i[axis + 1 :]]

        return te.compute(shape, element, name="repeat")

    def last(*_: te.Axis) -> te.PrimExpr:
        return te.if_then_else(_is_empty(size), te.as_expr(0, i64), ends[_last_of(size)])

    return CountAndFill({"total": te.compute((), last, name="total")}, fill, [ends])


@legalizes(relex.ArangeOp)
def arange(op: relex.ArangeOp, first: te.Tensor, end: te.Tensor, step: te.Tensor) -> CountAndFill:
    """Legalize to a quotient that is rounded up, and to multiples of the step."""

    def length(*_: te.Axis) -> te.PrimExpr:
        a, b, by = first[()], end[()], step[()]
        if isinstance(first.type, AnyFloat):
            exact = [te.cast(x, f64) for x in (a, b, by)]
            number = te.call("ceil", (exact[1] - exact[0]) / exact[2])
            # NaN fits no comparison.
            fits = (number <= MAX_ARGUMENT_SIZE) & (number > -math.inf)
            return te.select(
                fits & te.not_equal(by, 0), te.cast(te.minimum(te.maximum(number, 0), MAX_ARGUMENT_SIZE), i64), -one()
            )
        a, b, by = (te.cast(x, i64) for x in (a, b, by))
        # The distance of two integers fits an unsigned one. One step is left out, so that the quotient rounds up.
        distance, stride = (
            te.cast(te.select(by < 0, -x, x), ui64) for x in (b - a, te.select(te.equal(by, 0), one(), by))
        )
        steps = te.cast(te.call("trunc_divide", distance - 1, stride), i64) + 1
        runs = te.select(by < 0, b < a, a < b)
        return te.select(te.equal(by, 0), -one(), te.select(runs, steps, te.as_expr(0, i64)))

    def fill(first: te.Tensor, end: te.Tensor, step: te.Tensor) -> te.Tensor:
        shape = result_shape(op, first, end, step)
        return te.compute(shape, lambda i: first[()] + te.cast(te.cast(i, i64), first.type) * step[()], name="arange")

    return CountAndFill({"length": te.compute((), length, name="length")}, fill)


@legalizes(relex.UniqueOp)
def unique(op: relex.UniqueOp, x: te.Tensor) -> CountAndFill:
    """Legalize to a sort of the places, a number for each group of equal elements, and a loop for each result."""
    size = x.shape[0]
    order = in_order(x, 0, "order", descends=False)

    def starts(k: te.PrimExpr, order: te.Tensor, x: te.Tensor) -> te.PrimExpr:
        """Whether the element at a place in the order differs from the one before."""
        here, before = (x[clipped(order[te.maximum(place, 0)], size)] for place in (k, k - 1))
        differs = te.not_equal(here, before)
        if isinstance(x.type, AnyFloat):
            differs = differs & (te.equal(here, here) | te.equal(before, before))
        return te.equal(k, 0) | differs

    def emit_groups(code: te.Code, out: te.Tensor) -> None:
        with code.block("groups"):
            group = code.variable(i64, -1, "group")
            with code.loop(size) as k:
                now = code.let(group[()] + te.select(starts(k, order, x), one(), 0))
                code.store(group, (), now)
                code.store(out, (k,), now)

    groups = te.procedure((size,), i64, [order, x], emit_groups, "groups")

    def fill(x: te.Tensor, order: te.Tensor, groups: te.Tensor) -> list[te.Tensor]:
        shapes = [tuple(map(plain_size, t.get_shape())) for t in op.infer_results([SizedType(x.type, x.shape)], {})]
        different = shapes[0][0]

        def of_groups(name: str, type: Attribute, value: Callable[[te.Axis], te.PrimExpr]) -> te.Tensor:
            """Store a value for the first element of each group."""

            def emit(code: te.Code, out: te.Tensor) -> None:
                with filling(code, out, name), code.loop(size) as k, code.when(starts(k, order, x)):
                    with inside(code, te.cast(groups[k], IndexType()), different) as at:
                        code.store(out, (at,), value(k))

            return te.procedure((different,), type, [x, order, groups], emit, name)

        def emit_inverse(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "inverse"), code.loop(size) as k:
                with inside(code, te.cast(order[k], IndexType()), size) as at:
                    code.store(out, (at,), groups[k])

        def emit_numbers(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "numbers"), code.loop(size) as k:
                with inside(code, te.cast(groups[k], IndexType()), different) as at:
                    code.store(out, (at,), out[at] + 1)

        return [
            of_groups("values", x.type, lambda k: x[clipped(order[k], size)]),
            of_groups("first", i64, lambda k: order[k]),
            te.procedure((size,), i64, [order, groups], emit_inverse, "inverse"),
            te.procedure((different,), i64, [groups], emit_numbers, "numbers"),
        ]

    def count(*_: te.Axis) -> te.PrimExpr:
        return te.if_then_else(_is_empty(size), te.as_expr(0, i64), groups[_last_of(size)] + 1)

    return CountAndFill({"different": te.compute((), count, name="different")}, fill, [order, groups])


@legalizes(relex.DynamicStridedSliceOp)
def dynamic_strided_slice(
    op: relex.DynamicStridedSliceOp, data: te.Tensor, begin: te.Tensor, end: te.Tensor, step: te.Tensor
) -> CountAndFill:
    """Legalize to the first place and the length of each dimension's part, and to a copy."""
    axes = op.normal_axes

    def limits(d: int, by: te.PrimExpr) -> Callable[[te.PrimExpr], te.PrimExpr]:
        """Return what clips a place as Python does."""
        size = te.as_expr(data.shape[d], i64)
        low, high = te.select(by < 0, -one(), te.as_expr(0, i64)), te.select(by < 0, size - 1, size)
        return lambda place: te.minimum(te.maximum(te.select(place < 0, place + size, place), low), high)

    def first(i: int, d: int) -> te.Tensor:
        return te.compute((), lambda *_: limits(d, step[i])(begin[i]), name=f"first{d}")

    firsts = [first(i, d) for i, d in enumerate(axes)]

    def length(i: int, d: int) -> te.Tensor:
        def of(*_: te.Axis) -> te.PrimExpr:
            by, start = step[i], firsts[i][()]
            distance = limits(d, by)(end[i]) - start
            # One step is left out, so that the quotient rounds up. The distance is at most the size.
            steps = (
                te.call(
                    "trunc_divide", te.select(by < 0, distance + 1, distance - 1), te.select(te.equal(by, 0), one(), by)
                )
                + 1
            )
            runs = te.select(by < 0, distance < 0, distance > 0)
            return te.select(te.equal(by, 0), -one(), te.select(runs, steps, te.as_expr(0, i64)))

        return te.compute((), of, name=f"d{d}")

    def fill(data: te.Tensor, begin: te.Tensor, end: te.Tensor, step: te.Tensor, *firsts: te.Tensor) -> te.Tensor:
        def element(*places: te.Axis) -> te.PrimExpr:
            at: list[te.PrimExpr] = [*places]
            for i, d in enumerate(axes):
                at[d] = clipped(firsts[i][()] + te.cast(places[d], i64) * step[i], data.shape[d])
            return data[*at]

        return te.compute(result_shape(op, data, begin, end, step), element, name="dynamic_strided_slice")

    return CountAndFill({f"d{d}": length(i, d) for i, d in enumerate(axes)}, fill, firsts)


@legalizes(relex.AsSizesOp)
def as_sizes(op: relex.AsSizesOp, numbers: te.Tensor) -> CountAndFill:
    """Legalize to a copy of each number, and to a loop without trips."""

    def fill(numbers: te.Tensor) -> te.Tensor:
        return te.compute(result_shape(op, numbers), lambda *i: te.as_expr(0, i1), name="as_sizes")

    (count,) = numbers.shape
    assert isinstance(count, int)
    counts = {f"d{d}": te.compute((), lambda *_, d=d: numbers[d], name=f"d{d}") for d in range(count)}
    return CountAndFill(counts, fill)


@contextmanager
def inside(code: te.Code, place: te.PrimExpr, size: Size) -> Generator[te.PrimExpr]:
    """Do something at a place. It exists, which no analysis can know of a number in a buffer."""
    at = code.let(place)
    with code.when((at >= 0) & (at < size)):
        yield at


def clipped(place: te.PrimExpr, size: Size) -> te.PrimExpr:
    """Return an index for a number that is one, which no analysis can know of a number in a buffer."""
    return te.minimum(te.maximum(te.cast(place, IndexType()), 0), size - 1)


def _is_empty(size: Size) -> te.PrimExpr:
    return te.equal(te.as_expr(size, IndexType()), 0)


def _last_of(size: Size) -> te.PrimExpr:
    return te.maximum(te.as_expr(size, IndexType()) - 1, 0)
