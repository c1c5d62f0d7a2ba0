"""Arguments whose place a result takes: calls change them, and touch nothing of them but what changes."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Array

from relex.dialects import CompileError, parse_module
from relex.dialects.errors import DTypeError, OverlapError, PassError, ShapeError
from relex.frontend import BlockBuilder, Var, op
from relex.passes import BindParamsPass
from relex.reference import interpret
from relex.runtime import build, load

PAGE = mmap.PAGESIZE
ROWS = 16

STEP = """
func.func @step(%x: tensor<1x4xf32>, %at: tensor<1x1xi64>, %cache: tensor<8x4xf32> {relex.inout = 1 : i64})
    -> (tensor<4xf32>, tensor<8x4xf32>) {
  %new = relex.scatter_nd %cache, %at, %x : (tensor<8x4xf32>, tensor<1x1xi64>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %sum = relex.sum %new axis = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  func.return %sum, %new : tensor<4xf32>, tensor<8x4xf32>
}
"""


def rows() -> tuple[Array, Array, Array]:
    return np.ones((1, 4), np.float32), np.array([[2]]), np.zeros((8, 4), np.float32)


def saved(folder: Path) -> Mapping[str, Any]:
    build(STEP).save(folder / "step.relex")
    return load(folder / "step.relex")


WAYS: dict[str, Callable[[Path], Mapping[str, Any]]] = {
    "compiled": lambda _: build(STEP),
    "saved": saved,
    "interpreted": lambda _: interpret(STEP),
    "interpreted-core": lambda _: interpret(build(STEP).ir("core")),
    "compiled-core": lambda _: build(build(STEP).ir("core")),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_array_of_the_caller_changes(way: str, tmp_path: Path) -> None:
    step, cache = WAYS[way](tmp_path)["step"], np.zeros((8, 4), np.float32)
    assert str(step.signature) == "step(x: 1x4 of f32, at: 1x1 of i64, inout cache: 8x4 of f32) -> (result: 4 of f32)"
    totals = [step(np.full((1, 4), row + 1, np.float32), np.array([[row]]), cache)[0] for row in range(3)]
    assert totals == [1, 3, 6]
    assert cache[:, 0].tolist() == [1, 2, 3, 0, 0, 0, 0, 0]


class Tensor:
    """A tensor of another library, by DLPack of version 1, or of the one before, which cannot say `read_only`."""

    def __init__(self, array: Array, *, versioned: bool = True):
        self.array = array
        self.versioned = versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> object:
        if not self.versioned:
            options.pop("max_version", None)
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("make", [Tensor, partial(Tensor, versioned=False), memoryview, bytearray])
def test_memory_of_other_libraries_changes(make: Callable[[Array], Any]) -> None:
    program = """
    func.func @main(%x: tensor<4xui8> {relex.inout = 0 : i64}) -> tensor<4xui8> {
      %0 = relex.add %x, %x : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
      func.return %0 : tensor<4xui8>
    }
    """
    value = make(np.arange(4, dtype=np.uint8))
    assert build(program)["main"](value) is None
    assert np.asarray(value.array if isinstance(value, Tensor) else value).tolist() == [0, 2, 4, 6]


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


EXPECTED = r"^step\(\) argument 'cache': expected an aligned, row-major array that can be written, as a call changes it"


@pytest.mark.parametrize(
    ("cache", "message"),
    [
        (read_only(np.zeros((8, 4), np.float32)), ", found one that is read-only$"),
        (Tensor(read_only(np.zeros((8, 4), np.float32))), ", found one that is read-only$"),
        (memoryview(bytes(128)).cast("f", (8, 4)), ", found one that is read-only$"),
        (np.zeros((8, 8), np.float32)[:, ::2], r", found one with strides \(32, 8\)$"),
        (np.zeros((4, 8), np.float32).T, r", found one with strides \(4, 32\)$"),
        (np.zeros((8, 4), ">f4"), ", found one of >f4$"),
        (np.zeros(129, np.int8)[1:].view(np.float32).reshape(8, 4), r", found one with strides \(16, 4\)$"),
    ],
)
@pytest.mark.parametrize("of", [build, interpret])
def test_what_cannot_be_written_is_refused(of: Callable[[str], Any], cache: Any, message: str) -> None:
    x, at, _ = rows()
    with pytest.raises(DTypeError, match=EXPECTED + message):
        of(STEP)["step"](x, at, cache)


@pytest.mark.parametrize("of", [build, interpret])
def test_other_types_are_refused_as_for_all_arguments(of: Callable[[str], Any]) -> None:
    step, (x, at, _) = of(STEP)["step"], rows()
    with pytest.raises(ShapeError, match="argument 'cache': expected shape"):
        step(x, at, np.zeros((4, 8), np.float32))
    with pytest.raises(DTypeError, match="argument 'cache': expected dtype float32, found float64"):
        step(x, at, np.zeros((8, 4)))


@pytest.mark.parametrize("of", [build, interpret])
def test_memory_of_other_arguments_is_refused(of: Callable[[str], Any]) -> None:
    step, (_, at, cache) = of(STEP)["step"], rows()
    with pytest.raises(OverlapError, match=r"a call changes it, so it must not share memory with 'x'$"):
        step(cache[3:4], at, cache)
    with pytest.raises(OverlapError):
        step(rows()[0], at, cache, out=cache[0])
    assert not cache.any()


UPDATES = {
    "rows": """
  %at = tensor.from_elements %i : tensor<1x1xi64>
  %y = relex.scatter_nd %cache, %at, %x : (tensor<16x1024xf32>, tensor<1x1xi64>, tensor<1x1024xf32>)
    -> tensor<16x1024xf32>""",
    "sums of rows": """
  %at = tensor.from_elements %i : tensor<1x1xi64>
  %y = relex.scatter_nd %cache, %at, %x reduction = "add"
    : (tensor<16x1024xf32>, tensor<1x1xi64>, tensor<1x1024xf32>) -> tensor<16x1024xf32>""",
    "elements": """
  %one = tensor.from_elements %i : tensor<1x1xi64>
  %at = relex.broadcast_to %one shape = [1, 1024] : (tensor<1x1xi64>) -> tensor<1x1024xi64>
  %y = relex.scatter_elements %cache, %at, %x axis = 0
    : (tensor<16x1024xf32>, tensor<1x1024xi64>, tensor<1x1024xf32>) -> tensor<16x1024xf32>""",
    "a slice": """
  %at = arith.index_cast %i : i64 to index
  %y = tensor.insert_slice %x into %cache[%at, 0][1, 1024][1, 1]
    : tensor<1x1024xf32> into tensor<16x1024xf32>""",
    "two slices": """
  %at = arith.index_cast %i : i64 to index
  %half = tensor.insert_slice %x into %cache[%at, 0][1, 1024][1, 1]
    : tensor<1x1024xf32> into tensor<16x1024xf32>
  %y = tensor.insert_slice %x into %half[%at, 0][1, 1024][1, 1]
    : tensor<1x1024xf32> into tensor<16x1024xf32>""",
    "slices in a loop": """
  %at = arith.index_cast %i : i64 to index
  %one = arith.constant 1 : index
  %end = arith.addi %at, %one : index
  %y = scf.for %k = %at to %end step %one iter_args(%c = %cache) -> (tensor<16x1024xf32>) {
    %d = tensor.insert_slice %x into %c[%k, 0][1, 1024][1, 1] : tensor<1x1024xf32> into tensor<16x1024xf32>
    scf.yield %d : tensor<16x1024xf32>
  }""",
    "rows in a loop": """
  %at = arith.index_cast %i : i64 to index
  %one = arith.constant 1 : index
  %end = arith.addi %at, %one : index
  %y = scf.for %k = %at to %end step %one iter_args(%c = %cache) -> (tensor<16x1024xf32>) {
    %j = arith.index_cast %k : index to i64
    %row = tensor.from_elements %j : tensor<1x1xi64>
    %d = relex.scatter_nd %c, %row, %x : (tensor<16x1024xf32>, tensor<1x1xi64>, tensor<1x1024xf32>)
      -> tensor<16x1024xf32>
    scf.yield %d : tensor<16x1024xf32>
  }""",
    "a row, by a loop function": """
  %place = tensor.from_elements %i : tensor<1xi64>
  %y = relex.call_tir @row(%x, %place, %cache) : (tensor<1x1024xf32>, tensor<1xi64>, tensor<16x1024xf32>)
    -> tensor<16x1024xf32>""",
    "a row, by a call": """
  %y = func.call @put(%x, %i, %cache) : (tensor<1x1024xf32>, i64, tensor<16x1024xf32>) -> tensor<16x1024xf32>""",
}

UPDATE = """
func.func private @put(%x: tensor<1x1024xf32>, %i: i64, %cache: tensor<16x1024xf32> {{relex.inout = 0 : i64}})
    -> tensor<16x1024xf32> {{
  %at = arith.index_cast %i : i64 to index
  %y = tensor.insert_slice %x into %cache[%at, 0][1, 1024][1, 1] : tensor<1x1024xf32> into tensor<16x1024xf32>
  func.return %y : tensor<16x1024xf32>
}}
tir.prim_func private @row(%X: memref<1x1024xf32>, %at: memref<1xi64>, %old: memref<16x1024xf32>)
    outs(%new: memref<16x1024xf32>) {{
  %c0 = arith.constant 0 : index
  tir.for %i, %j in (16, 1024) {{
    tir.block @copy (%vi: spatial<16> = %i, %vj: spatial<1024> = %j) {{
      %0 = memref.load %old[%vi, %vj] : memref<16x1024xf32>
      memref.store %0, %new[%vi, %vj] : memref<16x1024xf32>
    }}
  }}
  tir.for %k in (1024) {{
    tir.block @row (%vk: spatial<1024> = %k) {{
      %place = memref.load %at[%c0] : memref<1xi64>
      %i = arith.index_cast %place : i64 to index
      %1 = memref.load %X[%c0, %vk] : memref<1x1024xf32>
      memref.store %1, %new[%i, %vk] : memref<16x1024xf32>
    }}
  }}
}}
func.func @main(%x: tensor<1x1024xf32>, %i: i64, %cache: tensor<16x1024xf32> {{relex.inout = 0 : i64}})
    -> tensor<16x1024xf32> {{{}
  func.return %y : tensor<16x1024xf32>
}}
"""


@pytest.fixture
def cache() -> Iterator[tuple[Array, Callable[[int], None]]]:
    """A cache of which each row is a page, and a function that lets nobody touch any other page than one."""
    memory = mmap.mmap(-1, ROWS * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)

    def protect(page: int, access: int) -> None:
        assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), ctypes.c_size_t(PAGE), access) == 0

    def leave(row: int) -> None:
        for page in range(ROWS):
            protect(page, mmap.PROT_READ | mmap.PROT_WRITE if page == row else 0)

    yield np.frombuffer(memory, np.float32).reshape(ROWS, -1), leave
    for page in range(ROWS):
        protect(page, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.skipif(PAGE != 4096, reason="a row is a page of 4096 bytes")
@pytest.mark.parametrize("name", UPDATES)
def test_only_the_row_that_changes_is_touched(name: str, cache: tuple[Array, Callable[[int], None]]) -> None:
    array, leave = cache
    main = build(UPDATE.format(UPDATES[name]))["main"]
    for row in (3, 0, ROWS - 1):
        leave(row)  # Any other access ends the process.
        main(np.full((1, 1024), row + 1, np.float32), row, array)
        assert (array[row] == row + 1).all()


OLD_VALUES = """
func.func @main(%x: tensor<8xf32> {relex.inout = 2 : i64}, %y: tensor<8xf32> {relex.inout = 1 : i64})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %sum = relex.add %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %back = relex.strided_slice %x axes = [0] begin = [-1] end = [-9] strides = [-1] : (tensor<8xf32>) -> tensor<8xf32>
  func.return %back, %x, %sum, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
"""


@pytest.mark.parametrize("of", [build, interpret])
def test_old_values_are_read_before_they_are_overwritten(of: Callable[[str], Any]) -> None:
    x, y = np.arange(8, dtype=np.float32), np.full(8, 10, np.float32)
    back, old = of(OLD_VALUES)["main"](x, y)
    assert back.tolist() == [*range(7, -1, -1)]
    assert (old == 10).all()
    assert x.tolist() == [*range(10, 18)]
    assert y.tolist() == [*range(8)]


def test_dynamic_sizes_of_both_must_be_equal() -> None:
    main = build("""
    func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32> {relex.inout = 0 : i64}) -> tensor<?xf32> {
      %0 = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }
    """)["main"]
    y = np.zeros(3, np.float32)
    main(np.zeros(3, np.float32), y)
    assert (y == 1).all()
    with pytest.raises(ShapeError):
        main(np.zeros(4, np.float32), y)


def test_a_builder_says_what_takes_whose_place() -> None:
    bb, x, cache = BlockBuilder(), Var("x", ("n", 4), "float32"), Var("cache", ("n", 4), "float32")
    with bb.function("main", [x, cache]):
        total = bb.emit(cache + x)
        bb.emit_func_output(op.sum(total, [0]), replacing={cache: total})
    main, array = build(bb.get())["main"], np.ones((3, 4), np.float32)
    assert (main(np.ones((3, 4), np.float32), array) == 6).all()
    assert (array == 2).all()


def test_a_builder_refuses_what_is_no_parameter() -> None:
    bb, x = BlockBuilder(), Var("x", (4,), "float32")
    with bb.function("main", [x]):
        y: Any = bb.emit(x + x)
        with pytest.raises(CompileError, match="expected a parameter to replace, found 'lv'"):
            bb.emit_func_output(replacing={y: x})
        bb.emit_func_output(y)


def test_such_an_argument_is_not_bound() -> None:
    with pytest.raises(PassError, match="overwrites 'cache', so it cannot be bound"):
        BindParamsPass("step", {"cache": np.zeros((8, 4), np.float32)})(parse_module(STEP))


def test_sizes_that_depend_on_elements():
    program = """
    func.func @main(%x: tensor<?xf32> {relex.inout = 1 : i64}, %y: tensor<?xf32>)
        -> (tensor<?x1xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
      %0 = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %1 = relex.negative %x : (tensor<?xf32>) -> tensor<?xf32>
      %zero = relex.constant dense<0.0> : tensor<f32>
      %c = relex.greater %1, %zero : (tensor<?xf32>, tensor<f32>) -> tensor<?xi1>
      %2 = relex.compress %x, %c : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
      %3 = relex.add %2, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      func.return %0, %1, %3, %y : tensor<?x1xi64>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
    }
    """
    compiled = build(program)
    levels = [compiled.ir(level) for level in ("graph", "loops", "core")]
    for main in (compiled["main"], *(interpret(module)["main"] for module in (program, *levels))):
        for numbers in ([], [1], [0, -1, 0, 2, -3], [*range(-8, 9)]):
            x = np.array(numbers, np.float32)
            before, chosen = x.copy(), -np.minimum(x, 0)
            places, added, y = main(x, np.ones(np.count_nonzero(chosen), np.float32))
            np.testing.assert_array_equal(places, np.argwhere(before))
            np.testing.assert_array_equal(x, -before)
            np.testing.assert_array_equal(added, before[before < 0] + 1)
            assert len(y) == len(added)
    with pytest.raises(ShapeError, match=r"'relex\.add' expected \S*kept == y_d0, found 1"):
        compiled["main"](np.array([-1, 2], np.float32), np.ones(2, np.float32))


def test_what_takes_the_place_of_an_argument_may_be_late():
    main = build("""
    func.func @main(%x: tensor<?xf32> {relex.inout = 0 : i64}, %c: tensor<?xi1>) -> (tensor<?xf32>, tensor<?xf32>) {
      %0 = relex.compress %x, %c : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
      %1 = relex.add %0, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      func.return %1, %0 : tensor<?xf32>, tensor<?xf32>
    }
    """)["main"]
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(main(x, np.ones(3, bool)), [1, 2, 3])
    np.testing.assert_array_equal(x, [2, 4, 6])
    with pytest.raises(ShapeError, match="kept == x_d0, found 2"):
        main(x, np.array([True, False, True]))
    np.testing.assert_array_equal(x, [2, 4, 6])
