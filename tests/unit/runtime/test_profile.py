"""Where the time of a call goes, and how much its functions compute."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.errors import RelexError, ShapeError, UnknownNameError
from relex.dialects.tir import PrimFuncOp
from relex.passes.analysis.work import Work, work_of
from relex.runtime import Executable, build, compilation, register_func, remove_func
from relex.runtime import profile as runtime_profile
from relex.runtime.compilation import compile_program

LINEAR = """
func.func @main(%x: tensor<?x30xf32> {relex.dims = ["n", ""]}, %w: tensor<20x30xf32>, %b: tensor<20xf32>)
    -> (tensor<?x20xf32> {relex.dims = ["n", ""]}) {
  %0 = relex.dense %x, %w : (tensor<?x30xf32>, tensor<20x30xf32>) -> tensor<?x20xf32>
  %1 = relex.add %0, %b : (tensor<?x20xf32>, tensor<20xf32>) -> tensor<?x20xf32>
  func.return %1 : tensor<?x20xf32>
}
"""

PLAIN = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }"

DIFFERENCE = """
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.subtract %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
"""


def ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


# Profiles


@pytest.fixture(scope="module")
def linear() -> Executable:
    return build(LINEAR)


def test_a_row_for_a_call(linear: Executable) -> None:
    profile = linear.profile(ones(3, 30), ones(20, 30), ones(20))
    (row,) = profile.rows
    assert (row.function, row.is_library, row.calls) == ("fused_dense_add", False, 1)
    assert (row.inputs, row.outputs) == (("3x30xf32", "20x30xf32", "20xf32"), ("3x20xf32",))
    assert row.flops == 3 * 20 * (2 * 30 + 1)
    assert row.bytes == 4 * (3 * 30 + 20 * 30 + 20 + 3 * 20)
    assert 0 <= row.seconds < profile.seconds
    assert row.bytes_per_second == pytest.approx(row.bytes / row.seconds)
    assert row.flops_per_second == pytest.approx(row.flops / row.seconds)
    assert profile.runs >= 3


@pytest.mark.parametrize(("seconds", "runs"), [(0.0, 3), (60.0, 5)])
def test_how_often_it_runs(seconds: float, runs: int, linear: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_profile, "MIN_SECONDS", seconds)
    monkeypatch.setattr(runtime_profile, "MAX_RUNS", 5)
    assert linear.profile(ones(3, 30), ones(20, 30), ones(20)).runs == runs


def test_the_table(linear: Executable) -> None:
    lines = str(linear.profile(ones(3, 30), ones(20, 30), ones(20))).splitlines()
    assert lines[0].startswith("main(): ")
    assert lines[1].split() == ["calls", "time", "share", "GB/s", "GF/s", "bytes", "flops", "function"]
    assert lines[2].split()[0] == "1"
    assert "100.0%" in lines[2]
    assert lines[2].endswith(" 3.08k  3.66k  fused_dense_add(3x30xf32, 20x30xf32, 20xf32) -> (3x20xf32)")
    assert len(lines) == 3


def test_nothing_to_call() -> None:
    profile = build(PLAIN).profile(ones(3))
    assert profile.rows == ()
    assert ", 0.00 us of it in calls; " in str(profile)


@pytest.mark.parametrize("x", [np.ones(3, np.float32), [1.0, 2.0, 3.0]], ids=["array", "list"])
def test_sizes_of_arguments(x: Any) -> None:
    program = """
    func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<?xf32> {
      %0 = relex.relu %x : (tensor<?xf32>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }
    """
    executable = build(program)
    assert executable.profile(x).sizes == executable.profile(x=x).sizes == {"n": 3}


def test_empty_arguments(linear: Executable) -> None:
    (row,) = linear.profile(ones(0, 30), ones(20, 30), ones(20)).rows
    assert row.flops == 0
    assert row.bytes_per_second >= 0


LIBRARY = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = relex.call_dps_packed "test.slow"(%x) : (tensor<5xf32>) -> tensor<5xf32>
  %1 = relex.exp %0 : (tensor<5xf32>) -> tensor<5xf32>
  %2 = relex.call_dps_packed "test.slow"(%1) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %2 : tensor<5xf32>
}
"""


@pytest.fixture
def slow() -> Iterator[None]:
    def function(x: Any, out: Any) -> None:
        time.sleep(0.02)
        out[:] = x

    register_func("test.slow", function)
    yield
    remove_func("test.slow")


@pytest.mark.usefixtures("slow")
def test_library_functions() -> None:
    profile = build(LIBRARY).profile(ones(5))
    first, exp, second = profile.rows
    assert [first.function, second.function] == ["test.slow"] * 2
    assert first.is_library
    assert min(first.seconds, second.seconds) >= 0.02
    assert exp.seconds > 0
    assert (first.flops, first.flops_per_second, first.bytes) == (None, None, 40)
    assert str(profile).splitlines()[2].endswith("     -  test.slow(5xf32) -> (5xf32)")


def test_the_program_is_the_one_that_was_built() -> None:
    module = parse_module(DIFFERENCE)
    ex = build(module)
    for op in list(module.ops):
        op.detach()
    assert len(ex.profile(ones(3), ones(3)).rows) == 1


def test_a_second_profile_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does one of calls that other threads profile meanwhile, each with a log of its own calls."""
    ex = build(LINEAR)
    ex.profile(ones(2, 30), ones(20, 30), ones(20))
    monkeypatch.setattr(compilation, "compile_program", None)

    def rows_of(n: int) -> set[tuple[str, ...]]:
        return {row.outputs for row in ex.profile(ones(n, 30), ones(20, 30), ones(20)).rows}

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(rows_of, (1, 2, 3))) == [{(f"{n}x20xf32",)} for n in (1, 2, 3)]


def test_wrong_calls(linear: Executable) -> None:
    with pytest.raises(ShapeError, match=r"main\(\) argument 'x': expected shape \(n, 30\), found \(3,\)"):
        linear.profile(ones(3), ones(20, 30), ones(20))
    with pytest.raises(UnknownNameError, match="no function 'nobody'; there are main"):
        linear.profile(entry="nobody")
    loaded = Executable(compile_program(parse_module(PLAIN)))
    with pytest.raises(RelexError, match=r"profile\(\): expected an executable from 'build'"):
        loaded.profile(ones(3))


# Work


def work(text: str, *shapes: tuple[int, ...]) -> Work:
    function = parse_module(text).body.block.first_op
    assert isinstance(function, PrimFuncOp)
    return work_of(function, shapes)


def test_blocks_count_by_their_variables() -> None:
    """The loops around go too far, and the tail is guarded."""
    text = """
tir.prim_func @f(%X: memref<10xf32>) outs(%Y: memref<10xf32>) {
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  tir.for %i0, %i1 in (3, 4) {
    %0 = arith.muli %i0, %c4 : index
    %i = arith.addi %0, %i1 : index
    %inside = arith.cmpi slt, %i, %c10 : index
    scf.if %inside {
      tir.block @Y (%vi: spatial<10> = %i) {
        %x = memref.load %X[%vi] : memref<10xf32>
        %y = math.fma %x, %x, %x : f32
        %z = math.exp %y : f32
        memref.store %z, %Y[%vi] : memref<10xf32>
      }
    }
  }
}
"""
    assert work(text, (10,), (10,)) == Work(30, 80)


def test_an_init_counts_once() -> None:
    text = """
tir.prim_func @f(%X: memref<6x7xf32>, %B: memref<6xf32>) outs(%Y: memref<6xf32>) {
  tir.for %i, %k in (6, 7) {
    tir.block @Y (%vi: spatial<6> = %i, %vk: reduce<7> = %k) {
      tir.init {
        %b = memref.load %B[%vi] : memref<6xf32>
        %n = arith.negf %b : f32
        memref.store %n, %Y[%vi] : memref<6xf32>
      }
      %x = memref.load %X[%vi, %vk] : memref<6x7xf32>
      %y = memref.load %Y[%vi] : memref<6xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %Y[%vi] : memref<6xf32>
    }
  }
}
"""
    assert work(text, (6, 7), (6,), (6,)) == Work(6 + 42, 4 * (42 + 6 + 6))


GATHER = """
tir.prim_func @f(%X: memref<1000xf32>, %I: memref<3xi64>) outs(%Y: memref<3xf32>) {
  tir.for %i in (3) {
    tir.block @Y (%vi: spatial<3> = %i) {
      %0 = memref.load %I[%vi] : memref<3xi64>
      %1 = arith.index_cast %0 : i64 to index
      %x = memref.load %X[%1] : memref<1000xf32>
      memref.store %x, %Y[%vi] : memref<3xf32>
    }
  }
}
"""


def test_only_what_is_read_counts() -> None:
    assert work(GATHER, (1000,), (3,), (3,)) == Work(0, 12 + 24 + 12)


SEARCH = """
tir.prim_func @f(%X: memref<8xf32>, %n: index) outs(%Y: memref<1xf32>) {
  tir.for %i in (1) {
    tir.block @Y (%vi: spatial<1> = %i) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %start = memref.load %X[%c0] : memref<8xf32>
      %sum = scf.for %k = %c1 to LIMIT step %c1 iter_args(%s = %start) -> (f32) {
        %x = memref.load %X[%k] : memref<8xf32>
        %t = arith.addf %s, %x : f32
        scf.yield %t : f32
      }
      memref.store %sum, %Y[%vi] : memref<1xf32>
    }
  }
}
"""


def test_plain_loops_count_where_their_bounds_are_sizes() -> None:
    assert work(SEARCH.replace("LIMIT", "%n"), (8,), (5,), (1,)) == Work(4, 4 * (5 + 1))


def test_what_depends_on_numbers_is_not_known() -> None:
    limit = "%k0 step %c1 iter_args(%s = %start) -> (f32) {"
    text = SEARCH.replace(
        "%sum =", "%f = arith.fptosi %start : f32 to i64 %k0 = arith.index_cast %f : i64 to index %sum ="
    )
    assert work(text.replace("LIMIT step %c1 iter_args(%s = %start) -> (f32) {", limit), (8,), (5,), (1,)) == Work(
        None, 36
    )
