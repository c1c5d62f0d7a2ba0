"""Functions that take and give numbers, at every level."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import LEVELS, interpreted

from relex.dialects.errors import ArityError, DTypeError, RangeError, RelexError, ShapeError
from relex.runtime import build, load
from relex.tools.run.relex_run import main as relex_run

_FUNCTIONS = """
func.func @scaled(%x: tensor<?xf32>, %s: f32, %n: index) -> (f32, tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.addi %size, %n : index
  %t = arith.addf %s, %s : f32
  %y = relex.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return %t, %y, %m : f32, tensor<?xf32>, index
}
func.func @inner(%x: tensor<?xf32>, %s: f32) -> (tensor<?xf32>, f32, index) {
  %n = arith.constant 5 : index
  %t, %y, %m = func.call @scaled(%x, %s, %n) : (tensor<?xf32>, f32, index) -> (f32, tensor<?xf32>, index)
  func.return %y, %t, %m : tensor<?xf32>, f32, index
}
tir.prim_func @times(%X: memref<3xf64>, %s: f64) outs(%Y: memref<3xf64>) {
  tir.for %i in (3) {
    tir.block @Y (%v: spatial<3> = %i) {
      %x = memref.load %X[%v] : memref<3xf64>
      %y = arith.mulf %x, %s : f64
      memref.store %y, %Y[%v] : memref<3xf64>
    }
  }
}
func.func @made(%n: index, %m: index) -> tensor<?x2xi32> {
  %c = relex.constant dense<7> : tensor<i32>
  %y = relex.call_tir @fill(%c) sizes(%n) : (tensor<i32>) -> tensor<?x2xi32>
  func.return %y : tensor<?x2xi32>
}
tir.prim_func private @fill(%X: memref<i32>) outs(%Y: memref<?x2xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?x2xi32>
  tir.for %i, %j in (%n, 2) {
    tir.block @Y (%v: spatial<%n> = %i, %w: spatial<2> = %j) {
      %x = memref.load %X[] : memref<i32>
      memref.store %x, %Y[%v, %w] : memref<?x2xi32>
    }
  }
}
"""
TYPES = ("f16", "f32", "f64", "i1", "i8", "i32", "i64", "index")
PROGRAM = _FUNCTIONS + "".join(f"func.func @same_{t}(%x: {t}) -> {t} {{ func.return %x : {t} }}\n" for t in TYPES)

X = np.array([1, -2, 3], np.float32)
DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i32": np.int32,
    "i64": np.int64, "index": np.int64,
}  # fmt: skip


@pytest.fixture(scope="module", params=[*LEVELS, "native", "ctypes", "saved"])
def functions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    if request.param in LEVELS:
        yield interpreted(PROGRAM, request.param)
        return
    if request.param == "saved":
        path = tmp_path_factory.mktemp("saved") / "program.relex"
        build(PROGRAM).save(path)
        yield load(path)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEX_CALLS", request.param)
        yield build(PROGRAM)


def test_signatures(functions: Any):
    signature = functions["scaled"].signature
    assert (
        str(signature)
        == "scaled(x: (x_d0,) of f32, s: f32, n: index) -> (result 0: f32, result 1: (x_d0,) of f32, result 2: index)"
    )


@pytest.mark.parametrize("size", [0, 1, 17])
def test_numbers_among_arrays(functions: Any, size: int):
    x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    for _ in range(2):
        t, y, m = functions["scaled"](x, 1.5, 2**40)
        assert (type(t), t) == (np.float32, 3)
        assert (type(m), m) == (np.int64, size + 2**40)
        np.testing.assert_array_equal(y, np.maximum(x, 0))
    y, t, m = functions["inner"](s=np.float32(-2), x=x)
    assert (t, m) == (-4, size + 5)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_loop_functions(functions: Any):
    np.testing.assert_array_equal(functions["times"](np.arange(3.0), -0.5), [0, -0.5, -1])


@pytest.mark.parametrize("t", TYPES)
def test_every_type(functions: Any, t: str):
    dtype: np.dtype[Any] = np.dtype(DTYPES[t])
    same = functions[f"same_{t}"]
    numbers: list[Any] = [0, 1]
    if dtype.kind == "i":
        numbers += [-1, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    if dtype.kind == "f":
        numbers = [0.0, -0.0, 0.1, float(np.finfo(dtype).max), float(np.finfo(dtype).tiny), np.inf, -np.inf, np.nan]
    if dtype.kind == "b":
        numbers = [False, True]
    for number in numbers:
        expected = dtype.type(number)
        for value in (number, expected, np.array(number, dtype), np.array(number, dtype.newbyteorder(">"))):
            found = same(value)
            assert type(found) is type(expected)
            assert found.tobytes() == expected.tobytes()


def test_results_into_arrays(functions: Any):
    out = np.empty((), np.float32), np.empty(3, np.float32), np.empty((), np.int64)
    t, y, m = functions["scaled"](X, 1.0, 2, out=out)
    assert (t, m) == (2, 5)
    assert (out[0], out[2]) == (2, 5)
    assert y is out[1]
    with pytest.raises(DTypeError, match=r"scaled\(\) out for result 0: expected a NumPy array, found float32"):
        functions["scaled"](X, 1.0, 2, out=(np.float32(1), *out[1:]))


def test_sizes(functions: Any):
    for n in (0, 1, 17):
        np.testing.assert_array_equal(functions["made"](n, 1), np.full((n, 2), 7))
    assert functions["made"](3, -5).shape == (3, 2)


WRONG: dict[str, tuple[str, Any, type[Exception], str]] = {
    "int for float": ("f32", 1, DTypeError, "expected a float or a NumPy scalar, found int"),
    "float for int": ("i64", 1.0, DTypeError, "expected an int or a NumPy scalar, found float"),
    "bool for int": ("i64", True, DTypeError, "expected an int or a NumPy scalar, found bool"),
    "int for bool": ("i1", 1, DTypeError, "expected a bool or a NumPy scalar, found int"),
    "complex": ("f64", 1j, DTypeError, "expected a float or a NumPy scalar, found complex"),
    "text": ("f64", "1.0", DTypeError, "expected a float or a NumPy scalar, found str"),
    "None": ("i8", None, DTypeError, "expected an int or a NumPy scalar, found NoneType"),
    "list": ("i8", [1], DTypeError, "expected an int or a NumPy scalar, found list"),
    "too large": ("i8", 128, RangeError, "expected a number of int8, found 128"),
    "too small": ("i8", -129, RangeError, "expected a number of int8, found -129"),
    "large index": ("index", 2**63, RangeError, "expected a number of int64, found 9223372036854775808"),
    "huge": ("i32", 1 << 20000, RangeError, "expected a number of int32, found one of 20001 bits"),
    "large float": ("f32", 1e39, RangeError, "expected a number of float32, found 1e+39"),
    "large half": ("f16", -70000.0, RangeError, "expected a number of float16, found -70000.0"),
    "double": ("f32", np.float64(1), DTypeError, "expected dtype float32, found float64"),
    "single": ("f64", np.float32(1), DTypeError, "expected dtype float64, found float32"),
    "short": ("index", np.int32(1), DTypeError, "expected dtype int64, found int32"),
    "unsigned": ("i64", np.uint64(1), DTypeError, "expected dtype int64, found uint64"),
    "one element": ("f32", np.ones(1, np.float32), ShapeError, "expected shape (), found (1,)"),
    "masked": ("f32", np.ma.masked, DTypeError, "expected an array without a mask, found a MaskedArray; fill it first"),
}


@pytest.mark.parametrize("case", WRONG)
def test_numbers_that_are_refused(functions: Any, case: str):
    t, value, error, message = WRONG[case]
    if case == "masked":
        value = np.ma.masked_array(np.float32(1))
    with pytest.raises(error) as caught:
        functions[f"same_{t}"](value)
    assert str(caught.value) == f"same_{t}() argument 'x': {message}"
    assert isinstance(caught.value, RelexError)


def test_numbers_that_are_no_sizes(functions: Any):
    with pytest.raises(ShapeError, match=r"made\(\) argument 'n': expected a size, found -1"):
        functions["made"](-1, 0)
    with pytest.raises(ShapeError, match=r"made\(\) .* expected sizes of at most"):
        functions["made"](2**60, 0)
    with pytest.raises(ArityError, match=r"made\(\) expected 2 arguments \(n, m\), found none for m"):
        functions["made"](1)


def test_numbers_that_must_be_sizes_of_arrays():
    text = """
      func.func @f(%n: index, %x: tensor<?xf32>) -> tensor<?xf32> {
        %y = relex.alloc_tensor sizes(%n) : tensor<?xf32>
        %z = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        func.return %x : tensor<?xf32>
      }
    """
    f = build(text)["f"]
    assert f(3, X).shape == (3,)
    with pytest.raises(
        ShapeError, match=r"f\(\) argument 'x': expected shape \(n_d0,\) with n_d0 = 2 \('n'\), found \(3,\)"
    ):
        f(2, X)


@pytest.mark.parametrize("level", [*LEVELS, "native"])
def test_the_tool_takes_numbers(level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    program, x, t = tmp_path / "p.mlir", tmp_path / "x.npy", tmp_path / "t.npy"
    program.write_text(PROGRAM)
    np.save(x, X)
    np.save(t, np.float32(0.5))
    options = [str(program), "--entry", "scaled", "--level", level, "--input", f"x={x}"]
    for s in ("s=2", "s=2.0", "s=2e0"):
        assert relex_run([*options, "--input", s, "--input", "n=-1"]) == 0
        assert capsys.readouterr().out == "4.\n[1., 0., 3.]\n2\n"
    assert relex_run([*options, "--input", f"s={t}", "--input", "n=1", "--output", str(tmp_path / "y.npy")]) == 0
    assert np.load(tmp_path / "y.npy") == 1
    assert relex_run([str(program), "--entry", "same_i1", "--level", level, "--input", "true"]) == 0
    assert capsys.readouterr().out.endswith("True\n")
    assert relex_run([*options, "--input", f"s=1{'0' * 400}", "--input", "n=1"]) == 1
    assert "argument 's': expected a number of float32, found one of 1329 bits" in capsys.readouterr().err
    assert relex_run([*options, "--input", "s=x", "--input", "n=1"]) == 1
    assert "error: cannot read 'x'" in capsys.readouterr().err
    assert relex_run([*options, "--input", "s=1", "--input", "n=1.5"]) == 1
    assert "error: scaled() argument 'n': expected an int or a NumPy scalar, found float" in capsys.readouterr().err
