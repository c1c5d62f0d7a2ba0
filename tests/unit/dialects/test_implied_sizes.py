"""Requirements on sizes that hold in every run are not stated."""

from __future__ import annotations

import re
from itertools import product
from typing import Literal

import numpy as np
import pytest
from effort import count_calls
from hypothesis import given
from hypothesis import strategies as st
from test_sizes import SIZES
from xdsl.dialects.func import FuncOp

from relex.dialects import parse_module
from relex.dialects.sizes import Requirement, Size, evaluate, parse_index, parse_requirement
from relex.dialects.sizes.attributes import stated_requirements
from relex.dialects.sizes.implied import always_holds, needed
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import PrimFuncOp
from relex.lowering import RelexPipelinePass
from relex.passes.driver.base import Level
from relex.runtime import build

MLP = """
func.func @main(%x: tensor<?x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>, %w1: tensor<10x128xf32>)
    -> tensor<?x10xf32> {
  %0 = relex.dense %x, %w0 : (tensor<?x784xf32>, tensor<128x784xf32>) -> tensor<?x128xf32>
  %1 = relex.add %0, %b0 : (tensor<?x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  %2 = relex.relu %1 : (tensor<?x128xf32>) -> tensor<?x128xf32>
  %3 = relex.dense %2, %w1 : (tensor<?x128xf32>, tensor<10x128xf32>) -> tensor<?x10xf32>
  func.return %3 : tensor<?x10xf32>
}
"""


def stated(program: str, level: Level, target: Target | None = None) -> list[str]:
    """The requirements of all functions at a level."""
    module = parse_module(program)
    if target is not None:
        set_target(module, target)
    functions = [op for op in RelexPipelinePass(level)(module).ops if isinstance(op, FuncOp | PrimFuncOp)]
    return [str(requirement) for function in functions for requirement in stated_requirements(function)]


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "x86-64"])
@pytest.mark.parametrize("level", ["graph", "loops", "core"])
def test_a_dynamic_batch_requires_nothing(level: Level, cpu: str) -> None:
    """Tiles of rows cover what there is, whatever the number of rows."""
    assert stated(MLP, level, Target("x86_64-unknown-linux-gnu", cpu)) == []


def test_what_can_fail_is_stated() -> None:
    maximum = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %0 = relex.max %x axis = [1] : (tensor<?x?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}"""
    assert {*stated(maximum, "loops")} == {"x_d0 <= x_d0 * x_d1"}
    main = build(maximum)["main"]
    assert main(np.ones((2, 3), np.float32)).tolist() == [1, 1]
    with pytest.raises(ValueError, match=re.escape("x_d0 <= x_d0 * x_d1")):
        main(np.ones((2, 0), np.float32))
    outer = """
func.func @main(%x: tensor<?x1xf32>, %y: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = relex.add %x, %y : (tensor<?x1xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}"""
    assert {*stated(outer, "loops")} == {"x_d0 * y_d0 <= 2305843009213693951"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 <= n", False),
        ("0 <= n", True),
        ("n <= 144115188075855872", True),
        ("n <= 144115188075855871", False),
        ("n // 14 <= 2 * ((n + 2 * (n // 14)) // 4)", True),
        ("2 * ((n + 2 * (n // 14)) // 4) <= n // 14 + n // 2", True),
        ("2 * ((n + 2 * (n // 14)) // 4) + 1 <= n // 14 + n // 2", False),
        ("n % 7 <= 6", True),
        ("n % 7 <= 5", False),
        ("n == 2 * (n // 2) + n % 2", True),
        ("n == 2 * (n // 2)", False),
        ("min(n, m) <= m", True),
        ("max(n, m) <= n + m", True),
        ("n + m <= max(n, m)", False),
        # Products are unknown numbers, which are not negative.
        ("n <= n + n * m", True),
        ("n * m <= 4 * n * m", True),
        ("n * m <= 9223372036854775807", False),
        ("n <= n * n", False),
    ],
)
def test_for_all_sizes_of_arguments(text: str, expected: bool) -> None:
    assert always_holds(parse_requirement(text)) is expected


def test_given_others_and_positive_sizes() -> None:
    n, m = parse_index("n"), parse_index("m")
    assert always_holds(parse_requirement("1 <= n"), (parse_requirement("3 <= m"), parse_requirement("m <= n")))
    assert not always_holds(parse_requirement("4 <= n"), (parse_requirement("3 <= m"), parse_requirement("m <= n")))
    assert always_holds(parse_requirement("2 <= n + m"), positive=(n, m))
    assert always_holds(parse_requirement("4 <= n"), positive=(n // 4,))
    assert not always_holds(parse_requirement("5 <= n"), positive=(n // 4,))


def test_of_two_that_imply_each_other_one_stays() -> None:
    texts = ["1 <= n", "n <= 4 * m", "1 <= n + m", "n <= m", "2 <= m", "n * m <= 100", "n * m <= 200"]
    assert [str(r) for r in needed([*map(parse_requirement, texts)])] == ["1 <= n", "n <= m", "2 <= m", "m * n <= 100"]


def test_requirements_about_other_sizes_cost_little() -> None:
    """The search for sizes that break a requirement takes the longer the more others there are."""
    pairs = [(f"(n{i} + 7) // 8 == 2 * ((n{i} + 15) // 16)", f"1 <= (n{i} + 15) // 16") for i in range(24)]
    few, many = ([parse_requirement(text) for pair in some for text in pair] for some in (pairs[:2], pairs))
    always_holds(parse_requirement("5 <= n1"), tuple(few))  # what is imported, and found once
    alone = count_calls(lambda: always_holds(parse_requirement("2 <= n1"), tuple(few)))
    assert count_calls(lambda: always_holds(parse_requirement("3 <= n1"), tuple(many))) < 3 * alone
    # The same of a larger number is not looked for at all.
    larger, smaller = parse_requirement("n <= 300"), parse_requirement("n <= 200")
    assert count_calls(lambda: always_holds(larger, (smaller,))) < 200


@given(SIZES, SIZES, st.sampled_from(["==", "<="]), SIZES)
def test_what_always_holds_holds_for_small_sizes(
    lhs: Size, rhs: Size, relation: Literal["==", "<="], at_least_one: Size
) -> None:
    requirement = Requirement(lhs, relation, rhs)
    for positive in ((), (at_least_one,)):
        if not always_holds(requirement, positive=positive):
            continue
        for n, m in product(range(7), repeat=2):
            values = {"n": n, "m": m}
            x, y = evaluate(lhs, values), evaluate(rhs, values)
            if all(evaluate(size, values) >= 1 for size in positive):
                assert x == y if relation == "==" else x <= y
