"""Branches and loops by the `BlockBuilder`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relex.dialects import CompileError
from relex.frontend import BlockBuilder, Var, const, op
from relex.reference import interpret
from relex.runtime import build

x = Var("x", ("n",))


def compiled(emit: Callable[[BlockBuilder], Any], *params: Var) -> list[Callable[..., Any]]:
    """The function of what `emit` returns, interpreted and compiled."""
    bb = BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(emit(bb))
    module = bb.get()
    return [interpret(module)["main"], build(module)["main"]]


def doubled(i: Any, s: Any) -> Any:
    return s * 2.0


def test_branch():
    limit = Var("limit", ())

    def emit(bb: BlockBuilder) -> Any:
        total = bb.emit(op.sum(x))
        return bb.if_(op.less(total, limit), lambda: [op.exp(x), x * 2.0], lambda: [x, bb.emit(x + total)])

    for main in compiled(emit, x, limit):
        given = np.array([1, 2], np.float32)
        for most, expected in ((4, [np.exp(given), given * 2]), (3, [given, given + 3])):
            np.testing.assert_allclose(main(given, np.float32(most).reshape(())), expected, rtol=1e-6)


def test_counted_loop():
    count = Var("count", (), "int32")

    def emit(bb: BlockBuilder) -> Any:
        def plus_number(i: Any, s: Any) -> Any:
            return s + op.astype(i, dtype="float32")

        def following(i: Any, s: Any, t: Any) -> Any:
            return [t, s + t]

        return [bb.for_(2, plus_number, x), bb.for_(count, following, x, x)[0]]

    for main in compiled(emit, x, count):
        given = np.array([1, 2], np.float32)
        for n, factor in ((0, 1), (1, 1), (4, 5)):
            once, fibonacci = main(given, np.int32(n).reshape(()))
            np.testing.assert_array_equal(once, given + 1)
            np.testing.assert_array_equal(fibonacci, given * factor)


def test_loop_while():
    def emit(bb: BlockBuilder) -> Any:
        def is_small(s: Any, n: Any) -> Any:
            return op.less(op.max(s), 100.0)

        def doubled_and_counted(s: Any, n: Any) -> Any:
            return [s + s, n + 1.0]

        return bb.while_(is_small, doubled_and_counted, x, const(np.float32(0)))

    for main in compiled(emit, x):
        powers, trips = main(np.array([1, 3], np.float32))
        np.testing.assert_array_equal(powers, [64, 192])
        assert trips == 6


def test_regions_in_dataflow():
    def emit(bb: BlockBuilder) -> Any:
        with bb.dataflow():
            y = bb.for_(3, doubled, x)
            out = bb.emit_output(y)
        return out

    for main in compiled(emit, x):
        np.testing.assert_array_equal(main(np.ones(3, np.float32)), [8, 8, 8])


def test_values_stay_in_their_region():
    inside: list[Any] = []

    def emit(bb: BlockBuilder) -> Any:
        def remembered(i: Any, s: Any) -> Any:
            inside.append(bb.emit(s + s))
            return inside[0]

        bb.for_(3, remembered, x)
        return bb.emit(op.exp(inside[0]))

    with pytest.raises(CompileError, match="is not known outside of its branch or loop"):
        compiled(emit, x)


def same(*carried: Any) -> Any:
    return x if len(carried) < 2 else carried[1]


def twice(i: Any, s: Any) -> Any:
    return [s, s]


def total(i: Any, s: Any) -> Any:
    return op.sum(s)


def text(i: Any, s: Any) -> Any:
    return "s"


@pytest.mark.parametrize(
    ("trip", "count", "message"),
    [
        (same, x, "expected a number of trips that is a tensor of integers"),
        (twice, 3, r"expected the regions to give \(tensor<\?xf32>\), found"),
        (total, 3, "expected the regions to give"),
        (text, 3, "expected a tensor of the program"),
    ],
)
def test_refused_loops(trip: Callable[..., Any], count: Any, message: str):
    with pytest.raises(CompileError, match=message):
        compiled(lambda bb: bb.for_(count, trip, x), x)


def test_refused_condition():
    with pytest.raises(CompileError, match="expected a condition that is a tensor of i1 without dimensions"):
        compiled(lambda bb: bb.if_(x, same, same), x)
