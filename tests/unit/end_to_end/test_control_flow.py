"""Branches and loops of graph functions: interpreted and compiled, at every level."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_regions import region_program

from relex.dialects import parse_module
from relex.dialects.errors import AssertionFailedError, CompileError, IndexRangeError
from relex.reference import interpret
from relex.runtime import build, deadline, load, register_func, release_memory, remove_func

LEVELS = ("loops", "core")


REGIONS = [
    pytest.param(seed, size, marks=[] if size is None or seed % 2 == (size == 0) else pytest.mark.full)
    for size in (None, 0, 3)
    for seed in range(12)
]
"""Programs of fixed sizes, and others of sizes that are dynamic, each with one of them."""


@pytest.mark.parametrize(("seed", "size"), REGIONS)
def test_random_regions(seed: int, size: int | None):
    program = region_program(seed + (0 if size is None else 100), dynamic=size is not None)
    if size == 0 and ("relex.max " in program or "relex.softmax" in program):
        size = 1  # They need an element.
    x = np.linspace(-1, 1, 5 if size is None else size, dtype=np.float32)
    y = np.cos(x)
    exact, fast = build(program, strict=True), build(program)
    functions = [interpret(exact.ir(level))["main"] for level in LEVELS]
    for n in (0, 1, 3):
        for flag in (False, True):
            expected = interpret(program)["main"](x, y, n, flag)
            for main in (*functions, exact["main"], fast["main"]):
                for result, wanted in zip(main(x, y, n, flag), expected, strict=True):
                    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def either(program: str) -> list[Callable[..., Any]]:
    """The function @main of a program, interpreted and compiled."""
    return [interpret(program)["main"], build(program)["main"]]


EXCHANGING = """
func.func @main(%x: tensor<T>, %y: tensor<1x1xT>, %n: i64) -> (tensor<T>, tensor<1x1xT>) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:3 = scf.while (%a = %x, %b = %y, %i = %zero) : (tensor<T>, tensor<1x1xT>, i64) -> (tensor<T>, tensor<1x1xT>, i64) {
    %more = arith.cmpi slt, %i, %n : i64
    scf.condition(%more) %a, %b, %i : tensor<T>, tensor<1x1xT>, i64
  } do {
  ^bb0(%a: tensor<T>, %b: tensor<1x1xT>, %i: i64):
    %c = relex.reshape %a shape = [1, 1] : (tensor<T>) -> tensor<1x1xT>
    %d = relex.reshape %b shape = [] : (tensor<1x1xT>) -> tensor<T>
    %j = arith.addi %i, %one : i64
    scf.yield %d, %c, %j : tensor<T>, tensor<1x1xT>, i64
  }
  func.return %r#0, %r#1 : tensor<T>, tensor<1x1xT>
}
"""


TYPES = {
    "i1": "?",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "ui64": "u8",
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
}


@pytest.mark.parametrize(("element", "dtype"), TYPES.items())
def test_numbers_keep_their_bits(element: str, dtype: str):
    kind = np.dtype(dtype)
    bits = [[1], [0]] if element == "i1" else [[1, *[0] * (kind.itemsize - 3), 0xA0, 0x7F], [*range(kind.itemsize)]]
    x, y = (np.array(of_one[-kind.itemsize :], np.uint8).view(dtype) for of_one in bits)  # A float: a signaling NaN.
    for main in either(EXCHANGING.replace("T>", f"{element}>").replace("1xT", f"1x{element}")):
        for n, expected in ((0, (x, y)), (3, (y, x))):
            found = main(x.reshape(()), y.reshape(1, 1), n)
            assert [result.tobytes() for result in found] == [array.tobytes() for array in expected]


COUNTED = """
func.func @main(%x: tensor<?xf32>, %n: index, %step: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %y = scf.for %i = %c0 to %n step %step iter_args(%s = %x) -> (tensor<?xf32>) {
    %0 = relex.add %s, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %0 : tensor<?xf32>
  }
  func.return %y : tensor<?xf32>
}
"""


def test_trip_counts():
    x = np.arange(3, dtype=np.float32)
    for main in either(COUNTED):
        for n, step, trips in ((0, 1, 0), (-5, 1, 0), (1, 1, 1), (1000, 1, 1000), (7, 3, 3)):
            np.testing.assert_array_equal(main(x, n, step), x * (trips + 1))
        assert main(x[:0], 5, 1).shape == (0,)
    np.testing.assert_array_equal(build(COUNTED)["main"](x, 10**6, 1)[:2], [0, 1000001])


def test_loop_that_llvm_removes():
    program = COUNTED.replace("%y = ", "%none = arith.subi %n, %n : index\n  %y = ").replace(
        "to %n step", "to %none step"
    )
    np.testing.assert_array_equal(build(program)["main"](np.ones(2, np.float32), 4, 1), [1, 1])


@pytest.mark.parametrize("step", [0, -1])
def test_step_below_one(step: int):
    for main in either(COUNTED):
        with pytest.raises(Exception, match="expected a step of 1 or more"):
            main(np.ones(2, np.float32), 3, step)


def test_saved_program_has_loops(tmp_path: Path):
    build(COUNTED).save(tmp_path / "counted.relex")
    main = load(tmp_path / "counted.relex")["main"]
    np.testing.assert_array_equal(main(np.ones(2, np.float32), 4, 1), [5, 5])


def test_index_out_of_range():
    program = """
    func.func @main(%x: tensor<4xf32>, %i: index) -> f32 {
      %e = tensor.extract %x[%i] : tensor<4xf32>
      func.return %e : f32
    }
    """
    for main in either(program):
        assert main(np.arange(4, dtype=np.float32), 3) == 3
        for i in (4, -1):
            with pytest.raises(IndexRangeError, match=f"from 0 to 3.*{i}"):
                main(np.arange(4, dtype=np.float32), i)


def test_tensor_of_numbers():
    program = """
    func.func @main(%i: i64, %j: i64) -> (tensor<i64>, tensor<2x1xi64>) {
      %0 = tensor.from_elements %i : tensor<i64>
      %1 = tensor.from_elements %i, %j : tensor<2x1xi64>
      func.return %0, %1 : tensor<i64>, tensor<2x1xi64>
    }
    """
    for main in either(program):
        one, two = main(3, 4)
        np.testing.assert_array_equal(one, 3)
        np.testing.assert_array_equal(two, [[3], [4]])


ENDLESS = """
func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %true = arith.constant true
  %y = scf.while (%v = %x) : (tensor<{size}xf32>) -> tensor<{size}xf32> {{
    scf.condition(%true) %v : tensor<{size}xf32>
  }} do {{
  ^bb0(%v: tensor<{size}xf32>):
    %0 = {op} : (tensor<{size}xf32>) -> tensor<{size}xf32>
    scf.yield %0 : tensor<{size}xf32>
  }}
  func.return %y : tensor<{size}xf32>
}}
"""


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt`, also where the shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(after: float) -> None:
    """Press Ctrl-C some seconds from now."""
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("size", [8, 100_000])
def test_interrupt_ends_loop(size: int):
    main = build(ENDLESS.format(size=size, op="relex.negative %v"))["main"]
    x = np.ones(size, np.float32)
    for _ in range(2):
        interrupt(0.1)
        with pytest.raises(KeyboardInterrupt):
            main(x)
    release_memory()
    assert release_memory() == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("thread", ["main", "other"])
def test_deadline_ends_loop(thread: str):
    main = build(ENDLESS.format(size=8, op="relex.negative %v"))["main"]
    errors: list[BaseException] = []

    def call():
        for _ in range(2):
            try:
                with deadline(60), deadline(0.1), deadline(60):
                    main(np.ones(8, np.float32))
            except TimeoutError as e:
                errors.append(e)

    if thread == "main":
        call()
    else:
        other = threading.Thread(target=call)
        other.start()
        other.join()
    assert list(map(str, errors)) == ["the deadline of the call has passed"] * 2
    release_memory()
    assert release_memory() == 0


def test_deadline_is_of_one_thread():
    """A loop of another thread goes on, and so do later calls of the same one."""
    main = build(COUNTED)["main"]
    x = np.ones(8, np.float32)
    results: list[Any] = []
    other = threading.Thread(target=lambda: results.append(main(x, 3_000_000, 1)))
    other.start()
    with pytest.raises(TimeoutError), deadline(0):
        main(x, 10**12, 1)
    results.append(main(x, 3_000_000, 1))
    other.join()
    np.testing.assert_array_equal(*results)
    with deadline(60):
        main(x, 3, 1)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_deadline_is_a_time(seconds: float):
    with pytest.raises(ValueError, match="expected 0 or more seconds"), deadline(seconds):
        pass


def test_other_handlers_decide():
    pressed: list[int] = []

    def handle(number: int, frame: object) -> None:
        pressed.append(number)
        if len(pressed) == 2:
            raise TimeoutError("twice")

    main = build(ENDLESS.format(size=8, op="relex.negative %v"))["main"]
    before = signal.signal(signal.SIGINT, handle)
    try:
        interrupt(0.1)
        interrupt(0.3)
        with pytest.raises(TimeoutError, match="twice"):
            main(np.ones(8, np.float32))
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [signal.SIGINT, signal.SIGINT]


def test_handler_that_a_library_function_sets_stays():
    def ignore(x: Any, out: Any) -> None:
        out[...] = x
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    call = 'relex.call_dps_packed "env.control_flow"(%s) : ('
    program = COUNTED.replace("relex.add %s, %x : (tensor<?xf32>, ", call).replace("?", "8")
    register_func("env.control_flow", ignore)
    try:
        main = build(program)["main"]
    finally:
        remove_func("env.control_flow")
    main(np.ones(8, np.float32), 2, 1)
    # Where Python's handler had come back to ignore it, this would raise an error.
    signal.raise_signal(signal.SIGINT)


def ignore(number: int, frame: object) -> None:
    """Handle a signal."""


HANDLERS: list[Any] = [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler, ignore]


@pytest.mark.parametrize("handler", HANDLERS)
def test_calls_leave_the_handler_of_the_system(handler: Any):
    """Whatever Python has told the system to do with Ctrl-C, it does so after a call."""
    main, of_system = build(COUNTED)["main"], ctypes.pythonapi.PyOS_getsig
    of_system.restype = ctypes.c_void_p
    signal.signal(signal.SIGINT, handler)
    before = of_system(signal.SIGINT)
    for _ in range(2):
        main(np.ones(8, np.float32), 3, 1)
        assert of_system(signal.SIGINT) == before
    if handler is signal.SIG_IGN:
        signal.raise_signal(signal.SIGINT)


def test_exception_of_library_function_ends_loop():
    calls: list[int] = []

    def fail(x: Any, out: Any) -> None:
        calls.append(1)
        out[...] = x
        if len(calls) % 3 == 0:
            raise LookupError("the third")

    register_func("env.control_flow", fail)
    try:
        main = build(ENDLESS.format(size=50_000, op='relex.call_dps_packed "env.control_flow"(%v)'))["main"]
    finally:
        remove_func("env.control_flow")
    x, found = np.ones(50_000, np.float32), list[BaseException]()

    def run() -> None:
        try:
            main(x)
        except LookupError as error:
            found.append(error)

    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [str(error) for error in found] == ["the third", "the third"]
    assert len(calls) == 6
    release_memory()
    assert release_memory() == 0


def test_failing_assertion_in_loop_frees():
    program = """
    func.func @main(%x: tensor<50000xf32>, %limit: tensor<f32>) -> tensor<50000xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %y = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %x) -> (tensor<50000xf32>) {
        %0 = relex.maximum %s, %x : (tensor<50000xf32>, tensor<50000xf32>) -> tensor<50000xf32>
        %1 = relex.add %0, %x : (tensor<50000xf32>, tensor<50000xf32>) -> tensor<50000xf32>
        %2 = relex.max %1 : (tensor<50000xf32>) -> tensor<f32>
        %3 = relex.less %2, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
        relex.assert %3, "expected small numbers" : tensor<i1>
        scf.yield %1 : tensor<50000xf32>
      }
      func.return %y : tensor<50000xf32>
    }
    """
    main, x = build(program)["main"], np.ones(50_000, np.float32)
    np.testing.assert_array_equal(main(x, np.float32(20).reshape(())), x * 10)
    with pytest.raises(AssertionFailedError, match="expected small numbers"):
        main(x, np.float32(5).reshape(()))
    release_memory()
    assert release_memory() == 0


def test_recursion():
    program = """
    func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %more = arith.cmpi sgt, %n, %c0 : index
      %y = scf.if %more -> (tensor<4xf32>) {
        %c1 = arith.constant 1 : index
        %m = arith.subi %n, %c1 : index
        %0 = relex.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %1 = func.call @main(%0, %m) : (tensor<4xf32>, index) -> tensor<4xf32>
        scf.yield %1 : tensor<4xf32>
      } else {
        scf.yield %x : tensor<4xf32>
      }
      func.return %y : tensor<4xf32>
    }
    """
    for main in either(program):
        np.testing.assert_array_equal(main(np.ones(4, np.float32), 5), np.full(4, 32))


def test_regions_in_dataflow():
    program = """
    func.func @main(%p: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
      %y = relex.dataflow -> tensor<4xf32> {
        %0 = scf.if %p -> (tensor<4xf32>) {
          %1 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
          scf.yield %1 : tensor<4xf32>
        } else {
          scf.yield %x : tensor<4xf32>
        }
        relex.output %0 : tensor<4xf32>
      }
      func.return %y : tensor<4xf32>
    }
    """
    for main in either(program):
        np.testing.assert_array_equal(main(True, np.ones(4, np.float32)), [-1] * 4)
    impure = program.replace("relex.negative %x", 'relex.call_dps_packed "env.log"(%x) {side_effects}')
    with pytest.raises(CompileError, match=r"'relex.call_dps_packed' op expected to be pure inside 'relex.dataflow'"):
        parse_module(impure)


def test_loop_copies_nothing_but_its_first_value():
    main, x = build(COUNTED)["main"], np.ones(1_000_000, np.float32)
    main(x, 1, 1)
    tracemalloc.start()
    main(x, 100, 1)
    assert tracemalloc.get_traced_memory()[1] < 3 * x.nbytes
    tracemalloc.stop()


INSERTING = """
func.func @main(%x: tensor<?x3x4xf32>, %n: index) -> tensor<?x3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = relex.constant dense<1.0> : tensor<3x4xf32>
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<?x3x4xf32>) {
    %0 = tensor.insert_slice %row into %s[%i, 0, 0][1, 3, 4][1, 1, 1] : tensor<3x4xf32> into tensor<?x3x4xf32>
    scf.yield %0 : tensor<?x3x4xf32>
  }
  func.return %y : tensor<?x3x4xf32>
}
"""


def test_part_is_written_in_place():
    x = np.zeros((5, 3, 4), np.float32)
    for main in either(INSERTING):
        np.testing.assert_array_equal(main(x, 2)[:, 0, 0], [1, 1, 0, 0, 0])
        with pytest.raises(AssertionFailedError, match="expected a part that fits"):
            main(x, 6)
    core = str(build(INSERTING).ir("core"))
    before, _, loop = core.partition("scf.for")
    assert before.count("memref.copy") == 1
    assert loop.partition("memref.copy")[0].count("memref.subview") == 1


def test_part_that_no_trip_writes_is_not_checked():
    program = INSERTING.replace("%n: index", "%n: index, %at: index").replace("into %s[%i, 0, 0]", "into %x[%at, 0, 0]")
    x = np.zeros((2, 3, 4), np.float32)
    for main in either(program):
        np.testing.assert_array_equal(main(x, 0, 9), x)
        np.testing.assert_array_equal(main(x, 2, 1)[:, 0, 0], [0, 1])
        with pytest.raises(AssertionFailedError, match="expected a part that fits"):
            main(x, 1, 9)


def test_part_of_a_tensor_that_is_read_later():
    program = """
    func.func @main(%x: tensor<4x?xf32>, %v: tensor<2x?xf32>, %i: index) -> (tensor<4x?xf32>, tensor<4x?xf32>) {
      %c1 = arith.constant 1 : index
      %n = tensor.dim %x, %c1 : tensor<4x?xf32>
      %y = tensor.insert_slice %v into %x[%i, 0][2, %n][1, 1] : tensor<2x?xf32> into tensor<4x?xf32>
      %z = relex.add %x, %y : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x?xf32>
      func.return %y, %z : tensor<4x?xf32>, tensor<4x?xf32>
    }
    """
    x, v = np.arange(12, dtype=np.float32).reshape(4, 3), np.full((2, 3), 7, np.float32)
    for main in either(program):
        y, z = main(x, v, 1)
        np.testing.assert_array_equal(y, [x[0], v[0], v[1], x[3]])
        np.testing.assert_array_equal(z, x + y)
