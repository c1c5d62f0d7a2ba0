"""Ranges of index expressions hold for every value that is really taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from relex.dialects.index.bounds import range_of
from relex.dialects.index.ranges import Range, exactly
from relex.dialects.tir import BlockOp, IterKind


@dataclass(frozen=True)
class Op:
    """An operation of `arith` and what it does to Python numbers."""

    build: Callable[[SSAValue, SSAValue], Operation]
    apply: Callable[[int, int], int]


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def unsigned(x: int) -> int:
    return x % 2**64


OPS = {
    "+": Op(arith.AddiOp, lambda x, y: x + y),
    "-": Op(arith.SubiOp, lambda x, y: x - y),
    "*": Op(arith.MuliOp, lambda x, y: x * y),
    "floordiv": Op(arith.FloorDivSIOp, lambda x, y: x // y),
    "ceildiv": Op(arith.CeilDivSIOp, lambda x, y: -(-x // y)),
    "divsi": Op(arith.DivSIOp, truncated),
    "divui": Op(arith.DivUIOp, lambda x, y: unsigned(x) // unsigned(y)),
    "remsi": Op(arith.RemSIOp, lambda x, y: x - y * truncated(x, y)),
    "remui": Op(arith.RemUIOp, lambda x, y: unsigned(x) % unsigned(y)),
    "min": Op(arith.MinSIOp, min),
    "max": Op(arith.MaxSIOp, max),
}

# A number, the index of a variable, or an operation on two expressions.
Expression = int | str | tuple[str, "Expression", "Expression"]

leaves = st.one_of(st.integers(-5, 9), st.sampled_from(["i", "j"]))
expressions: st.SearchStrategy[Expression] = st.recursive(
    leaves, lambda inner: st.tuples(st.sampled_from([*OPS]), inner, inner), max_leaves=8
)


class Program:
    """An expression as ops, on the two variables of a block."""

    def __init__(self, expression: Expression, extents: tuple[int, int]):
        self._scope = BlockOp("all", [IterKind.SPATIAL] * 2, extents, [])
        self._values: dict[str, SSAValue] = dict(zip("ij", self._scope.body.block.args, strict=True))
        self._expression = expression
        self.value = self._build(expression)

    def _build(self, expression: Expression) -> SSAValue:
        match expression:
            case int():
                return arith.ConstantOp(IntegerAttr(expression, IndexType())).result
            case str():
                return self._values[expression]
            case (op, left, right):
                return OPS[op].build(self._build(left), self._build(right)).results[0]

    def evaluate(self, i: int, j: int) -> int:
        return _evaluate(self._expression, {"i": i, "j": j})

    def range(self) -> Range | None:
        return range_of(self.value)


def _evaluate(expression: Expression, variables: dict[str, int]) -> int:
    match expression:
        case int():
            return expression
        case str():
            return variables[expression]
        case (op, left, right):
            return OPS[op].apply(_evaluate(left, variables), _evaluate(right, variables))


@given(expression=expressions, extents=st.tuples(st.integers(1, 9), st.integers(1, 9)))
@example(expression=("+", ("floordiv", "i", 4), ("remsi", "i", 4)), extents=(9, 1))
@example(expression=("-", ("*", "i", 4), ("*", ("min", "i", 3), 4)), extents=(9, 1))
@example(expression=("min", ("remui", "i", 4), ("floordiv", "i", 4)), extents=(9, 1))
def test_ranges_hold(expression: Expression, extents: tuple[int, int]) -> None:
    program = Program(expression, extents)
    found = program.range()
    if found is None:
        return
    try:
        taken = {program.evaluate(i, j) for i, j in product(*map(range, extents))}
    except ZeroDivisionError:
        return  # Undefined behaviour; `range_of` says nothing about it, or anything.
    assert found.low <= min(taken)
    assert found.high >= max(taken)
    if found.exact:
        assert (found.low, found.high) == (min(taken), max(taken))
    if found.full is not None:
        assert found.full == (taken == set(range(int(found.low), int(found.high) + 1)))


linear = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from("+-"), inner, inner) | st.tuples(st.just("*"), inner, st.integers(-5, 9)),
)


@given(expression=linear, extents=st.tuples(st.integers(1, 9), st.integers(1, 9)))
def test_linear_expressions_are_exact(expression: Expression, extents: tuple[int, int]) -> None:
    found = Program(expression, extents).range()
    assert found is not None
    assert found.exact
    assert found.full is not None


@given(extents=st.tuples(st.integers(1, 9), st.integers(1, 9)), divisor=st.integers(1, 9))
def test_fused_and_split_loops_are_exact(extents: tuple[int, int], divisor: int) -> None:
    fused: Expression = ("+", ("*", "i", extents[1]), "j")
    count = extents[0] * extents[1]
    assert Program(fused, extents).range() == exactly(0, count - 1)
    assert Program(("floordiv", fused, divisor), extents).range() == exactly(0, (count - 1) // divisor)
    assert Program(("remui", fused, divisor), extents).range() == exactly(0, min(count, divisor) - 1)


@pytest.mark.parametrize("expression", ["i", ("+", "i", "j"), ("floordiv", "i", 2), ("min", "i", 3), ("*", "i", -1)])
def test_empty_domains_give_empty_ranges(expression: Expression) -> None:
    found = Program(expression, (0, 4)).range()
    assert found is not None
    assert found.empty
    assert str(found) == "no value"


@pytest.mark.parametrize(
    "expression",
    [("*", "i", "j"), ("floordiv", "i", 0), ("floordiv", "i", -2), ("remsi", ("-", "i", 4), 3), ("remsi", 5, "i")],
)
def test_what_cannot_be_told(expression: Expression) -> None:
    assert Program(expression, (4, 4)).range() is None


def test_unknown_variables_give_no_range() -> None:
    (unknown,) = test.TestOp(result_types=[IndexType()]).results
    (i,) = BlockOp("one", [IterKind.SPATIAL], [4], []).body.block.args
    together = arith.AddiOp(i, unknown)
    assert range_of(together.result) is None
    # A factor of 0 makes them irrelevant.
    assert range_of(arith.SubiOp(together, unknown).result) == exactly(0, 3)
