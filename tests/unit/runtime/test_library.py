"""Library functions: what programs at any level call by name."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import LEVELS, Array, interpreted

from relex.dialects import CompileError
from relex.dialects.errors import ExecutionError, RelexError, UnknownNameError
from relex.runtime import CFunction, build, c_function, get_func, register_func, remove_func
from relex.runtime.library import LIBRARY

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """A test sees what it registers itself."""
    others = dict(LIBRARY)
    LIBRARY.clear()
    yield
    LIBRARY.clear()
    LIBRARY.update(others)


@pytest.fixture(params=[*LEVELS, "native"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs @main of a program, at each level."""

    def on_arguments(text: str, *arguments: Any) -> Any:
        if request.param == "native":
            return build(text)["main"](*arguments)
        return interpreted(text, request.param, checked=True)["main"](*arguments)

    return on_arguments


def program(body: str, results: str = "tensor<2x3xf32>", arguments: str = "%x: tensor<2x3xf32>") -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


RELU = program(
    """
  %0 = relex.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.call_dps_packed "env.relu"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relex.add %1, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
"""
)
X = np.array([[1, -2, np.nan], [-0.0, np.inf, -6]], np.float32)


def relu(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def provide(name: str, function: Callable[[Any, Any], Any]) -> None:
    """Put a function of an argument and a result in the place of the one that there is."""
    register_func(name, function, override=True)


# Calls


def test_among_operators(run: Run):
    register_func("env.relu", relu)
    np.testing.assert_array_equal(run(RELU, X), np.maximum(X + X, 0) + X)


def test_a_function_of_nothing(run: Run):
    def fill(out: Array) -> None:
        out[:] = 7

    register_func("env.sevens", fill)
    text = program(
        """
  %0 = relex.call_dps_packed "env.sevens"() : () -> tensor<2x3xf32>
  %1 = relex.subtract %0, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
"""
    )
    np.testing.assert_array_equal(run(text, X), 7 - X)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("shape", [(), (1,), (17,), (0, 3), (3, 1, 5)])
def test_every_dtype_and_rank(dtype: str, shape: tuple[int, ...]):
    seen: list[Any] = []

    @register_func("env.copy")
    def copy(x: Array, out: Array) -> None:
        seen.append((x.shape, out.shape, x.dtype, out.dtype))
        out[...] = x

    del copy
    tensor = f"tensor<{''.join(f'{size}x' for size in shape)}{dtype}>"
    text = program(
        f'%y = relex.call_dps_packed "env.copy"(%x) : ({tensor}) -> {tensor}\nfunc.return %y : {tensor}',
        tensor,
        f"%x: {tensor}",
    )
    kind = {"i1": "bool"}.get(dtype, dtype.replace("f", "float").replace("i", "int"))
    x = np.random.default_rng(0).integers(0, 2, shape).astype(kind)
    found = build(text)["main"](x)
    np.testing.assert_array_equal(found, x)
    assert seen == [(shape, shape, x.dtype, x.dtype)]


def test_sizes_that_are_known_at_run_time(run: Run):
    register_func("env.relu", relu)

    @register_func("env.first")
    def first(x: Array, column: Array, rows: Array) -> None:
        column[...], rows[...] = x[:, 0], len(x)

    del first
    text = program(
        """
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %0 = relex.call_dps_packed "env.relu"(%x) sizes(%n) : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %1, %2 = relex.call_dps_packed "env.first"(%0) sizes(%n) : (tensor<?x3xf32>) -> (tensor<?xf32>, tensor<i64>)
  func.return %0, %1, %2 : tensor<?x3xf32>, tensor<?xf32>, tensor<i64>
""",
        'tensor<?x3xf32> {relex.dims = ["n", ""]}, tensor<?xf32> {relex.dims = ["n"]}, tensor<i64>',
        '%x: tensor<?x3xf32> {relex.dims = ["n", ""]}',
    )
    for rows in (0, 1, 17):
        x = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
        y, column, count = run(text, x)
        np.testing.assert_array_equal(y, np.maximum(x, 0))
        np.testing.assert_array_equal(column, y[:, 0])
        assert count == rows


def test_effects_keep_their_order(run: Run):
    order: list[str] = []

    def note(name: str, x: Array) -> None:
        order.append(f"{name}{x[0, 0]:.0f}")

    for name in "abc":
        register_func(name, partial(note, name))
    register_func("env.relu", relu)
    text = program(
        """
  relex.call_dps_packed "a"(%x) {side_effects} : (tensor<2x3xf32>) -> ()
  %0 = relex.call_dps_packed "env.relu"(%x) {side_effects} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.add %0, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  relex.call_dps_packed "b"(%1) {side_effects} : (tensor<2x3xf32>) -> ()
  relex.call_dps_packed "c"(%0) {side_effects} : (tensor<2x3xf32>) -> ()
  relex.call_dps_packed "a"(%1) {side_effects} : (tensor<2x3xf32>) -> ()
  func.return %1 : tensor<2x3xf32>
"""
    )
    run(text, X)
    assert order == ["a1", "b2", "c1", "a2"]


def test_effects_keep_their_order_across_regions(run: Run):
    order: list[str] = []

    def note(name: str, x: Array) -> None:
        order.append(f"{name}{x[0, 0]:.0f}")

    for name in "abcde":
        register_func(name, partial(note, name))
    text = program(
        """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  relex.call_dps_packed "a"(%x) {side_effects} : (tensor<2x3xf32>) -> ()
  %2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %x) -> (tensor<2x3xf32>) {
    relex.call_dps_packed "b"(%y) {side_effects} : (tensor<2x3xf32>) -> ()
    %last = arith.cmpi eq, %i, %c1 : index
    %z = scf.if %last -> (tensor<2x3xf32>) {
      relex.call_dps_packed "c"(%x) {side_effects} : (tensor<2x3xf32>) -> ()
      %0 = relex.add %y, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      scf.yield %0 : tensor<2x3xf32>
    } else {
      %1 = relex.add %y, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      relex.call_dps_packed "d"(%1) {side_effects} : (tensor<2x3xf32>) -> ()
      scf.yield %1 : tensor<2x3xf32>
    }
    scf.yield %z : tensor<2x3xf32>
  }
  relex.call_dps_packed "e"(%x) {side_effects} : (tensor<2x3xf32>) -> ()
  func.return %2 : tensor<2x3xf32>
"""
    )
    run(text, np.ones((2, 3), np.float32))
    assert order == ["a1", "b1", "d2", "b2", "c1", "b4", "d5", "e1"]


# Arrays


def test_arguments_are_read_only_views(run: Run):
    memory: list[int] = []

    def look(x: Array, out: Array) -> None:
        assert not x.flags.writeable
        assert out.flags.writeable
        assert x.flags.c_contiguous
        assert out.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
        assert type(x + 1) is np.ndarray
        assert type(x.sum()) is np.float32
        memory.append(x.__array_interface__["data"][0])
        out[...] = 1

    register_func("env.look", look)
    text = program(
        '%y = relex.call_dps_packed "env.look"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
        "func.return %y : tensor<2x3xf32>"
    )
    run(text, X)
    assert memory == [X.__array_interface__["data"][0]]


class Consumer:
    """Asks for arrays as libraries do that know no read-only ones."""

    def __init__(self, array: Any):
        self._array = array

    def __dlpack__(self, **_: Any) -> Any:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def test_dlpack_shares_the_memory(run: Run):
    def through_dlpack(x: Array, out: Array) -> None:
        shared, filled = np.from_dlpack(Consumer(x)), np.from_dlpack(Consumer(out))
        assert np.shares_memory(shared, x)
        assert np.shares_memory(filled, out)
        np.maximum(shared, 0, out=out)
        np.testing.assert_array_equal(np.from_dlpack(Consumer(x.T[1:])), x.T[1:])

    register_func("env.relu", through_dlpack)
    np.testing.assert_array_equal(run(RELU, X), np.maximum(X + X, 0) + X)


def test_pytorch():
    torch = pytest.importorskip("torch")

    def through_torch(x: Array, out: Array) -> None:
        torch.maximum(torch.from_dlpack(x), torch.tensor(0.0), out=torch.from_dlpack(out))

    register_func("env.relu", through_torch)
    np.testing.assert_array_equal(build(RELU)["main"](X), np.maximum(X + X, 0) + X)


# Exceptions

TWO_CALLS = program(
    """
  %0 = relex.call_dps_packed "env.first"(%x) : (tensor<2x3xf32>) -> tensor<6xi64>
  %1 = relex.take %x, %0 axis = 0 : (tensor<2x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  %2 = relex.call_dps_packed "env.second"(%1) : (tensor<6x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
"""
)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_an_exception_reaches_the_caller_unchanged(error: BaseException):
    calls: list[str] = []
    raises = True

    def first(x: Array, out: Array) -> None:
        calls.append("first")
        out[...] = 1 if not raises else 2**40
        if raises:
            raise error

    register_func("env.first", first)
    provide("env.second", lambda x, out: calls.append("second") or out.fill(x[0, 1]))
    main = build(TWO_CALLS)["main"]
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            main(X)
        assert caught.value is error
        assert "first" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    raises = False
    np.testing.assert_array_equal(main(X), np.full((2, 3), X[1, 1]))
    assert calls == ["first", "first", "first", "second"]


def test_an_exception_goes_with_its_last_user():
    """No cycle keeps it, and the arrays in the frames that it names, until garbage is collected."""

    class Own(Exception):
        pass

    @register_func("env.relu")
    def fails(x: Array, out: Array) -> None:
        raise Own

    main = build(RELU)["main"]
    gc.disable()
    try:
        kept: list[weakref.ref[Own]] = []
        try:
            main(FINITE)
        except Own as error:
            kept.append(weakref.ref(error))
        assert [ref() for ref in kept] == [None]
    finally:
        gc.enable()


def test_variables_of_frames_with_an_exception_are_forgotten():
    @register_func("env.relu")
    def fails(x: Array, out: Array) -> None:
        raise ValueError("no")

    del fails
    with pytest.raises(ValueError, match="no") as caught:
        build(RELU)["main"](X)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert frames[-1].f_code.co_name == "fails"
    assert not frames[-1].f_locals


def test_nothing_is_left_behind():
    def function(x: Array, out: Array) -> None:
        relu(x, out)

    register_func("env.relu", function)
    gone = weakref.ref(function)
    main = build(RELU)["main"]
    remove_func("env.relu")
    del function
    np.testing.assert_array_equal(main(X), np.maximum(X + X, 0) + X)
    del main
    gc.collect()
    assert gone() is None


# Results that are not written


@pytest.mark.parametrize("level", LEVELS)
def test_checked_runs_find_results_that_are_not_written(level: Any):
    found = interpreted(RELU, level, checked=True)["main"]
    provide("env.relu", lambda x, out: None)
    with pytest.raises(ExecutionError, match=r'expected "env.relu" to fill its results, found element \[0, 0\] of res'):
        found(X)
    provide("env.relu", lambda x, out: out[:, :2].fill(np.nan))
    with pytest.raises(ExecutionError, match=r"found element \[0, 2\] of result 0 not written"):
        found(X)
    provide("env.relu", lambda x, out: out.fill(np.nan))
    assert np.isnan(found(X)).all()


@pytest.mark.parametrize(("dtype", "size", "values", "found"), [
    ("i1", 1, [], True), ("i1", 3, [1, 0], True), ("i1", 2, [1, 0], False),
    ("i8", 8, [], True), ("i8", 8, [1], False), ("i8", 1, [], False), ("i64", 2, [0], True), ("f16", 3, [], True),
])  # fmt: skip
def test_what_counts_as_not_written(dtype: str, size: int, values: list[int], found: bool):
    tensor = f"tensor<{size}x{dtype}>"
    text = program(f'%y = relex.call_dps_packed "env.f"() : () -> {tensor}\nfunc.return %y : {tensor}', tensor, "")

    def fill(out: Array) -> None:
        out[: len(values)] = values

    register_func("env.f", fill)
    main = interpreted(text, "graph", checked=True)["main"]
    if found:
        with pytest.raises(ExecutionError, match="not written"):
            main()
    else:
        assert main()[: len(values)].tolist() == values


# Names


def test_register_func():
    assert register_func("env.relu", relu) is relu
    assert register_func("env.relu", relu) is relu
    assert get_func("env.relu") is relu
    with pytest.raises(RelexError, match=r"library function 'env.relu' is registered already; override=True replaces"):
        register_func("env.relu", print)

    @register_func("env.relu", override=True)
    def other(x: Array, out: Array) -> None:
        out[...] = x

    assert get_func("env.relu") is other
    remove_func("env.relu")
    for forgotten in (get_func, remove_func):
        with pytest.raises(UnknownNameError, match=r'found "env.relu"; there are none'):
            forgotten("env.relu")


def test_all_names_that_are_not_registered_are_errors():
    register_func("env.b", relu)
    calls = "".join(
        f'  %{i} = relex.call_dps_packed "env.{name}"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n'
        for i, name in enumerate("abca")
    )
    text = program(f"{calls}  func.return %0, %1, %2, %3 : {', '.join(['tensor<2x3xf32>'] * 4)}",
                   ", ".join(["tensor<2x3xf32>"] * 4))  # fmt: skip
    with pytest.raises(CompileError) as caught:
        build(text)
    assert [(d.line, d.column, d.message) for d in caught.value.diagnostics] == [
        (2, 8, 'expected a registered library function, found "env.a"; there are env.b'),
        (4, 8, 'expected a registered library function, found "env.c"; there are env.b'),
    ]


def test_elements_that_numpy_does_not_have(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    register_func("env.f", relu)
    call = 'relex.call_dps_packed "env.f"(%x) {side_effects} : (tensor<2x3xf32>) -> tensor<2xbf16>'
    with pytest.raises(CompileError, match=r'library function "env.f" in Python: element type bf16 has no NumPy'):
        build(program(f"%y = {call}\nfunc.return %x : tensor<2x3xf32>"))


@pytest.mark.parametrize(("attributes", "message"), [
    ('relex.library = "f"', "expected 'relex.outputs' to be a number of 0 to 1, found None"),
    ('relex.library = "f", relex.outputs = 2 : i64', "expected 'relex.outputs' to be a number of 0 to 1, found 2"),
    ("relex.library = 1 : i64, relex.outputs = 1 : i64", "expected 'relex.library' to name a library function"),
])  # fmt: skip
def test_declarations_that_are_wrong(attributes: str, message: str):
    text = f"func.func private @f(memref<2xf32>) -> () attributes {{{attributes}}}"
    with pytest.raises(CompileError, match=message):
        build(text)


# Functions of C

SOURCE = """
#include <stdint.h>
struct matrix { float *base, *data; int64_t offset, sizes[2], strides[2]; };
void relu(struct matrix *x, struct matrix *out) {
  for (int64_t i = 0; i < x->sizes[0]; ++i)
    for (int64_t j = 0; j < x->sizes[1]; ++j) {
      float value = x->data[x->offset + i * x->strides[0] + j * x->strides[1]];
      out->data[out->offset + i * out->strides[0] + j * out->strides[1]] = value > 0 ? value : 0;
    }
}
"""
FINITE = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


@pytest.fixture(scope="module")
def shared_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("library")
    (folder / "relu.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "librelu.so", folder / "relu.c"], check=True)
    return folder / "librelu.so"


def test_a_function_of_a_shared_library(run: Run, shared_library: Path):
    register_func("env.relu", c_function(shared_library, "relu"))
    np.testing.assert_array_equal(run(RELU, FINITE), np.maximum(FINITE + FINITE, 0) + FINITE)


def test_a_function_at_an_address(run: Run, shared_library: Path):
    library = ctypes.CDLL(str(shared_library))
    address = ctypes.cast(library.relu, ctypes.c_void_p).value
    assert address is not None
    register_func("env.relu", CFunction(address, library))
    np.testing.assert_array_equal(run(RELU, FINITE), np.maximum(FINITE + FINITE, 0) + FINITE)


def test_functions_that_a_shared_library_does_not_have(shared_library: Path, tmp_path: Path):
    with pytest.raises(UnknownNameError, match=r"cannot load 'gelu' of '.*librelu.so'"):
        c_function(shared_library, "gelu")
    with pytest.raises(UnknownNameError, match=r"cannot load 'relu' of '.*missing.so'"):
        c_function(tmp_path / "missing.so", "relu")
