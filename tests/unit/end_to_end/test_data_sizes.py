"""Sizes that depend on elements: at every level, with errors that name what does not fit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relex
from relex.dialects import CompileError, parse_module
from relex.dialects.errors import ExecutionError
from relex.dialects.exceptions import AssertionFailedError, OutOfMemoryError, RelexError, ShapeError
from relex.frontend import BlockBuilder, Var, op
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.callbacks import LateResults

SIZES = (0, 1, 3, 17, 1000)

PLACES = """
func.func @main(%x: tensor<?x3xf32>) -> (tensor<?x2xi64>, tensor<?x2xi64>) {
  %y = relex.nonzero %x : (tensor<?x3xf32>) -> tensor<?x2xi64>
  %z = relex.add %y, %y : (tensor<?x2xi64>, tensor<?x2xi64>) -> tensor<?x2xi64>
  func.return %y, %z : tensor<?x2xi64>, tensor<?x2xi64>
}
"""

CHOSEN = """
func.func @main(%x: tensor<?x2xf32>, %c: tensor<?xi1>, %y: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %a = relex.compress %x, %c axis = 0 : (tensor<?x2xf32>, tensor<?xi1>) -> tensor<?x2xf32>
  %z = relex.add %a, %y : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %z : tensor<?x2xf32>
}
"""


def at_every_level(program: str) -> list[Callable[..., Any]]:
    compiled = build(program)
    levels = [compiled.ir(level) for level in ("graph", "loops", "core")]
    return [compiled["main"], *(interpret(module)["main"] for module in (program, *levels))]


def test_places_of_odd_sizes() -> None:
    functions = at_every_level(PLACES)
    rng = np.random.default_rng(0)
    for size in SIZES:
        some = rng.integers(0, 2, (size, 3)).astype(np.float32)
        for x in (some, np.zeros_like(some), np.ones_like(some), np.full_like(some, np.nan), -0.0 * some):
            expected = np.stack(np.nonzero(x), -1)
            # Interpreting a thousand rows at the lower levels takes seconds.
            for function in functions[: None if size < 100 else 2]:
                found, twice = function(x)
                assert found.dtype == np.int64
                assert np.array_equal(found, expected)
                assert np.array_equal(twice, 2 * expected)


def test_choices_of_odd_sizes() -> None:
    functions = at_every_level(CHOSEN)
    rng = np.random.default_rng(0)
    for size in SIZES:
        x = rng.standard_normal((size, 2)).astype(np.float32)
        for condition in (rng.integers(0, 2, size) == 1, np.zeros(size, bool), np.ones(size // 2, bool)):
            expected = np.compress(condition, x, 0)
            for function in functions[: None if size < 100 else 2]:
                assert np.array_equal(function(x, condition, np.zeros_like(expected)), expected)


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8", "float16"])
def test_element_types(dtype: str) -> None:
    kind = {"float16": "f16"}.get(dtype, dtype.replace("int", "i"))
    functions = at_every_level(f"""
    func.func @main(%x: tensor<?x{kind}>, %c: tensor<?xi1>) -> tensor<?x{kind}> {{
      %y = relex.compress %x, %c axis = 0 : (tensor<?x{kind}>, tensor<?xi1>) -> tensor<?x{kind}>
      func.return %y : tensor<?x{kind}>
    }}
    """)
    x = np.array([200, 0, 3], np.uint8).astype(dtype)
    for condition in ([True, False, True], [False, False, False], []):
        expected = np.compress(condition, x)
        for function in functions:
            found = function(x, np.array(condition, bool))
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected)


def test_what_meets_a_counted_size_is_checked() -> None:
    x, condition = np.ones((3, 2), np.float32), np.array([True, False, True])
    for function in at_every_level(CHOSEN):
        for wrong in (0, 1, 3):
            with pytest.raises(ShapeError, match=r"'relex\.add' expected a_kept == y_d0, found 2"):
                function(x, condition, np.zeros((wrong, 2), np.float32))
        with pytest.raises(ShapeError, match="c_d0 <= x_d0"):
            function(x, np.ones(4, bool), np.zeros((2, 2), np.float32))
        assert np.array_equal(function(x, condition, np.zeros((2, 2), np.float32)), x[:2])


def test_stated_sizes() -> None:
    functions = at_every_level("""
    func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<2x1xi64>) {
      %a = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %b = relex.match_sizes %a sizes = ["k", ""] : (tensor<?x1xi64>) -> tensor<?x1xi64>
      %c = relex.match_sizes %y sizes = ["k + n"] : (tensor<?xf32>) -> tensor<?xf32>
      %d = relex.match_sizes %b sizes = ["2", "1"] : (tensor<?x1xi64>) -> tensor<2x1xi64>
      func.return %c, %d : tensor<?xf32>, tensor<2x1xi64>
    }
    """)
    x = np.array([1, 0, 2], np.float32)
    for function in functions:
        y, places = function(x, np.ones(5, np.float32))
        assert y.shape == (5,)
        assert np.array_equal(places, [[0], [2]])
        # As k is 2, this can be told before the call.
        with pytest.raises(ShapeError, match=r"argument 'y': expected shape \(n \+ 2,\) with n = 3"):
            function(x, np.ones(4, np.float32))
        with pytest.raises(ShapeError, match=r"'relex\.match_sizes' expected a_rows"):
            function(np.ones(3, np.float32), np.ones(5, np.float32))


REPEATED = """
func.func @main(%x: tensor<?xf32>, %n: tensor<?xi64>) -> tensor<?xf32> {
  %r = relex.repeat %x, %n : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""


def test_counts_whose_sum_is_no_size() -> None:
    """In 64 bits, the first sum is 2, and the second one 0."""
    for function in at_every_level(REPEATED):
        np.testing.assert_array_equal(function(np.arange(3, dtype=np.float32), np.array([2, 0, 1])), [0, 0, 2])
        for counts in ([2**63 - 1, 2**63 - 1, 4], [2**62] * 4, [-1, 3], [2**57, 2**57]):
            with pytest.raises(RelexError, match=r"'relex.repeat'.* expected .*(size|counts)"):
                function(np.ones(len(counts), np.float32), np.array(counts))


FROM_NUMBERS = """
func.func @main(%n: i64) -> (tensor<?xi64>, i64) {
  %zero = relex.constant dense<0> : tensor<i64>
  %one = relex.constant dense<1> : tensor<i64>
  %end = tensor.from_elements %n : tensor<i64>
  %r = relex.arange %zero, %end, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return %r, %n : tensor<?xi64>, i64
}
func.func @places() -> tensor<?x1xi64> {
  %x = relex.constant dense<[1, 0, 2]> : tensor<3xi64>
  %r = relex.nonzero %x : (tensor<3xi64>) -> tensor<?x1xi64>
  func.return %r : tensor<?x1xi64>
}
"""


def test_functions_of_numbers_alone_return_tensors(tmp_path: Path) -> None:
    compiled = build(FROM_NUMBERS)
    compiled.save(tmp_path / "numbers.relex")
    levels = [interpret(compiled.ir(level)) for level in ("graph", "loops", "core")]
    for functions in (compiled, relex.load(tmp_path / "numbers.relex"), interpret(FROM_NUMBERS), *levels):
        for n in (0, 1, 17):
            found, same = functions["main"](n)
            np.testing.assert_array_equal(found, np.arange(n))
            assert same == n
        np.testing.assert_array_equal(functions["places"](), [[0], [2]])


def test_hand_written_fill() -> None:
    functions = at_every_level("""
    func.func @main(%n: tensor<i64>, %x: tensor<f32>) -> tensor<?xf32> {
      %0 = tensor.extract %n[] : tensor<i64>
      %size = arith.index_cast %0 : i64 to index
      %y = relex.call_tir @fill(%x) sizes(%size) : (tensor<f32>) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }
    tir.prim_func private @fill(%x: memref<f32>) outs(%y: memref<?xf32>) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %y, %c0 : memref<?xf32>
      tir.for %i in (%n) {
        tir.block @y (%vi: spatial<%n> = %i) {
          %v = memref.load %x[] : memref<f32>
          memref.store %v, %y[%vi] : memref<?xf32>
        }
      }
    }
    """)
    for function in functions:
        for size in (0, 1, 17):
            assert np.array_equal(function(np.array(size), np.array(2, np.float32)), np.full(size, 2, np.float32))
        for wrong in (-1, -(2**63), 2**63 - 1, 2**60):
            with pytest.raises(ShapeError, match=f"'relex.call_tir' expected .*size.*, found {wrong}"):
                function(np.array(wrong), np.array(2, np.float32))


def expected_length(first: float, end: float, step: float) -> int | None:
    """Return how many numbers a range has; None if that is no size."""
    if not step:
        return None
    if isinstance(first, int):
        length: float = max(ceil((Fraction(end) - first) / Fraction(step)), 0)
    else:
        with np.errstate(all="ignore"):
            length = float(np.ceil((np.float64(end) - first) / step))
    return max(int(length), 0) if -np.inf < length <= 2**57 else None


INTEGERS = [-(2**63), 1 - 2**63, -(2**62), -7, -1, 0, 1, 5, 2**62, 2**62 + 1, 2**63 - 2, 2**63 - 1]
SMALL_INTEGERS = [-(2**31), 1 - 2**31, -(2**30), -1, 0, 1, 5, 2**30 + 1, 2**31 - 1]
FLOATS = [-np.inf, -3e38, -1e30, -1.0, -0.0, 0.0, 1e-45, 0.1, 0.2, 0.6, 1e30, 3e38, np.inf, np.nan]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("i64", INTEGERS), ("i32", SMALL_INTEGERS), ("f32", FLOATS), ("f64", [*FLOATS, -1e308, 1e308])],
)
def test_lengths_of_ranges_between_extremes(kind: str, numbers: list[Any]) -> None:
    program = f"""
    func.func @main(%a: tensor<{kind}>, %b: tensor<{kind}>, %c: tensor<{kind}>) -> tensor<?x{kind}> {{
      %y = relex.arange %a, %b, %c : (tensor<{kind}>, tensor<{kind}>, tensor<{kind}>) -> tensor<?x{kind}>
      func.return %y : tensor<?x{kind}>
    }}
    """
    compiled, interpreted = build(program)["main"], interpret(program)["main"]
    dtype = np.dtype(kind.replace("i", "int").replace("f", "float"))
    for one in product(numbers, repeat=3):
        given = [np.array(n, dtype) for n in one]
        length = expected_length(*(n.item() for n in given))
        if length is None:
            with pytest.raises(AssertionFailedError, match=r"'relex\.arange' expected a size from 0 to .* of length"):
                compiled(*given)
            with pytest.raises(ExecutionError, match="expected a number of elements"):
                interpreted(*given)
        elif length < 100:
            found = compiled(*given)
            assert len(found) == length, one
            with np.errstate(all="ignore"):
                assert np.array_equal(found, interpreted(*given), equal_nan=dtype.kind == "f")


@pytest.mark.parametrize("size", [2**40, 2**56])
def test_more_than_there_is_memory(size: int) -> None:
    main = build("""
    func.func @main(%n: tensor<i64>) -> (tensor<?xi64>, tensor<i64>) {
      %zero = relex.constant dense<0> : tensor<i64>
      %one = relex.constant dense<1> : tensor<i64>
      %y = relex.arange %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
      %z = relex.cumsum %y : (tensor<?xi64>) -> tensor<?xi64>
      %s = relex.sum %z : (tensor<?xi64>) -> tensor<i64>
      func.return %y, %s : tensor<?xi64>, tensor<i64>
    }
    """)["main"]
    assert main(np.array(3))[1] == 0 + 1 + 3
    with pytest.raises(ShapeError, match=f"expected memory for the bytes of a result of @arange, found {8 * size}"):
        main(np.array(size))


SHAPED = """
func.func @main(%x: tensor<?xf32>, %n: tensor<2xi64>, %k: tensor<1xi64>)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>) {
  %s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
  %y = relex.reshape %x like(%s) shape = [-1, -1] sizes = ["like0_d1", "like0_d2"]
      : (tensor<?xf32>, tensor<0x?x?xi1>) -> tensor<?x?xf32>
  %one = relex.constant dense<1.0> : tensor<f32>
  %z = relex.broadcast_to %one like(%s) shape = [-1, -1] sizes = ["like0_d1", "2 * like0_d2"]
      : (tensor<f32>, tensor<0x?x?xi1>) -> tensor<?x?xf32>
  %t = relex.as_sizes %k : (tensor<1xi64>) -> tensor<0x?xi1>
  %p = relex.strided_slice %x like(%t) axes = [0] begin = [0] end = [0] end_sizes = ["like0_d1"]
      : (tensor<?xf32>, tensor<0x?xi1>) -> tensor<?xf32>
  func.return %y, %z, %p : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?xf32>
}
"""


def test_sizes_that_are_numbers_of_the_program() -> None:
    functions = at_every_level(SHAPED)
    for rows, columns, k in ((0, 3, 0), (3, 0, 0), (1, 1, 1), (3, 17, 5), (1, 7, 7)):
        x = np.arange(rows * columns).astype(np.float32)
        for function in functions:
            y, z, part = function(x, np.array([rows, columns]), np.array([k]))
            assert np.array_equal(y, x.reshape(rows, columns))
            assert np.array_equal(z, np.ones((rows, 2 * columns)))
            assert np.array_equal(part, x[:k])


def test_numbers_of_the_program_that_are_no_sizes() -> None:
    functions = at_every_level(SHAPED)
    x = np.ones(6, np.float32)
    for wrong in ((-1, 3), (2**57 + 1, 0), (2, -(2**63))):
        for function in functions:
            with pytest.raises(RelexError, match=r"'relex\.as_sizes'.* expected .*size"):
                function(x, np.array(wrong), np.array([1]))
    # The last product wraps around to 6.
    for wrong in ((2, 2), (7, 1), (3 * 2**55, 2**56), (2**56 + 1, 2 * 3)):
        for function in functions:
            # NumPy refuses an array without elements of such sizes as well.
            with pytest.raises(RelexError, match=r"expected s_d0 \* s_d1 (==|<=) |array is too big"):
                function(x, np.array(wrong), np.array([1]))


MOST = """
func.func @main(%n: tensor<2xi64>, %x: tensor<f32>) -> tensor<f32> {
  %s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
  %t = relex.broadcast_to %x like(%s) shape = [-1, -1] sizes = ["like0_d1", "like0_d2"]
      : (tensor<f32>, tensor<0x?x?xi1>) -> tensor<?x?xf32>
  %u = relex.cumsum %t axis = 0 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %m = relex.max %u : (tensor<?x?xf32>) -> tensor<f32>
  func.return %m : tensor<f32>
}
"""


def test_the_limit_of_a_product_is_checked_before_other_requirements() -> None:
    """A product that has wrapped around to 0 is not what a maximum of no elements is."""
    main, one = build(MOST)["main"], np.ones((), np.float32)
    assert main(np.array([3, 2]), one) == 3
    with pytest.raises(
        ShapeError, match=r"'relex.broadcast_to' expected s_d0 \* s_d1 <= \d+, found 9223372036854775807"
    ):
        main(np.array([2**40, 2**40]), one)
    with pytest.raises(ShapeError, match=r"'relex.max' expected 1 <= s_d0 \* s_d1, found 0"):
        main(np.array([0, 3]), one)


OUTER = """
func.func @main(%n: tensor<i64>, %m: tensor<i64>) -> tensor<?x?xf32> {
  %0 = tensor.extract %n[] : tensor<i64>
  %rows = arith.index_cast %0 : i64 to index
  %1 = tensor.extract %m[] : tensor<i64>
  %columns = arith.index_cast %1 : i64 to index
  %y = relex.call_tir @fill(%n) sizes(%rows, %columns) : (tensor<i64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}
tir.prim_func private @fill(%x: memref<i64>) outs(%y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  tir.for %i, %j in (%n, %m) {
    tir.block @y (%vi: spatial<%n> = %i, %vj: spatial<%m> = %j) {
      %v = arith.constant 1.0 : f32
      memref.store %v, %y[%vi, %vj] : memref<?x?xf32>
    }
  }
}
"""


def test_products_of_sizes_that_exceed_an_index() -> None:
    most, largest = 2**57, 2**63 - 1
    for function in at_every_level(OUTER):
        assert np.array_equal(function(np.array(2), np.array(3)), np.ones((2, 3), np.float32))
        # 2**64 wraps around to 0, and 2**65 bytes do.
        for n, m, found in (
            (2**32, 2**30, 2**62),
            (2**32, 2**31, largest),
            (2**32, 2**32, largest),
            (most, most, largest),
            (2**56, 2**8, largest),
        ):
            with pytest.raises(
                ShapeError, match=rf"'relex.call_tir' expected columns \* rows <= {2**61 - 1}.* {found}"
            ):
                function(np.array(n), np.array(m))
        for n, m, wrong in ((2**63 - 1, 0, "rows"), (0, most + 1, "columns"), (-(2**63), 2, "rows")):
            with pytest.raises(ShapeError, match=f"'relex.call_tir' expected .*{wrong}.*, found {max(n, m, key=abs)}"):
                function(np.array(n), np.array(m))
        with pytest.raises((ShapeError, OutOfMemoryError)):
            function(np.array(most), np.array(2))


def test_a_product_of_four_sizes_names_the_operator() -> None:
    main = build("""
    func.func @main(%x: tensor<?xf32>) -> tensor<?x?x?x?xi64> {
      %p = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %y = relex.reshape %p shape = [-1] : (tensor<?x1xi64>) -> tensor<?xi64>
      %a = relex.expand_dims %y axis = [1, 2, 3] : (tensor<?xi64>) -> tensor<?x1x1x1xi64>
      %b = relex.expand_dims %y axis = [0, 2, 3] : (tensor<?xi64>) -> tensor<1x?x1x1xi64>
      %c = relex.expand_dims %y axis = [0, 1, 3] : (tensor<?xi64>) -> tensor<1x1x?x1xi64>
      %d = relex.expand_dims %y axis = [0, 1, 2] : (tensor<?xi64>) -> tensor<1x1x1x?xi64>
      %e = relex.add %a, %b : (tensor<?x1x1x1xi64>, tensor<1x?x1x1xi64>) -> tensor<?x?x1x1xi64>
      %f = relex.add %c, %d : (tensor<1x1x?x1xi64>, tensor<1x1x1x?xi64>) -> tensor<1x1x?x?xi64>
      %g = relex.add %e, %f : (tensor<?x?x1x1xi64>, tensor<1x1x?x?xi64>) -> tensor<?x?x?x?xi64>
      func.return %g : tensor<?x?x?x?xi64>
    }
    """)["main"]
    assert main(np.ones(2, np.float32)).tolist()[1] == [[[1, 2], [2, 3]], [[2, 3], [3, 4]]]
    for size, found in ((2**15, 2**60), (2**16, 2**63 - 1)):
        with pytest.raises(ShapeError, match=rf"'relex.add' expected p_rows \* .* <= {2**60 - 1}, found {found}"):
            main(np.ones(size, np.float32))


@pytest.mark.parametrize("error", [MemoryError(), ValueError(), IndexError()])
def test_results_without_memory(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    main = build(PLACES)["main"]
    x = np.eye(3, dtype=np.float32)

    def allocate(self: LateResults, number: int, sizes: int) -> int:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(LateResults, "allocate", allocate)
        with pytest.raises(ShapeError, match="expected memory for the bytes of a result of @nonzero, found 48"):
            main(x)
    assert len(main(x)[0]) == 3


def test_in_branches_and_loops() -> None:
    functions = at_every_level("""
    func.func @main(%x: tensor<?xf32>, %c: tensor<i1>, %y: tensor<?xf32>) -> (tensor<f32>, tensor<f32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %three = arith.constant 3 : index
      %nothing = relex.constant dense<0.0> : tensor<f32>
      %holds = tensor.extract %c[] : tensor<i1>
      %s = scf.if %holds -> (tensor<f32>) {
        %m = relex.greater %x, %nothing : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
        %a = relex.compress %x, %m : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
        %b = relex.add %a, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        %t = relex.sum %b : (tensor<?xf32>) -> tensor<f32>
        scf.yield %t : tensor<f32>
      } else {
        scf.yield %nothing : tensor<f32>
      }
      %r = scf.for %i = %zero to %three step %one iter_args(%v = %nothing) -> (tensor<f32>) {
        %w = relex.add %x, %v : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
        %m = relex.less %w, %nothing : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
        %a = relex.compress %w, %m : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
        %t = relex.sum %a : (tensor<?xf32>) -> tensor<f32>
        scf.yield %t : tensor<f32>
      }
      func.return %s, %r : tensor<f32>, tensor<f32>
    }
    """)
    x = np.array([-4, 1, 2, -1], np.float32)
    for function in functions:
        s, r = function(x, np.array(True), np.ones(2, np.float32))
        assert (s, r) == (5, -90)  # -4 - 1 = -5, -9 - 4 - 3 - 6 = -22, -26 - 21 - 20 - 23
        with pytest.raises(ShapeError, match=r"'relex\.add' expected a_kept == y_d0, found 2"):
            function(x, np.array(True), np.ones(3, np.float32))
        # What a branch requires is checked where it runs: the size is known only there.
        assert function(x, np.array(False), np.ones(3, np.float32))[0] == 0


def test_loops_without_trips_count_nothing() -> None:
    """Neither what is counted nor what has to be as large is checked, although no trip changes it."""
    program = """
    func.func @main(%x: tensor<?xf32>, %c: tensor<?xi64>, %k: index) -> tensor<?xf32> {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %r = scf.for %i = %zero to %k step %one iter_args(%v = %x) -> (tensor<?xf32>) {
        %a = relex.repeat %x, %c axis = 0 : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
        %s = relex.add %v, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        scf.yield %s : tensor<?xf32>
      }
      func.return %r : tensor<?xf32>
    }
    """
    x = np.arange(3, dtype=np.float32)
    for function in at_every_level(program):
        assert function(x, np.array([2, 0, 1]), 2).tolist() == [0, 1, 6]
        for counts in ([-1, 2, 2], [1, 1, 2]):
            assert function(x, np.array(counts), 0).tolist() == [0, 1, 2]
            with pytest.raises(RelexError, match="expected"):
                function(x, np.array(counts), 1)


def test_sizes_leave_a_branch() -> None:
    program = """
        func.func @main(%x: tensor<?xf32>, %c: tensor<i1>) -> tensor<?x1xi64> {
          %holds = tensor.extract %c[] : tensor<i1>
          %s = scf.if %holds -> (tensor<?x1xi64>) {
            %a = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
            scf.yield %a : tensor<?x1xi64>
          } else {
            %zero = relex.constant dense<0.0> : tensor<f32>
            %n = relex.equal %x, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
            %b = relex.nonzero %n : (tensor<?xi1>) -> tensor<?x1xi64>
            scf.yield %b : tensor<?x1xi64>
          }
          func.return %s : tensor<?x1xi64>
        }
        """
    x = np.array([1, 0, 0, 2, 3], np.float32)
    for function in at_every_level(program):
        assert function(x, np.array(True)).tolist() == [[0], [3], [4]]
        assert function(x, np.array(False)).tolist() == [[1], [2]]


ONE_BRANCH = """
func.func @main(%x: tensor<?xf32>, %i: index) -> tensor<?x1xi64> {
  %s = scf.index_switch %i -> tensor<?x1xi64>
  default {
    %a = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
    scf.yield %a : tensor<?x1xi64>
  }
  func.return %s : tensor<?x1xi64>
}
"""
CONDITION = """
func.func @main(%p: i1, %x: tensor<?xf32>) -> tensor<?x1xi64> {
  %y:2 = scf.while (%z = %x) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?x1xi64>) {
    %a = relex.nonzero %z : (tensor<?xf32>) -> tensor<?x1xi64>
    scf.condition(%p) %z, %a : tensor<?xf32>, tensor<?x1xi64>
  } do {
  ^bb0(%z: tensor<?xf32>, %a: tensor<?x1xi64>):
    %t = relex.multiply %z, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  func.return %y#1 : tensor<?x1xi64>
}
"""


@pytest.mark.parametrize(("program", "first"), [(ONE_BRANCH, ()), (CONDITION, (False,))], ids=["branch", "condition"])
def test_sizes_leave_what_runs_alone(program: str, first: tuple[bool, ...]) -> None:
    last = () if first else (7,)
    for function in at_every_level(program):
        for x in ([1, 0, 0, 2, 3], [0, 0], []):
            found = function(*first, np.array(x, np.float32), *last)
            assert found.tolist() == np.argwhere(x).tolist()


CALLS = """
func.func @main(%x: tensor<?xf32>, %z: tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>, tensor<?x1xi64>) {
  %a, %n = func.call @twice(%x) : (tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>)
  %b, %m = func.call @twice(%z) : (tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>)
  %s = relex.add %a, %b : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x1xi64>
  func.return %a, %n, %s : tensor<?x1xi64>, tensor<?xf32>, tensor<?x1xi64>
}
func.func private @twice(%x: tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>) {
  %y, %n = func.call @places(%x) : (tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>)
  %z = relex.add %y, %y : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x1xi64>
  func.return %z, %n : tensor<?x1xi64>, tensor<?xf32>
}
func.func @places(%x: tensor<?xf32>) -> (tensor<?x1xi64>, tensor<?xf32>) {
  %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
  func.return %y, %x : tensor<?x1xi64>, tensor<?xf32>
}
func.func private @unused(%x: tensor<?xf32>) -> tensor<?x1xi64> {
  %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
  func.return %y : tensor<?x1xi64>
}
"""


def test_functions_that_return_counted_sizes_are_called() -> None:
    x, z = np.array([1, 0, 2], np.float32), np.array([0, 1, 2], np.float32)
    for function in at_every_level(CALLS):
        places, same, total = function(x, z)
        assert places.tolist() == [[0], [4]]
        assert same.tolist() == x.tolist()
        assert total.tolist() == [[2], [8]]
        assert function(x[:0], np.zeros(2, np.float32))[2].shape == (0, 1)
        with pytest.raises(RelexError, match=r"'relex\.add'.* expected .*rows == |'relex\.add' op expected"):
            function(x, x[:2])
    assert build(CALLS)["places"](x)[0].tolist() == [[0], [2]]


SMALLER = """
func.func private @smaller(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c = relex.less %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  %r = relex.compress %b, %c axis = 0 : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = func.call @smaller(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""


def test_kernels_of_functions_that_nobody_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing refers to a kernel that was compiled before, and that only such a function calls."""
    monkeypatch.delenv("RELEX_VERIFY")  # Nothing is looked up with it.
    build(SMALLER, cache=tmp_path)
    program = PLACES + SMALLER.partition("func.func @main")[0]
    places, _ = build(program, cache=tmp_path)["main"](np.eye(3, dtype=np.float32))
    assert places.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_wrong_types() -> None:
    for line, message in (
        ("relex.nonzero %x : (tensor<?x3xf32>) -> tensor<4x2xi64>", r"expected result type tensor<\?x2xi64>"),
        ("relex.nonzero %s : (tensor<f32>) -> tensor<?x0xi64>", "expected a tensor of one dimension or more"),
        ("relex.compress %x, %s : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>", "expected a condition of i1"),
        ('relex.match_sizes %x sizes = ["n"] : (tensor<?x3xf32>) -> tensor<?x3xf32>', "expected 2 sizes, found 1"),
        ('relex.match_sizes %x sizes = ["n", "4"] : (tensor<?x3xf32>) -> tensor<?x3xf32>', "expected a size of 3"),
    ):
        with pytest.raises(CompileError, match=message):
            parse_module(f"""
            func.func @main(%x: tensor<?x3xf32>, %s: tensor<f32>) {{
              %y = {line}
              func.return
            }}
            """)


def test_names_that_are_not_known() -> None:
    with pytest.raises(CompileError, match="expected names of sizes that are known before, found 'k'"):
        build("""
        func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
          %y = relex.match_sizes %x sizes = ["k + 1"] : (tensor<?xf32>) -> tensor<?xf32>
          func.return %y : tensor<?xf32>
        }
        """)


def test_calls_of_compiled_functions(tmp_path: Path) -> None:
    compiled = build(PLACES)
    x = np.eye(3, dtype=np.float32)
    compiled.save(tmp_path / "places.relex")
    for executable in (compiled, relex.load(tmp_path / "places.relex"), pickle.loads(pickle.dumps(compiled))):
        assert np.array_equal(executable["main"](x)[0], [[0, 0], [1, 1], [2, 2]])
        with pytest.raises(ShapeError, match="no 'out', as only the call finds out the size of result 0"):
            executable["main"](x, out=(np.zeros((3, 2), np.int64),) * 2)
    assert str(compiled["main"].signature).endswith("(result 0: (y_rows, 2) of i64, result 1: (y_rows, 2) of i64)")


def test_results_are_arrays_of_their_own() -> None:
    main = build(PLACES)["main"]
    first, _ = main(np.eye(3, dtype=np.float32))
    kept = first.copy()
    main(np.ones((3, 3), np.float32))
    first += 1
    assert np.array_equal(first, kept + 1)
    assert np.array_equal(main(np.eye(3, dtype=np.float32))[0], kept)


def test_returned_arguments_and_constants_stay_as_they_are() -> None:
    functions = at_every_level("""
    func.func @main(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?x1xi64>, tensor<?x1xi64>, f32) {
      %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %n = arith.constant 2.0 : f32
      func.return %x, %y, %y, %n : tensor<?xf32>, tensor<?x1xi64>, tensor<?x1xi64>, f32
    }
    """)
    for function in functions:
        x, first, second, number = function(np.array([0, 3], np.float32))
        assert (list(x), first.tolist(), second.tolist(), number) == ([0, 3], [[1]], [[1]], 2)
        assert not np.may_share_memory(first, second)


def test_block_builder() -> None:
    bb = BlockBuilder()
    x = Var("x", ("n",), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            places = bb.emit(op.nonzero(op.relu(x)))
            chosen = bb.emit(op.compress(x, op.greater(x, 0.0)))
            outputs = [bb.emit_output(places), bb.emit_output(chosen)]
        bb.emit_func_output(outputs)
    places, chosen = build(bb.get())["main"](np.array([-1, 2, 0, 4], np.float32))
    assert places.tolist() == [[1], [3]]
    assert chosen.tolist() == [2, 4]


def test_names_of_sizes_in_the_block_builder() -> None:
    bb = BlockBuilder()
    x, n = Var("x", ("a",), "float32"), Var("n", (2,), "int64")
    with bb.function("main", [x, n]):
        bb.emit(op.match_sizes(op.as_sizes(n), ["", "rows", "columns"]))
        y = bb.emit(op.reshape(x, ["rows", "columns"]))
        bb.emit_func_output([y, bb.emit(op.alloc_tensor(("columns", "rows"), "float32"))])
    y, z = build(bb.get())["main"](np.arange(6, dtype=np.float32), np.array([3, 2]))
    assert y.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert z.shape == (2, 3)


def test_names_of_sizes_are_known_where_the_tensor_is() -> None:
    bb = BlockBuilder()
    x, n = Var("x", ("a",), "float32"), Var("n", (1,), "int64")
    with bb.function("main", [x, n]):
        with bb.dataflow():
            bb.emit(op.match_sizes(op.as_sizes(n), ["", "k"]))
        with pytest.raises(CompileError, match="expected a size that a parameter has, found 'k'; there are a"):
            bb.emit(op.reshape(x, ["k", 1]))
        bb.emit_func_output(x)


def test_parts_whose_checks_have_numbers_beyond_an_index() -> None:
    program = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xi64> {
      %places = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %first = relex.squeeze %places axis = [1] : (tensor<?x1xi64>) -> tensor<?xi64>
      %later = relex.strided_slice %first axes = [0] begin = [1] end = [4611686018427387904]
          : (tensor<?xi64>) -> tensor<?xi64>
      func.return %later : tensor<?xi64>
    }
    """
    for function in at_every_level(program):
        for x in ([], [0, 0], [1], [0, 1, 1, 0, 1]):
            array = np.array(x, np.float32)
            assert np.array_equal(function(array), np.flatnonzero(array)[1:])
