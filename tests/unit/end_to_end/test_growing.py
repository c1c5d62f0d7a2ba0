"""Tensors that grow in loops: rows that are there already stay where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_regions import region_program

from relex.dialects import parse_module
from relex.dialects.errors import AssertionFailedError
from relex.dialects.relex import ConcatOp
from relex.reference import interpret
from relex.runtime import build, load, register_func, release_memory, remove_func

APPENDING = """
func.func @main(%k: index, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %k step %c1 iter_args(%rows = %x) -> (tensor<?x4xf32>) {
    %row = relex.strided_slice %x axes = [0] begin = [0] end = [1] : (tensor<?x4xf32>) -> tensor<?x4xf32>
    BODY
    scf.yield %more : tensor<?x4xf32>
  }
  func.return %r : tensor<?x4xf32>
}
"""
CONCAT = "relex.concat %rows, %row axis = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>"
EITHER = """
    %odd = arith.andi %i, %c1 : index
    %is = arith.cmpi eq, %odd, %c0 : index
    %more = scf.if %is -> (tensor<?x4xf32>) {{
      {appended}
    }} else {{
      scf.yield %rows : tensor<?x4xf32>
    }}"""
BODIES = {
    "each trip": f"%more = {CONCAT}",
    "twice": f"""%first = {CONCAT}
    %more = {CONCAT.replace("%rows", "%first")}""",
    "some trips": EITHER.format(appended=f"%m = {CONCAT}\n      scf.yield %m : tensor<?x4xf32>"),
    "read before and after": f"""%old = relex.sum %rows axis = [0] : (tensor<?x4xf32>) -> tensor<4xf32>
    %longer = {CONCAT}
    %still = relex.max %rows : (tensor<?x4xf32>) -> tensor<f32>
    %new = relex.sum %longer axis = [0] : (tensor<?x4xf32>) -> tensor<4xf32>
    %both = relex.add %old, %new : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %scaled = relex.divide %both, %still : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %less = relex.tanh %scaled : (tensor<4xf32>) -> tensor<4xf32>
    %last = relex.expand_dims %less axis = [0] : (tensor<4xf32>) -> tensor<1x4xf32>
    %more = relex.concat %longer, %last axis = 0 : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x4xf32>""",
}
_SOON = (4, 7, 8, 17)
"""Seeds of programs whose loops append."""
X = np.linspace(0.5, 1, 12, dtype=np.float32).reshape(3, 4)


def all_of(results: Any) -> list[Any]:
    """Return one result or several as a list."""
    return [*results] if isinstance(results, tuple) else [results]


def expect_same(program: str, *calls: tuple[Any, ...]) -> list[Any]:
    """Compare what the interpreter computes with lower levels and compiled code, and return it."""
    exact, fast = build(program, strict=True), build(program)
    levels = [interpret(exact.ir(level))["main"] for level in ("loops", "core")]
    found: list[Any] = []
    for arguments in calls:
        wanted: Any = interpret(program)["main"](*arguments)
        for main in (*levels, exact["main"], fast["main"]):
            results: Any = main(*arguments)
            for result, right in zip(all_of(results), all_of(wanted), strict=True):
                np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5, strict=True)
        found.append(wanted)
    release_memory()
    assert release_memory() == 0
    return found


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of bytes that interpreted copies of buffers have copied."""
    counts, copy = list[int](), np.copyto

    def counting(written: Any, read: Any, *others: Any, **named: Any) -> None:
        counts.append(written.nbytes)
        copy(written, read, *others, **named)

    monkeypatch.setattr(np, "copyto", counting)
    return counts


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_appended_rows(body: str) -> None:
    results = expect_same(APPENDING.replace("BODY", body), *((k, X) for k in (0, 1, 2, 7)))
    assert results[0].shape == (3, 4)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_rows_are_copied_a_few_times(body: str, copied: list[int]) -> None:
    """A row is copied where it is appended, where the result is returned, and, on average, twice or less in between;
    all rows so far in each trip would be tens of times as many bytes."""
    main = interpret(build(APPENDING.replace("BODY", body)).ir("core"))["main"]
    copied.clear()
    (rows,) = [main(100, X)]
    assert sum(copied) <= 4 * rows.nbytes + 100 * X[0].nbytes


WHILE = """
func.func @main(%x: tensor<1x?xT>, %k: tensor<i64>, %flag: i1) -> (tensor<1x?xT>, tensor<?xT>, i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = tensor.extract %k[] : tensor<i64>
  %e = relex.constant dense<> : tensor<0xT>
  %none = tensor.cast %e : tensor<0xT> to tensor<?xT>
  %r:3 = scf.while (%a = %x, %b = %none, %i = %zero) : (tensor<1x?xT>, tensor<?xT>, i64)
      -> (tensor<1x?xT>, tensor<?xT>, i64) {
    %a2 = scf.if %flag -> (tensor<1x?xT>) {
      %c = relex.concat %a, %x, %a axis = 1 : (tensor<1x?xT>, tensor<1x?xT>, tensor<1x?xT>) -> tensor<1x?xT>
      scf.yield %c : tensor<1x?xT>
    } else {
      %c = relex.concat %a, %x axis = 1 : (tensor<1x?xT>, tensor<1x?xT>) -> tensor<1x?xT>
      scf.yield %c : tensor<1x?xT>
    }
    %more = arith.cmpi slt, %i, %n : i64
    scf.condition(%more) %a2, %b, %i : tensor<1x?xT>, tensor<?xT>, i64
  } do {
  ^bb0(%a: tensor<1x?xT>, %b: tensor<?xT>, %i: i64):
    %j = arith.addi %i, %one : i64
    %at = relex.constant dense<0> : tensor<i64>
    %last = relex.take %a, %at axis = 1 : (tensor<1x?xT>, tensor<i64>) -> tensor<1xT>
    %b2 = relex.concat %b, %last axis = 0 : (tensor<?xT>, tensor<1xT>) -> tensor<?xT>
    scf.yield %a, %b2, %j : tensor<1x?xT>, tensor<?xT>, i64
  }
  func.return %r#0, %r#1, %r#2 : tensor<1x?xT>, tensor<?xT>, i64
}
"""


@pytest.mark.parametrize(
    ("element", "dtype"), [("f32", "f4"), ("f64", "f8"), ("i8", "i1"), ("i1", "?"), ("ui64", "u8")]
)
def test_rows_of_a_while_loop(element: str, dtype: str) -> None:
    """Both halves of a trip append to something; one of the operands behind the first is the first again."""
    x = np.array([[1, 0, 3]]).astype(dtype)
    calls = [(x, np.array(k), flag) for k in (0, 1, 4) for flag in (False, True)]
    results = expect_same(WHILE.replace("xT", f"x{element}"), *calls, (x[:, :1], np.array(2), True))
    assert [rows.shape[1] for rows, _, _ in results] == [6, 9, 9, 21, 18, 189, 15]


NESTED = """
func.func @main(%k: index, %x: tensor<1x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = tensor.cast %x : tensor<1x?xf32> to tensor<?x?xf32>
  %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%rows = %first, %all = %first)
      -> (tensor<?x?xf32>, tensor<?x?xf32>) {
    %inner = scf.for %j = %c0 to %i step %c1 iter_args(%part = %rows) -> (tensor<?x?xf32>) {
      %0 = relex.tanh %x : (tensor<1x?xf32>) -> tensor<1x?xf32>
      %1 = relex.concat %part, %0 axis = 0 : (tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
      scf.yield %1 : tensor<?x?xf32>
    }
    %2 = relex.concat %all, %inner axis = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    scf.yield %inner, %2 : tensor<?x?xf32>, tensor<?x?xf32>
  }
  func.return %r#0, %r#1 : tensor<?x?xf32>, tensor<?x?xf32>
}
"""


def test_rows_of_loops_in_loops() -> None:
    results = expect_same(NESTED, *((k, X[:1, :n]) for k in (0, 1, 4) for n in (0, 3)))
    assert [tuple(len(rows) for rows in both) for both in results] == [(1, 1)] * 2 + [(1, 2)] * 2 + [(7, 15)] * 2


GIVEN_AWAY = """
func.func @main(%k: index, %x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %k step %c1 iter_args(%old = %x, %rows = %x) -> (tensor<?xf32>, tensor<?xf32>) {
    %more = relex.concat %rows, %old : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %rows, %more : tensor<?xf32>, tensor<?xf32>
  }
  func.return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}
"""


def test_a_tensor_that_another_one_takes_over() -> None:
    results = expect_same(GIVEN_AWAY, *((k, X[0]) for k in (0, 1, 5)))
    assert [tuple(rows.size for rows in both) for both in results] == [(4, 4), (4, 8), (32, 52)]


def test_failures_keep_no_memory() -> None:
    checked = BODIES["each trip"].replace(
        "%more",
        """%most = relex.constant dense<9.0> : tensor<f32>
    %sum = relex.sum %rows : (tensor<?x4xf32>) -> tensor<f32>
    %holds = relex.less %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    relex.assert %holds, "expected little" : tensor<i1>
    %more""",
    )
    later = f"""{BODIES["each trip"]}
    %most = relex.constant dense<9.0> : tensor<f32>
    %sum = relex.sum %more : (tensor<?x4xf32>) -> tensor<f32>
    %holds = relex.less %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
    relex.assert %holds, "expected little" : tensor<i1>"""
    for body in (checked, later):
        main = build(APPENDING.replace("BODY", body))["main"]
        with pytest.raises(AssertionFailedError, match="expected little"):
            main(100, X[:1])
        assert len(main(2, X[:1])) == 3
        release_memory()
        assert release_memory() == 0


def test_exceptions_keep_no_memory() -> None:
    calls: list[int] = []

    def fail(x: Any, out: Any) -> None:
        calls.append(1)
        out[...] = x
        if len(calls) == 6:
            raise LookupError("the sixth")

    called = '%same = relex.call_dps_packed "env.appended"(%x) sizes(%size) : (tensor<?x4xf32>) -> tensor<?x4xf32>'
    body = f"{called}\n    {BODIES['each trip'].replace('%row ', '%same ')}"
    program = APPENDING.replace("BODY", body).replace("%r = ", "%size = tensor.dim %x, %c0 : tensor<?x4xf32>\n  %r = ")
    register_func("env.appended", fail)
    try:
        main = build(program)["main"]
    finally:
        remove_func("env.appended")
    with pytest.raises(LookupError, match="the sixth"):
        main(100, X)
    assert main(4, X).shape == (15, 4)
    release_memory()
    assert release_memory() == 0


def test_saved_programs(tmp_path: Path) -> None:
    executable = build(APPENDING.replace("BODY", BODIES["some trips"]))
    executable.save(tmp_path / "appending")
    np.testing.assert_array_equal(load(tmp_path / "appending")["main"](9, X), executable["main"](9, X))


@pytest.mark.parametrize("seed", [pytest.param(i, marks=[] if i in _SOON else pytest.mark.full) for i in range(40)])
def test_random_programs(seed: int) -> None:
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    program = region_program(seed, growing=True, depth=1 + seed % 3)
    expect_same(program, *((x, np.cos(x), n, flag) for n in (0, 1, 3) for flag in (False, True)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%rows, %row axis", "%row, %rows axis"),
        ("scf.yield %more", "scf.yield %rows"),
        ("?x4xf32", "4x?xf32"),
    ],
)
def test_what_does_not_grow(old: str, new: str) -> None:
    """Rows before the others, rows that no trip takes over, and columns have loops as before."""
    text = APPENDING.replace("BODY", BODIES["each trip"]).replace(old, new)
    text = text.replace("axis = 0", "axis = 1").replace("axes = [0]", "axes = [1]") if "4x?" in new else text
    program = parse_module(text)
    assert [op.is_view for op in program.walk() if isinstance(op, ConcatOp)] == [False]
    expect_same(text, (3, X if "4x?" not in new else X.T.copy()))
