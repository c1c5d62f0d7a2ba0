"""Cumulative sums and products, and sorting."""

from __future__ import annotations

from contextlib import nullcontext

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, i64

from relex.dialects.relex import ArgsortOp, CumsumOp, Scan, SortOp
from relex.lowering import te
from relex.lowering.legalizations.legalization_table import legalizes


@legalizes(Scan)
def scan(op: Scan, x: te.Tensor) -> te.Tensor:
    """Legalize to a loop along the axis, with a variable for the elements so far."""
    axis, name = op.normal_axis, op.name.rpartition(".")[2]
    combiner = "add" if isinstance(op, CumsumOp) else "multiply"
    size = x.shape[axis]
    # 0 + -0 is 0: the sum of -0 alone would lose its sign.
    start = -0.0 if op.START == 0 and op.exclusive is None and isinstance(x.type, AnyFloat) else op.START

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block(name, *x.shape[:axis], *x.shape[axis + 1 :]) as others:
            total = code.variable(x.type, start, "total")
            with code.loop(size) as k:
                place = k if op.reverse is None else -k + (size - 1)
                at = (*others[:axis], place, *others[axis:])
                before = code.let(total[()])
                after = code.let(te.call(combiner, before, x[at]))
                code.store(out, at, after if op.exclusive is None else before)
                code.store(total, (), after)

    return te.procedure(x.shape, x.type, [x], emit, name)


@legalizes(ArgsortOp)
def argsort(op: ArgsortOp, x: te.Tensor) -> te.Tensor:
    """Legalize to a merge sort of the elements and their positions."""
    return in_order(x, op.normal_axis, "argsort", descends=op.descends)


@legalizes(SortOp)
def sort(op: SortOp, x: te.Tensor) -> te.Tensor:
    """Legalize to a merge sort of the elements."""
    return _merge_sort(x, op.normal_axis, "sort", descends=op.descends, gives_positions=False)


def in_order(x: te.Tensor, axis: int, name: str, *, descends: bool) -> te.Tensor:
    """Return the positions along a dimension in the order of their elements."""
    return _merge_sort(x, axis, name, descends=descends, gives_positions=True)


_MOST_DOUBLINGS = 62
"""As often can a width of 1 be doubled before it exceeds any size."""


def sort_key(x: te.PrimExpr) -> te.PrimExpr:
    """Return what the order of an element is decided by: for a float an integer, whose comparison takes less time. NaN
    is the largest, and zeros are equal."""
    if not isinstance(x.type, AnyFloat):
        return x
    bits = te.bitcast(x, IntegerType(x.type.bitwidth))
    largest = (1 << (x.type.bitwidth - 1)) - 1
    ordered = te.select(bits < 0, te.call("bitwise_xor", bits, largest), bits)
    return te.select(te.is_nan(x), largest, te.select(te.equal(x, 0), 0, ordered))


def _merge_sort(x: te.Tensor, axis: int, name: str, *, descends: bool, gives_positions: bool) -> te.Tensor:
    """Sort elements along a dimension, or their positions, by merging runs of 1, 2, 4, ... of them."""
    size, result_type = x.shape[axis], i64 if gives_positions else x.type
    if size == 0:
        return te.compute(x.shape, lambda *i: te.cast(i[axis], i64) if gives_positions else x[i], name=name)
    passes = (size - 1).bit_length() if isinstance(size, int) else _MOST_DOUBLINGS

    def position(number: te.PrimExpr) -> te.PrimExpr:
        """Return a number as an index. It is one already, which no analysis can know of a number in a buffer."""
        return te.cast(te.minimum(te.maximum(number, 0), size - 1), IndexType())

    def emit(code: te.Code, out: te.Tensor) -> None:
        with code.block(name, *x.shape[:axis], *x.shape[axis + 1 :]) as others:

            def at(k: te.PrimExpr) -> tuple[te.PrimExpr, ...]:
                return (*others[:axis], k, *others[axis:])

            key_type = IntegerType(x.type.bitwidth) if isinstance(x.type, AnyFloat) else x.type
            # What is sorted moves with its key: looking keys up by position would take most of the time.
            moved = [(key_type, "keys"), (result_type, name)][: 1 if x.type == key_type and not gives_positions else 2]
            runs = [code.buffer((size,), kind, what) for kind, what in moved]
            merged = [code.buffer((size,), kind, f"merged_{what}") for kind, what in moved]
            width = code.variable(i64, 1, "width")
            left, right = code.variable(i64, 0, "left"), code.variable(i64, 0, "right")
            with code.loop(size) as k:
                first = sort_key(x[at(k)]), te.cast(k, i64) if gives_positions else x[at(k)]
                for buffer, value in zip(runs, first, strict=False):
                    code.store(buffer, (k,), value)
            with code.loop(passes, "pass"), nullcontext() if isinstance(size, int) else code.when(width[()] < size):
                run = code.let(width[()])
                with code.loop(size, "place") as k:
                    place = te.cast(k, i64)
                    # The width is a power of two: without its lower bits, a place is where its pair of runs starts.
                    start = code.let(te.call("bitwise_and", place, -(run * 2)))
                    middle, end = (code.let(te.minimum(start + run * n, size)) for n in (1, 2))
                    with code.when(te.equal(start, place)):
                        code.store(left, (), start)
                        code.store(right, (), middle)
                    i, j = code.let(left[()]), code.let(right[()])
                    one, other = runs[0][position(i)], runs[0][position(j)]
                    takes_right = code.let((i >= middle) | ((j < end) & (other > one if descends else other < one)))
                    code.store(merged[0], (k,), te.select(takes_right, other, one))
                    for old, new in zip(runs[1:], merged[1:], strict=True):
                        code.store(new, (k,), old[position(te.select(takes_right, j, i))])
                    code.store(left, (), te.select(takes_right, i, i + 1))
                    code.store(right, (), te.select(takes_right, j + 1, j))
                for old, new in zip(runs, merged, strict=True):
                    with code.loop(size) as k:
                        code.store(old, (k,), new[k])
                code.store(width, (), run * 2)
            with code.loop(size) as k:
                code.store(out, at(k), runs[-1][k])

    return te.procedure(x.shape, result_type, [x], emit, name)
