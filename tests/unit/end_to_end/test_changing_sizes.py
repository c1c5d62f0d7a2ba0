"""Branches that give tensors of different sizes, and loops that change the sizes of what they carry: interpreted and
compiled, at every level."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_regions import region_program

from relex.dialects import parse_module
from relex.dialects.errors import CompileError, ShapeError
from relex.passes import InferSizesPass
from relex.reference import interpret
from relex.reference.interpreter.budget import OutOfSteps, at_most
from relex.runtime import build, load

LEVELS = ("loops", "core")


def all_of(results: Any) -> list[Any]:
    """Return one result or several as a list."""
    return [*results] if isinstance(results, tuple) else [results]


def expect_same(program: str, *calls: tuple[Any, ...]) -> list[list[np.ndarray[Any, Any]]]:
    """Compare what the interpreter computes with what lower levels and compiled code do, and return it."""
    exact, fast = build(program, strict=True), build(program)
    functions = [interpret(exact.ir(level))["main"] for level in LEVELS]
    found: list[list[np.ndarray[Any, Any]]] = []
    for arguments in calls:
        expected = interpret(program)["main"](*arguments)
        wanted = all_of(expected)
        for main in (*functions, exact["main"], fast["main"]):
            results: Any = main(*arguments)
            for result, right in zip(all_of(results), wanted, strict=True):
                np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5, strict=True)
        found.append(wanted)
    return found


@pytest.mark.parametrize("seed", range(24))
def test_random_regions(seed: int) -> None:
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    program = region_program(seed, changing=True, depth=2 + seed % 2)
    expect_same(program, *((x, np.cos(x), n, flag) for n in (0, 1, 3) for flag in (False, True)))


BRANCHES = """
func.func @main(%p: i1, %x: tensor<?x2xf32> {relex.dims = ["n", ""]}, %y: tensor<?x2xf32> {relex.dims = ["m", ""]})
    -> (tensor<?x2xf32>, tensor<?x2xf32>, i64) {
  %three = arith.constant 3 : i64
  %four = arith.constant 4 : i64
  %r:3 = scf.if %p -> (tensor<?x2xf32>, tensor<?x2xf32>, i64) {
    %a = relex.exp %x : (tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.yield %a, %a, %three : tensor<?x2xf32>, tensor<?x2xf32>, i64
  } else {
    %b = relex.concat %x, %y axis = 0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %c = relex.negative %x : (tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.yield %b, %c, %four : tensor<?x2xf32>, tensor<?x2xf32>, i64
  }
  %s = relex.tanh %r#0 : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %s, %r#1, %r#2 : tensor<?x2xf32>, tensor<?x2xf32>, i64
}
"""


@pytest.mark.parametrize(("n", "m"), [(2, 3), (0, 4), (17, 0), (0, 0)])
def test_branches_give_different_sizes(n: int, m: int) -> None:
    """What all branches give is known, beside what only one of them says."""
    x, y = np.ones((n, 2), np.float32), np.full((m, 2), -2, np.float32)
    first, second = expect_same(BRANCHES, (True, x, y), (False, x, y))
    assert [result.shape for result in (first[0], second[0], second[1])] == [(n, 2), (n + m, 2), (n, 2)]
    text = str(InferSizesPass()(parse_module(BRANCHES)))
    assert '(tensor<?x2xf32> {relex.dims = ["r_d0", ""]}, tensor<?x2xf32> {relex.dims = ["n", ""]}, i64)' in text


SWITCH = """
func.func @main(%k: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = relex.constant dense<0.0> : tensor<f32>
  %0 = scf.index_switch %k -> tensor<?xf32>
  case 0 {
    %c = relex.greater %x, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
    %a = relex.compress %x, %c : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  }
  case 1 {
    scf.yield %x : tensor<?xf32>
  }
  default {
    %b = relex.concat %x, %x, %x : (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  %1 = relex.add %0, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
"""


def test_a_branch_finds_a_size_out() -> None:
    x = np.array([1, -1, 2, 0, 3], np.float32)
    results = expect_same(SWITCH, *((k, x) for k in range(3)))
    assert [result.size for (result,) in results] == [3, 5, 15]


RETURNED = SWITCH.replace("  %1 = relex.add %0, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n", "")
INNER = """{
    %p = arith.cmpi eq, %k, %k : index
    %d = scf.if %p -> (tensor<?xf32>) {
      %e = relex.tanh %x : (tensor<?xf32>) -> tensor<?xf32>
      scf.yield %e : tensor<?xf32>
    } else {
      scf.yield %x : tensor<?xf32>
    }
    scf.yield %d"""


@pytest.mark.parametrize("case", ["", INNER])
def test_what_a_branch_gives_is_computed_in_the_result(case: str) -> None:
    """Only a tensor that is returned as it is needs a copy, and what is returned twice."""
    program = RETURNED.replace("return %1", "return %0")
    program = program.replace("case 1 {\n    scf.yield %x", f"case 1 {case}") if case else program
    x = np.array([1, -1, 2, 0, 3], np.float32)
    expect_same(program, *((k, x) for k in range(3)))
    assert str(build(program).ir("core")).count("memref.copy") == 1
    twice = program.replace("-> tensor<?xf32> {\n  %zero", "-> (tensor<?xf32>, tensor<?xf32>) {\n  %zero")
    twice = twice.replace("return %0 : tensor<?xf32>", "return %0, %0 : tensor<?xf32>, tensor<?xf32>")
    expect_same(twice, *((k, x) for k in range(3)))


GROWING = """
func.func @main(%k: index, %x: tensor<1x?xf32> {relex.dims = ["", "n"]})
    -> (tensor<?x?xf32>, tensor<?xf32>, tensor<1x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = relex.constant dense<> : tensor<0xf32>
  %z = tensor.cast %e : tensor<0xf32> to tensor<?xf32>
  %first = tensor.cast %x : tensor<1x?xf32> to tensor<?x?xf32>
  %r:3 = scf.for %i = %c0 to %k step %c1 iter_args(%rows = %first, %sums = %z, %row = %x)
      -> (tensor<?x?xf32>, tensor<?xf32>, tensor<1x?xf32>) {
    %next = relex.exp %row : (tensor<1x?xf32>) -> tensor<1x?xf32>
    %less = relex.negative %next : (tensor<1x?xf32>) -> tensor<1x?xf32>
    %more = relex.concat %rows, %less axis = 0 : (tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
    %of = relex.sum %more axis = [1] : (tensor<?x?xf32>) -> tensor<?xf32>
    %all = relex.concat %sums, %of axis = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %more, %all, %less : tensor<?x?xf32>, tensor<?xf32>, tensor<1x?xf32>
  }
  func.return %r#0, %r#1, %r#2 : tensor<?x?xf32>, tensor<?xf32>, tensor<1x?xf32>
}
"""


def test_loops_grow_tensors() -> None:
    x = np.linspace(-1, 1, 17, dtype=np.float32)[None]
    results = expect_same(GROWING, *((k, x) for k in (0, 1, 5)), (2, x[:, :0]))
    assert [rows.shape for rows, _, _ in results] == [(1, 17), (2, 17), (6, 17), (3, 0)]
    assert [sums.shape for _, sums, _ in results] == [(0,), (2,), (20,), (5,)]


HALVING = """
func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, i64) {
  %n0 = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:3 = scf.while (%a = %x, %b = %x, %i = %n0) : (tensor<?xf32>, tensor<?xf32>, i64)
      -> (tensor<?xf32>, tensor<?xf32>, i64) {
    %s = relex.sum %a : (tensor<?xf32>) -> tensor<f32>
    %limit = relex.constant dense<1.5> : tensor<f32>
    %more = relex.greater %s, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %goes = tensor.extract %more[] : tensor<i1>
    %seen = relex.concat %b, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.condition(%goes) %a, %seen, %i : tensor<?xf32>, tensor<?xf32>, i64
  } do {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>, %i: i64):
    %half = relex.strided_slice %a axes = [0] begin = [0] end = [1000] strides = [2] : (tensor<?xf32>) -> tensor<?xf32>
    %j = arith.addi %i, %one : i64
    scf.yield %half, %b, %j : tensor<?xf32>, tensor<?xf32>, i64
  }
  func.return %r#0, %r#1, %r#2 : tensor<?xf32>, tensor<?xf32>, i64
}
"""


@pytest.mark.parametrize("size", [0, 1, 3, 17, 1000])
def test_loops_shrink_tensors(size: int) -> None:
    ((last, seen, trips),) = expect_same(HALVING, (np.ones(size, np.float32),))
    assert trips == max(size - 1, 0).bit_length()
    assert last.size == min(size, 1)
    assert seen.size == size + sum(-(-size // 2**i) for i in range(int(trips) + 1))


REQUIRING = """
func.func @main(%k: index, %x: tensor<?xf32> {relex.dims = ["n"]}, %y: tensor<?xf32> {relex.dims = ["m"]})
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %b = relex.concat %a, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  %s = relex.add %r, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %s : tensor<?xf32>
}
"""
FAILING = REQUIRING.replace(
    "    scf.yield", '    %c = relex.match_sizes %y sizes = ["2 * n"] : (tensor<?xf32>) -> tensor<?xf32>\n    scf.yield'
).replace(
    "%b = relex.concat %a",
    "%d = relex.add %a, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n    %b = relex.concat %d",
)


def test_what_follows_is_checked() -> None:
    x = np.ones(3, np.float32)
    expect_same(REQUIRING, (1, x, np.ones(6, np.float32)), (0, x, x))
    for main in (interpret(REQUIRING)["main"], build(REQUIRING)["main"]):
        with pytest.raises(ShapeError, match=r"'relex.add' expected r_d0 == m, found 9"):
            main(2, x, np.ones(6, np.float32))


def test_what_a_trip_requires_is_checked_in_each() -> None:
    x, y = np.ones(3, np.float32), np.ones(6, np.float32)
    expect_same(FAILING, (1, x, y))
    for main in (interpret(FAILING)["main"], build(FAILING)["main"]):
        with pytest.raises(ShapeError, match=r"'relex.add' expected a_d0 == n, found 6"):
            main(2, x, y)


TAKING = """
func.func @main(%k: index, %x: tensor<?x2xf32>, %y: tensor<?xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = relex.constant dense<0.0> : tensor<2xf32>
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %z) -> (tensor<2xf32>) {
    %j = arith.index_cast %i : index to i64
    %at = tensor.from_elements %j : tensor<i64>
    %row = relex.take %x, %at axis = 0 : (tensor<?x2xf32>, tensor<i64>) -> tensor<2xf32>
    %m = relex.max %y : (tensor<?xf32>) -> tensor<f32>
    %b = relex.add %a, %row : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %c = relex.add %b, %m : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    scf.yield %c : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}
"""


def test_what_no_trip_reads_may_be_empty() -> None:
    """Nor is what does not depend on the trip computed before a loop that may have none."""
    x, y = np.ones((3, 2), np.float32), np.ones(2, np.float32)
    expect_same(TAKING, (0, x[:0], y[:0]), (0, x, y), (2, x, y))
    for main in (interpret(TAKING)["main"], build(TAKING)["main"]):
        with pytest.raises(ShapeError, match=r"'relex.take' expected 1 <= x_d0, found 0"):
            main(1, x[:0], y)
        with pytest.raises(ShapeError, match=r"'relex.max' expected 1 <= y_d0, found 0"):
            main(1, x, y[:0])


def test_loops_with_trips_require_in_every_run() -> None:
    program = TAKING.replace("%c0 to %k", "%c0 to %c1")
    with pytest.raises(ShapeError, match="expected 1 <= x_d0, found x_d0 = 0"):
        build(program)["main"](0, np.ones((0, 2), np.float32), np.ones(2, np.float32))


def test_sizes_before_a_loop_that_do_not_fit_its_trips() -> None:
    """Rows are added to a tensor that has no columns before the first one."""
    program = """
    func.func @main(%k: index, %x: tensor<1x3xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %e = relex.constant dense<> : tensor<0x0xf32>
      %z = tensor.cast %e : tensor<0x0xf32> to tensor<?x?xf32>
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %z) -> (tensor<?x?xf32>) {
        %first = arith.cmpi eq, %i, %c0 : index
        %more = scf.if %first -> (tensor<?x?xf32>) {
          %row = tensor.cast %x : tensor<1x3xf32> to tensor<?x?xf32>
          scf.yield %row : tensor<?x?xf32>
        } else {
          %both = relex.concat %a, %x axis = 0 : (tensor<?x?xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
          %rows = tensor.cast %both : tensor<?x3xf32> to tensor<?x?xf32>
          scf.yield %rows : tensor<?x?xf32>
        }
        scf.yield %more : tensor<?x?xf32>
      }
      func.return %r : tensor<?x?xf32>
    }
    """
    results = expect_same(program, *((k, np.ones((1, 3), np.float32)) for k in (0, 1, 4)))
    assert [rows.shape for (rows,) in results] == [(0, 0), (1, 3), (4, 3)]


def test_what_loops_in_loops_require() -> None:
    """An inner loop without trips requires nothing; equal sizes are equal in every run."""
    program = """
    func.func @main(%k: index, %m: index, %x: tensor<?xf32>, %y: tensor<?xf32>, %w: tensor<?xf32>) -> tensor<f32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = relex.constant dense<0.0> : tensor<f32>
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %z) -> (tensor<f32>) {
        %s = scf.for %j = %c0 to %m step %c1 iter_args(%b = %a) -> (tensor<f32>) {
          %t = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          %u = relex.max %t : (tensor<?xf32>) -> tensor<f32>
          %v = relex.add %b, %u : (tensor<f32>, tensor<f32>) -> tensor<f32>
          scf.yield %v : tensor<f32>
        }
        %n = relex.max %w : (tensor<?xf32>) -> tensor<f32>
        %o = relex.add %s, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
        scf.yield %o : tensor<f32>
      }
      func.return %r : tensor<f32>
    }
    """
    x = np.ones(3, np.float32)
    expect_same(program, (0, 5, x[:0], x[:0], x[:0]), (2, 0, x[:0], x[:0], x), (2, 2, x, x, x[:1]))
    for main in (interpret(program)["main"], build(program)["main"]):
        with pytest.raises(ShapeError, match=r"'relex.max' expected 1 <= .*, found 0"):
            main(1, 1, x[:0], x[:0], x)
        with pytest.raises(ShapeError, match="expected shape"):
            main(0, 0, x, x[:2], x)


DOUBLING = """
func.func @main(%k: index, %x: tensor<?x0xf32>) -> tensor<?x0xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %x) -> (tensor<?x0xf32>) {
    %b = relex.concat %a, %a axis = 0 : (tensor<?x0xf32>, tensor<?x0xf32>) -> tensor<?x0xf32>
    scf.yield %b : tensor<?x0xf32>
  }
  func.return %r : tensor<?x0xf32>
}
"""


@pytest.mark.parametrize(("trips", "is_right"), [(57, True), (58, False), (70, False)])
def test_sizes_never_wrap_around(trips: int, is_right: bool) -> None:
    """Rows without elements need no memory: nothing else ends the loop."""
    x = np.ones((1, 0), np.float32)
    for main in (interpret(DOUBLING)["main"], build(DOUBLING)["main"]):
        if is_right:
            assert main(trips, x).shape == (2**trips, 0)
            continue
        with pytest.raises(ShapeError, match=f"d0 <= {2**57}, found {2**58}"):
            main(trips, x)


LONGER = """
func.func @main(%k: index, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%rows = %x) -> (tensor<?xf32>) {
    %more = relex.concat %rows, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %more : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
"""


def test_a_limit_is_checked_once_a_trip() -> None:
    text = str(build(LONGER).ir("core"))
    trip = text[text.index("scf.for") : text.index("scf.yield %more")]
    limits = re.findall(r'"(\S+ expected rows_d0 .*?<= \d+)"', trip)
    assert len(limits) == len(set(limits)) > 0
    again = InferSizesPass()(InferSizesPass()(parse_module(LONGER)))
    assert str(again).count("'scf.for' expected rows_d0 <=") == 1


def test_a_limit_that_is_asserted_too_late_is_checked_before() -> None:
    """An assertion after the first use of a size is none of what the use requires."""
    after = LONGER.replace(
        "    scf.yield",
        """    %n = tensor.dim %rows, %c0 : tensor<?xf32>
    %limit = arith.constant 144115188075855872 : index
    %holds = arith.cmpi sle, %n, %limit : index
    cf.assert %holds, "late"
    scf.yield""",
    )
    text = str(InferSizesPass()(parse_module(after)))
    assert text.index("'scf.for' expected rows_d0 <=") < text.index("relex.concat %rows")


USED_BEFORE = """
func.func private @callee(%k: index) -> f32 {
  %t = relex.alloc_tensor sizes(%k) : tensor<?xf32>
  %e = relex.exp %t : (tensor<?xf32>) -> tensor<?xf32>
  %u = relex.cumsum %e axis = 0 : (tensor<?xf32>) -> tensor<?xf32>
  %m = relex.max %u axis = [0] : (tensor<?xf32>) -> tensor<f32>
  %z = tensor.extract %m[] : tensor<f32>
  func.return %z : f32
}
func.func @main(%n: tensor<1xi64>) -> (f32, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %n[%c0] : tensor<1xi64>
  %k = arith.index_cast %v : i64 to index
  USE
  %limit = arith.constant 144115188075855872 : index
  %holds = arith.cmpi sle, %k, %limit : index
  cf.assert %holds, "late"
  %b = relex.alloc_tensor sizes(%k) : tensor<?xf32>
  %e = relex.exp %b : (tensor<?xf32>) -> tensor<?xf32>
  func.return %w, %e : f32, tensor<?xf32>
}
"""
CALL = "%w = func.call @callee(%k) : (index) -> f32"
BRANCH = f"""
  %is = arith.cmpi sgt, %k, %c0 : index
  %w = scf.if %is -> (f32) {{
    {CALL.replace("%w", "%i")}
    scf.yield %i : f32
  }} else {{
    %0 = arith.constant 0.0 : f32
    scf.yield %0 : f32
  }}"""


@pytest.mark.parametrize("use", [CALL, BRANCH], ids=["call", "branch"])
def test_a_limit_that_is_asserted_after_other_uses_is_checked_before(use: str) -> None:
    """2**62 + 1 floats have four bytes in arithmetic that wraps around."""
    main = build(USED_BEFORE.replace("USE", use))["main"]
    assert main(np.array([3]))[1].shape == (3,)
    with pytest.raises(ShapeError, match="k <= "):
        main(np.array([2**62 + 1]))


def test_a_limited_run_ends_before_its_memory() -> None:
    x = np.ones((1, 3), np.float32)
    with pytest.raises(OutOfSteps), at_most(1_000_000):
        interpret(DOUBLING.replace("x0xf32", "x3xf32"))["main"](60, x)


def test_what_a_trip_reads_and_passes_on_is_not_copied() -> None:
    """What a trip passes on is computed where the next one reads it."""
    program = """
    func.func @main(%k: index, %x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x?xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %g = relex.dense %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
      %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%a = %x, %b = %g) -> (tensor<?x4xf32>, tensor<?x?xf32>) {
        %more = relex.concat %a, %x axis = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
        %products = relex.dense %more, %more : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
        scf.yield %more, %products : tensor<?x4xf32>, tensor<?x?xf32>
      }
      func.return %r#0, %r#1 : tensor<?x4xf32>, tensor<?x?xf32>
    }
    """
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    expect_same(program, (0, x), (2, x))
    text = str(build(program).ir("core"))
    loop = text[text.index("scf.for %i") :]
    copies = loop[: loop.index("scf.yield %more, ")].count("memref.copy")
    assert copies == 2  # Of the rows so far, where their memory is full, and of the rows behind them.


def test_failures_keep_no_memory() -> None:
    """A trip that fails frees what the trips before have passed on."""
    main, x = build(FAILING)["main"], np.ones(1_000_000, np.float32)
    y = np.ones(2_000_000, np.float32)

    def fail(count: int) -> int:
        for _ in range(count):
            with pytest.raises(ShapeError):
                main(2, x, y)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = fail(3)
    assert fail(30) - before < 30_000  # Kilobytes; each call allocates 12,000 and more.


def test_calls_keep_no_memory() -> None:
    main, x = build(GROWING)["main"], np.ones((1, 1_000_000), np.float32)
    main(3, x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        main(3, x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


CALLED = """
func.func @main(%p: i1, %x: tensor<?xf32>, %k: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %b = func.call @longer(%p, %a) : (i1, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
func.func private @longer(%p: i1, %x: tensor<?xf32>) -> tensor<?xf32> {
  %r = scf.if %p -> (tensor<?xf32>) {
    %b = relex.concat %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  } else {
    %b = relex.tanh %x : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  func.return %r : tensor<?xf32>
}
"""


def test_functions_are_called() -> None:
    x = np.arange(3, dtype=np.float32)
    results = expect_same(CALLED, *((p, x, k) for p in (False, True) for k in (0, 3)))
    assert [result.size for (result,) in results] == [3, 3, 3, 24]


def test_saved_programs(tmp_path: Path) -> None:
    executable, x = build(GROWING), np.ones((1, 3), np.float32)
    executable.save(tmp_path / "growing")
    for result, wanted in zip(load(tmp_path / "growing")["main"](2, x), executable["main"](2, x), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_sizes_that_a_type_states() -> None:
    """A type that says a size cannot have another one."""
    stated = """
    func.func @main(%p: i1, %x: tensor<?xf32>, %k: index) -> tensor<3xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y = relex.match_sizes %x sizes = ["3"] : (tensor<?xf32>) -> tensor<3xf32>
      %r = scf.for %i = %c0 to %k step %c1 iter_args(%a = %y) -> (tensor<3xf32>) {
        %b = relex.concat %a, %x : (tensor<3xf32>, tensor<?xf32>) -> tensor<?xf32>
        %c = relex.match_sizes %b sizes = ["3"] : (tensor<?xf32>) -> tensor<3xf32>
        scf.yield %c : tensor<3xf32>
      }
      func.return %r : tensor<3xf32>
    }
    """
    with pytest.raises(CompileError, match="expected sizes with"):
        build(stated)
