"""Calling compiled functions: what is taken, what is refused, and how."""

from __future__ import annotations

import ctypes
import gc
from array import array
from collections.abc import Generator
from pathlib import Path
from threading import Event, Thread
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import RelexError, parse_module
from relex.dialects.errors import ArityError, CompileError, DTypeError, RangeError, ShapeError
from relex.runtime import Executable, build
from relex.runtime.compilation import compile_program

PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relex.add %x, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
func.func @several(%x: tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<2xf32>) {
  %0 = relex.add %x, %x : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  %1 = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %0, %x, %0, %1 : tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<2xf32>
}
func.func @nothing(%x: tensor<4xi64>) {
  func.return
}
func.func @scalar(%x: tensor<f64>) -> tensor<f64> {
  %0 = relex.add %x, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}
func.func @nested(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = func.call @hidden(%x) : (tensor<4xi64>) -> tensor<4xi64>
  %1 = func.call @hidden(%0) : (tensor<4xi64>) -> tensor<4xi64>
  func.return %1 : tensor<4xi64>
}
func.func private @hidden(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = relex.multiply %x, %x : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  func.return %0 : tensor<4xi64>
}
tir.prim_func @negate(%X: memref<4xi64>) outs(%Y: memref<4xi64>) {
  %zero = arith.constant 0 : i64
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xi64>
      %y = arith.subi %zero, %x : i64
      memref.store %y, %Y[%v] : memref<4xi64>
    }
  }
}
"""

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([1, 2, 3], np.float32)


@pytest.fixture(scope="module", params=["native", "ctypes"])
def ex(request: pytest.FixtureRequest) -> Generator[Executable]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEX_CALLS", request.param)
        yield build(PROGRAM)


class Foreign:
    """A tensor of another library: DLPack and nothing else."""

    def __init__(self, array: Any):
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


class OnAnotherDevice(Foreign):
    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("not in CPU memory")


def test_functions_are_a_mapping(ex: Executable) -> None:
    assert list(ex) == ["main", "several", "nothing", "scalar", "nested", "negate"]
    assert "main" in ex
    assert "hidden" not in ex


def test_results(ex: Executable) -> None:
    np.testing.assert_array_equal(ex["main"](X, W), X + W)
    assert ex["nothing"](np.zeros(4, np.int64)) is None
    assert ex["scalar"](np.float64(1.5)) == 3.0
    x = np.arange(4)
    np.testing.assert_array_equal(ex["nested"](x), x**4)
    np.testing.assert_array_equal(ex["negate"](x), -x)
    twice, same, again, constant = ex["several"](x)
    np.testing.assert_array_equal(twice, 2 * x)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(again, 2 * x)
    np.testing.assert_array_equal(constant, [1, 2])


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1, ::-1][::-1, ::-1],
        np.lib.stride_tricks.as_strided(X.copy(), (2, 3), (12, 4)),
        X.astype(">f4"),
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
        Foreign(X.copy()),
        X.data,
        np.repeat(X, 2, axis=1)[:, ::2].data,
        (ctypes.c_float * 3 * 2)(*map(tuple, X)),
    ],
    ids=[
        "column-major",
        "strided",
        "reversed",
        "as_strided",
        "big-endian",
        "unaligned",
        "dlpack",
        "memoryview",
        "strided memoryview",
        "ctypes",
    ],
)
def test_any_layout_is_read_right(ex: Executable, x: Any) -> None:
    np.testing.assert_array_equal(ex["main"](x, W), X + W)


def test_lists(ex: Executable) -> None:
    np.testing.assert_array_equal(ex["main"](X.tolist(), [1, 2, 3]), X + np.array([1, 2, 3], np.float32))
    more = np.array([np.inf, 1, 0], np.float32)
    np.testing.assert_array_equal(ex["main"](list(X), [np.inf, True, 1e-60]), X + more)


@pytest.mark.parametrize("name", ["i8", "i64", "ui8", "ui64"])
def test_lists_of_integers(name: str) -> None:
    main = build(f"func.func @main(%x: tensor<?x{name}>) -> tensor<?x{name}> {{ func.return %x : tensor<?x{name}> }}")
    dtype = main["main"].signature.inputs[0].dtype
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for values in ([low], [high], [low, high], [1, True], [dtype.type(high)], [np.int64(1)], [1, dtype.type(high)], []):
        result = main["main"](values)
        assert result.dtype == dtype
        assert result.tolist() == values
    for wrong in (low - 1, high + 1):
        is_of_numpy = -(2**63) <= wrong < 2**64
        for values in ([wrong], [1, wrong], *([[np.array(wrong)]] if is_of_numpy else [])):
            with pytest.raises(RangeError, match=f"expected numbers of {dtype.name}: found {wrong}"):
                main["main"](values)
    for others in ([0.0, high], [None], ["1"]):
        with pytest.raises(DTypeError, match=f"expected dtype {dtype.name}, found"):
            main["main"](others)


ACCEPTED = "expected a NumPy array, a DLPack tensor, a buffer or a list"

FLOAT64 = "expected dtype float32, found float64; x.astype(np.float32) converts it"


def released(array: Any) -> memoryview:
    view: memoryview = array.data
    view.release()
    return view


WRONG_CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "none": ((), {}, ArityError, "expected 2 arguments (x, w), found none for x, w"),
    "too few": ((X,), {}, ArityError, "expected 2 arguments (x, w), found none for w"),
    "too many": ((X, W, W), {}, ArityError, "expected 2 arguments (x, w), found 3"),
    "unknown name": ((X,), {"b": W}, ArityError, "expected 2 arguments (x, w), found one named 'b'"),
    "twice": ((X, W), {"x": X}, ArityError, "expected 2 arguments (x, w), found two values for 'x'"),
    "too small": ((X[:1], W), {}, ShapeError, "argument 'x': expected shape (2, 3), found (1, 3)"),
    "transposed": ((X.T, W), {}, ShapeError, "argument 'x': expected shape (2, 3), found (3, 2)"),
    "flat": ((X.ravel(), W), {}, ShapeError, "argument 'x': expected shape (2, 3), found (6,)"),
    "rank": ((X, W[None]), {}, ShapeError, "argument 'w': expected shape (3,), found (1, 3)"),
    "empty": ((X, W[:0]), {}, ShapeError, "argument 'w': expected shape (3,), found (0,)"),
    "scalar": ((X, np.float32(1)), {}, ShapeError, "argument 'w': expected shape (3,), found ()"),
    "float64": ((X.astype(float), W), {}, DTypeError, f"argument 'x': {FLOAT64}"),
    "integers": ((X.astype(np.int32), W), {}, DTypeError, "argument 'x': expected dtype float32, found int32"),
    "float16": ((X, W.astype(np.float16)), {}, DTypeError, "argument 'w': expected dtype float32, found float16"),
    "complex": ((X.astype(np.complex64), W), {}, DTypeError, "argument 'x': expected dtype float32, found complex64"),
    "objects": ((X.astype(object), W), {}, DTypeError, "argument 'x': expected dtype float32, found object"),
    "text": ((X.astype("U4"), W), {}, DTypeError, "argument 'x': expected dtype float32, found str"),
    "records": (
        (np.zeros((2, 3), [("a", "f4")]), W),
        {},
        DTypeError,
        "argument 'x': expected dtype float32, found void32",
    ),
    "masked": (
        (np.ma.masked_array(X), W),
        {},
        DTypeError,
        "argument 'x': expected an array without a mask, found a MaskedArray",
    ),
    "Unicode": (
        (np.full((2, 3), "1", np.dtypes.StringDType()), W),
        {},
        DTypeError,
        "argument 'x': expected dtype float32, found StringDType",
    ),
    "tuple": ((tuple(X.tolist()), W), {}, DTypeError, f"argument 'x': {ACCEPTED}, found tuple"),
    "lists of other lengths": (([[1, 2, 3], [4]], W), {}, ShapeError, "argument 'x': expected rows of equal length"),
    "list of text": (([["1", "2", "3"]] * 2, W), {}, DTypeError, "argument 'x': expected dtype float32, found str"),
    "list of nothing": (([[None] * 3] * 2, W), {}, DTypeError, "argument 'x': expected dtype float32, found object"),
    "short list": (([[1, 2, 3]], W), {}, ShapeError, "argument 'x': expected shape (2, 3), found (1, 3)"),
    "large number in a list": ((X, [1, 2, 1e39]), {}, RangeError, "argument 'w': expected numbers of float32"),
    "None": ((None, W), {}, DTypeError, f"argument 'x': {ACCEPTED}, found NoneType"),
    "number": ((X, 1.0), {}, DTypeError, f"argument 'w': {ACCEPTED}, found float"),
    "class": ((X, np.float32), {}, DTypeError, f"argument 'w': {ACCEPTED}, found type"),
    "bytes": ((X.tobytes(), W), {}, DTypeError, "argument 'x': expected dtype float32, found uint8"),
    "flat buffer": ((array("f", X.ravel()), W), {}, ShapeError, "argument 'x': expected shape (2, 3), found (6,)"),
    "released buffer": ((released(X), W), {}, DTypeError, f"argument 'x': {ACCEPTED}, found memoryview"),
    "device": (
        (OnAnotherDevice(X), W),
        {},
        DTypeError,
        "argument 'x': expected a DLPack tensor that NumPy can read, found OnAnotherDevice",
    ),
    "foreign dtype": (
        (Foreign(X.astype(float)), W),
        {},
        DTypeError,
        "argument 'x': expected dtype float32, found float64",
    ),
}


@pytest.mark.parametrize("kind", WRONG_CALLS)
def test_wrong_calls_are_refused_by_name(ex: Executable, kind: str) -> None:
    args, named, error, message = WRONG_CALLS[kind]
    with pytest.raises(error) as caught:
        ex["main"](*args, **named)
    assert str(caught.value).startswith(f"main() {message}")
    assert isinstance(caught.value, RelexError)
    assert isinstance(caught.value, TypeError | ValueError)


@pytest.mark.parametrize(
    "name", ["a.b", '"a b"', '"\u00fc\u2603"', "main1", "add", "sin", "abs", "printf", "_mlir_ciface_main"]
)
def test_any_function_name(name: str) -> None:
    text = f"""
      func.func @{name}(%x: tensor<3xf32>) -> tensor<3xf32> {{
        %y = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        func.return %y : tensor<3xf32>
      }}
    """
    np.testing.assert_array_equal(build(text)[name.strip('"')](X[0]), 2 * X[0])


def test_a_function_may_call_itself_under_a_condition() -> None:
    text = """
      func.func @f(%x: tensor<2xf32>) {
        %never = arith.constant false
        scf.if %never {
          func.call @f(%x) : (tensor<2xf32>) -> ()
        }
        func.return
      }
    """
    assert build(text)["f"](X[0, :2]) is None


def test_sources(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    module = parse_module(PROGRAM)
    before = str(module)
    for source in (PROGRAM, file, str(file), module):
        np.testing.assert_array_equal(build(source)["main"](X, W), X + W)
    assert str(module) == before


def test_errors_of_passes_show_the_line() -> None:
    text = "func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {\n  %y = tensor.empty() : tensor<2xf16>\n  func.return %y : tensor<2xf16>\n}\n"  # noqa: E501
    with pytest.raises(CompileError) as caught:
        build(text)
    first, line, caret = str(caught.value).splitlines()
    assert first == (
        "<string>:2:8: error: 'tensor.empty' op cannot be lowered to buffers; expected ops of the relex dialect on "
        "tensors"
    )
    assert line == text.splitlines()[1]
    assert caret == "       ^"


def test_compilation_leaves_the_garbage_collector_as_it_was():
    seen: list[bool] = []

    def see(p: object, module: object) -> None:
        seen.append(gc.isenabled())
        if len(seen) == 1:
            # In the middle of another one.
            compile_program(parse_module(PROGRAM))
            seen.append(gc.isenabled())

    compile_program(parse_module(PROGRAM), instrument=see)
    assert not any(seen)
    assert gc.isenabled()
    with pytest.raises(CompileError):
        build("func.func @main(%x: tensor<2xf32>) -> tensor<?xf32> { func.return %x : tensor<2xf32> }")
    assert gc.isenabled()
    gc.disable()
    try:
        compile_program(parse_module(PROGRAM))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_garbage_collector_is_off_until_the_last_thread_has_compiled():
    begun, ended = Event(), Event()
    thread = Thread(target=lambda: compile_program(parse_module(PROGRAM), instrument=lambda p, module: wait()))

    def wait() -> None:
        begun.set()
        ended.wait()

    thread.start()
    begun.wait()
    compile_program(parse_module(PROGRAM))
    assert not gc.isenabled()
    ended.set()
    thread.join()
    assert gc.isenabled()


def test_compilation_frees_the_lowered_module():
    modules: list[ReferenceType[ModuleOp]] = []
    program = compile_program(parse_module(PROGRAM), instrument=lambda p, module: modules.append(ref(module)))
    assert program.signatures
    assert {module() for module in modules} == {None}
