"""Calls without Python on the way: when they happen, and that nothing can be seen of it."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from collections.abc import Callable, Generator
from threading import Thread
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from programs import Array

from relex.dialects.errors import ArityError, DTypeError, OverlapError, RelexError, ShapeError
from relex.dialects.target.code_generators import code_generator
from relex.runtime import CFunction, CompiledFunction, Executable, build, register_func, remove_func
from relex.runtime.descriptors import address_of
from relex.runtime.entry import native
from relex.runtime.entry.plans import KEPT, MAX_WORDS
from relex.runtime.linking import link

PROGRAM = """
func.func @add(%x: tensor<?x3xf32>, %w: tensor<3xf32>) -> tensor<?x3xf32> {
  %y = relex.add %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
func.func @two(%x: tensor<?xi64>) -> (tensor<?xi64>, tensor<2xf64>) {
  %c = relex.constant dense<[1.0, 2.0]> : tensor<2xf64>
  func.return %x, %c : tensor<?xi64>, tensor<2xf64>
}
func.func @nothing() {
  func.return
}
func.func @large() -> tensor<70368744177664xi8> {
  %c = relex.alloc_tensor : tensor<70368744177664xi8>
  func.return %c : tensor<70368744177664xi8>
}
func.func @truths(%x: tensor<?xi1>) -> tensor<?xi1> {
  func.return %x : tensor<?xi1>
}
"""
W = np.array([1, 2, 3], np.float32)


@pytest.fixture(scope="module")
def ex() -> Executable:
    return build(PROGRAM)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments of all calls that go through Python."""
    calls: list[tuple[Any, ...]] = []
    original: Callable[..., Any] = CompiledFunction._call_checked  # pyright: ignore[reportPrivateUsage]

    def noted(self: CompiledFunction, *args: Any, **named: Any) -> Any:
        calls.append((*args, *named.values()))
        return original(self, *args, **named)

    monkeypatch.setattr(CompiledFunction, "_call_checked", noted)
    return calls


def rows(count: int) -> Array:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)


def other_dtype_object(array: Array) -> Array:
    return pickle.loads(pickle.dumps(array))


# When


def test_calls_like_earlier_ones_are_native(checked: list[Any]) -> None:
    ex = build(PROGRAM)
    for count in (0, 1, 17, 1, 17, 0):
        np.testing.assert_array_equal(ex["add"](rows(count), W), rows(count) + W)
    assert [len(x) for x, _ in checked] == [0, 1, 17]
    assert ex["nothing"]() is ex["nothing"]() is None
    assert checked[3:] == [()]


NOT_NATIVE: dict[str, Callable[[Array], Array]] = {
    "column-major": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "big-endian": lambda x: x.astype(">f4"),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
    "subclass": lambda x: x.view(np.recarray),
}


@pytest.mark.parametrize("kind", NOT_NATIVE)
def test_other_arrays_go_through_python(ex: Executable, checked: list[Any], kind: str) -> None:
    x = rows(2)
    ex["add"](x, W)
    checked.clear()
    np.testing.assert_array_equal(ex["add"](NOT_NATIVE[kind](x), W), x + W)
    assert len(checked) == 1


def test_names_go_through_python(ex: Executable, checked: list[Any]) -> None:
    x, out = rows(2), np.empty((2, 3), np.float32)
    ex["add"](x, W)
    checked.clear()
    np.testing.assert_array_equal(ex["add"](x, w=W), x + W)
    assert ex["add"](x, w=W, out=out) is out
    assert ex["add"](*(x, W), **{}) is not out
    assert len(checked) == 2


CHANGING = """
func.func @main(%x: tensor<?x3xf32>, %total: tensor<?x3xf32> {relex.inout = 0 : i64},
    %seen: tensor<?xi1> {relex.inout = 1 : i64}) -> (tensor<?x3xf32>, tensor<?xi1>) {
  %0 = relex.add %x, %total : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = relex.logical_not %seen : (tensor<?xi1>) -> tensor<?xi1>
  func.return %0, %1 : tensor<?x3xf32>, tensor<?xi1>
}
"""


def test_calls_that_change_arguments_are_native(checked: list[Any]) -> None:
    main, total, seen = build(CHANGING)["main"], np.zeros((2, 3), np.float32), np.zeros(5, np.bool_)
    for number in range(1, 4):
        assert main(rows(2), total, seen) is None
        np.testing.assert_array_equal(total, sum(rows(2) for _ in range(number)))
        assert seen.all() == number % 2
    assert len(checked) == 1


def test_what_a_call_may_not_change_goes_through_python(checked: list[Any]) -> None:
    main, total, seen = build(CHANGING)["main"], np.zeros((2, 3), np.float32), np.zeros(5, np.bool_)
    main(rows(2), total, seen)
    checked.clear()
    kept = np.zeros((2, 3), np.float32)
    kept.flags.writeable = False
    memory = np.zeros(9, np.float32)
    bytes_of = memory.view(np.bool_)[10:15]
    with pytest.raises(DTypeError, match=r"'total'.* found one that is read-only"):
        main(rows(2), kept, seen)
    with pytest.raises(OverlapError, match="'total': a call changes it, so it must not share memory with 'x'"):
        main(memory[:6].reshape(2, 3), memory[3:].reshape(2, 3), seen)
    with pytest.raises(OverlapError, match="'total': a call changes it, so it must not share memory with 'seen'"):
        main(rows(2), memory[:6].reshape(2, 3), bytes_of)
    assert len(checked) == 3
    main(memory[:6].reshape(2, 3)[:1], memory[3:6].reshape(1, 3), seen)
    main(memory[:3].reshape(1, 3), memory[3:6].reshape(1, 3), seen)
    assert len(checked) == 4


def test_results_into_arrays_of_the_caller_are_native(ex: Executable, checked: list[Any]) -> None:
    x, out = rows(2), np.empty((2, 3), np.float32)
    numbers, same, constant = np.arange(5), np.zeros(5, np.int64), np.zeros(2)
    ex["add"](x, W)
    ex["two"](numbers)
    checked.clear()
    for _ in range(100):
        assert ex["add"](x, W, out=out) is out
        results = ex["two"](numbers, out=(same, constant))
        assert results[0] is same
        assert results[1] is constant
    np.testing.assert_array_equal(out, x + W)
    np.testing.assert_array_equal(same, numbers)
    np.testing.assert_array_equal(constant, [1, 2])
    del results  # pyright: ignore[reportPossiblyUnboundVariable]
    assert sys.getrefcount(out) == sys.getrefcount(same) == sys.getrefcount(constant) == count_of_one_owner()
    assert ex["add"](x[:0], W, out=out[:0]).shape == (0, 3)
    assert ex["nothing"](out=()) is None
    assert len(checked) == 2, "the first with no rows, and that without results"


READ_ONLY = np.zeros((2, 3), np.float32)
READ_ONLY.flags.writeable = False
PLACE = np.zeros(9, np.int64)

WRONG_RESULTS: dict[str, tuple[str, Callable[[Array], Any], type[Exception] | None]] = {
    "none": ("add", lambda x: None, None),
    "list": ("add", lambda x: [np.empty_like(x)], None),
    "shape": ("add", lambda x: np.empty((3, 2), np.float32), ShapeError),
    "dtype": ("add", lambda x: np.empty((2, 3), np.int32), DTypeError),
    "number": ("add", lambda x: 1, DTypeError),
    "read-only": ("add", lambda x: READ_ONLY, DTypeError),
    "column-major": ("add", lambda x: np.asfortranarray(x), DTypeError),
    "argument": ("add", lambda x: x, OverlapError),
    "one": ("two", lambda x: np.empty(5, np.int64), ArityError),
    "too few": ("two", lambda x: (np.empty(5, np.int64),), ArityError),
    "too many": ("two", lambda x: (np.empty(5, np.int64), np.empty(2), np.empty(2)), ArityError),
    "one number": ("two", lambda x: (np.empty(5, np.int64), 1), DTypeError),
    "each other": ("two", lambda x: (PLACE[:5], PLACE[4:6].view(np.float64)), OverlapError),
    "side by side": ("two", lambda x: (PLACE[:5], PLACE[5:7].view(np.float64)), None),
}


@pytest.mark.parametrize("kind", WRONG_RESULTS)
def test_other_results_go_through_python(ex: Executable, checked: list[Any], kind: str) -> None:
    name, make, error = WRONG_RESULTS[kind]
    x = rows(2) if name == "add" else np.arange(5)
    more = (W,) if name == "add" else ()
    ex[name](x, *more)
    checked.clear()
    if error is None:
        ex[name](x, *more, out=make(x))
    else:
        with pytest.raises(error):
            ex[name](x, *more, out=make(x))
    assert len(checked) == (kind != "side by side")


def test_memory_that_overlaps_in_part(ex: Executable, checked: list[Any]) -> None:
    memory = np.zeros(12, np.float32)
    x = memory[:6].reshape(2, 3)
    ex["add"](x, W)
    checked.clear()
    for begin in range(7):
        out = memory[begin : begin + 6].reshape(2, 3)
        if begin == 6:
            assert ex["add"](x, W, out=out) is out
        else:
            with pytest.raises(OverlapError):
                ex["add"](x, W, out=out)
    assert len(checked) == 6


def test_dtypes_that_are_equal_are_native(ex: Executable, checked: list[Any]) -> None:
    x, w = other_dtype_object(rows(2)), other_dtype_object(W)
    assert x.dtype is not W.dtype
    ex["add"](rows(2), W)
    checked.clear()
    np.testing.assert_array_equal(ex["add"](x, w), x + w)
    assert not checked


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 17])
def test_booleans_of_other_bytes_go_through_python(ex: Executable, checked: list[Any], size: int) -> None:
    x = np.arange(size) % 3 == 0
    ex["truths"](x)
    checked.clear()
    for place in range(size):
        for byte in (2, 128, 255):
            other = x.view(np.uint8).copy()
            other[place] = byte
            np.testing.assert_array_equal(ex["truths"](other.view(np.bool_)).view(np.uint8), other != 0)
    assert len(checked) == 3 * size
    np.testing.assert_array_equal(ex["truths"](x), x)
    assert len(checked) == 3 * size


def test_frames_that_are_too_large_for_the_stack(checked: list[Any]) -> None:
    rank = 60
    count = MAX_WORDS // (3 + 2 * rank) + 1
    arguments = ", ".join(f"%x{i}: tensor<{rank * '1x'}f32>" for i in range(count))
    main = build(f"func.func @main({arguments}) {{ func.return }}")["main"]
    for _ in range(2):
        assert main(*[np.ones([1] * rank, np.float32)] * count) is None
    assert len(checked) == 2


def test_python_library_functions_are_called_through_python(checked: list[Any]) -> None:
    @register_func("test.fill")
    def fill(x: Array, out: Array) -> None:
        if np.isnan(x).any():
            raise ArithmeticError("a number is missing")
        out[...] = x

    del fill
    text = """
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %y = relex.call_dps_packed "test.fill"(%x) : (tensor<2xf32>) -> tensor<2xf32>
        func.return %y : tensor<2xf32>
      }
    """
    try:
        main = build(text)["main"]
    finally:
        remove_func("test.fill")
    for _ in range(2):
        np.testing.assert_array_equal(main(W[:2]), W[:2])
        with pytest.raises(ArithmeticError, match="a number is missing"):
            main(np.array([1, np.nan], np.float32))
    assert not isinstance(main, native_type())


def count_of_one_owner() -> int:
    """What `sys.getrefcount` returns for a variable that alone refers to an object: to pass it may count, or not."""
    x = object()
    return sys.getrefcount(x)


def native_type() -> Any:
    entry = native.native_entry()
    assert entry is not None
    return entry.type


# What can be seen


def test_results_own_their_memory(ex: Executable) -> None:
    ex["add"](rows(2), W)
    first, second = ex["add"](rows(2), W), ex["add"](rows(2), W)
    assert first.base is None
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.dtype is np.dtype(np.float32)
    assert not np.shares_memory(first, second)


def test_no_memory_for_results(ex: Executable, checked: list[Any]) -> None:
    large = ex["large"]
    messages: set[str] = set()
    for _ in range(3):
        with pytest.raises(MemoryError, match=r"Unable to allocate 64.0 TiB") as caught:
            large()
        messages.add(f"{type(caught.value).__name__}: {caught.value}")
    assert len(messages) == 1
    assert len(checked) == 1


def test_owners_are_counted(ex: Executable) -> None:
    x, counted = np.arange(5), (sys.getrefcount(np.dtype(np.int64)), sys.getrefcount(np.dtype(np.float64)))
    before = sys.getrefcount(x), sys.getrefcount(ex["two"])
    for _ in range(100):
        same, constant = ex["two"](x)
        assert sys.getrefcount(same) == sys.getrefcount(constant) == count_of_one_owner()
        with pytest.raises(ShapeError):
            ex["two"](x[None])
    del same, constant  # pyright: ignore[reportPossiblyUnboundVariable]
    assert (sys.getrefcount(x), sys.getrefcount(ex["two"])) == before
    after = (sys.getrefcount(np.dtype(np.int64)), sys.getrefcount(np.dtype(np.float64)))
    assert all(abs(a - b) < 10 for a, b in zip(after, counted, strict=True))


def test_functions_are_freed() -> None:
    ex = build(PROGRAM)
    ex["nothing"]()
    gone = weakref.ref(ex["nothing"])
    del ex
    gc.collect()
    assert gone() is None


@pytest.fixture
def busy_threads() -> Generator[None]:
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("busy_threads")
def test_threads_find_and_forget_plans() -> None:
    functions = [build(PROGRAM)["add"], build(PROGRAM.replace("relex.add", "relex.multiply"))["add"]]
    operators: list[Callable[..., Array]] = [np.add, np.multiply]
    problems: list[Any] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(150):
            which, x = int(generator.integers(2)), rows(int(generator.integers(2 * KEPT)))
            if not np.array_equal(functions[which](x, W), operators[which](x, W)):
                problems.append((seed, which))

    threads = [Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


# Says in element 0 of its argument that it runs, and waits for element 1. Its result is whether that came.
WAIT = """
define void @wait(ptr %flags, ptr %result) {
start:
  %flags.at = getelementptr ptr, ptr %flags, i64 1
  %running = load ptr, ptr %flags.at
  %go.at = getelementptr i8, ptr %running, i64 1
  %result.at = getelementptr ptr, ptr %result, i64 1
  %told.at = load ptr, ptr %result.at
  store volatile i8 1, ptr %running
  br label %look
look:
  %i = phi i64 [ 0, %start ], [ %next, %look ]
  %next = add i64 %i, 1
  %go = load volatile i8, ptr %go.at
  %told = icmp ne i8 %go, 0
  %long = icmp sgt i64 %i, 3000000000
  %end = or i1 %told, %long
  br i1 %end, label %stop, label %look
stop:
  store i8 %go, ptr %told.at
  ret void
}
"""


@pytest.mark.parametrize("calls", ["native", "ctypes"])
def test_other_threads_run_meanwhile(monkeypatch: pytest.MonkeyPatch, calls: str) -> None:
    monkeypatch.setenv("RELEX_CALLS", calls)
    machine = code_generator(llvm.get_process_triple()).create_target_machine(reloc="pic", codemodel="default")
    code = link((machine.emit_object(llvm.parse_assembly(WAIT)),), {}, ("wait",))
    register_func("test.wait", CFunction(code.address("wait"), code))
    try:
        wait = build("""
          func.func @wait(%flags: tensor<2xi8>) -> tensor<1xi8> {
            %0 = relex.call_dps_packed "test.wait"(%flags) {side_effects} : (tensor<2xi8>) -> tensor<1xi8>
            func.return %0 : tensor<1xi8>
          }
        """)["wait"]
    finally:
        remove_func("test.wait")
    assert wait(np.ones(2, np.int8)) == 1
    flags, told = np.zeros(2, np.int8), np.zeros(1, np.int8)
    thread = Thread(target=lambda: told.put(0, wait(flags)))
    thread.start()
    while not flags[0]:
        pass
    flags[1] = 1
    thread.join()
    assert told == 1


# Where it is not known to work


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEX_CALLS", "ctypes")
    function = build(PROGRAM)["nothing"]
    assert not isinstance(function, native_type_of_process())
    assert function() is None
    monkeypatch.setenv("RELEX_CALLS", "cffi")
    with pytest.raises(RelexError, match="expected RELEX_CALLS to be native or ctypes, found 'cffi'"):
        build(PROGRAM)


def native_type_of_process() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RELEX_CALLS", raising=False)
        return native_type()


def test_unknown_layouts_are_called_through_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "layouts_are_known", lambda: False)
    native._entry.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        function = build(PROGRAM)["nothing"]
        assert type(function) is CompiledFunction
        assert function() is None
    finally:
        native._entry.cache_clear()  # pyright: ignore[reportPrivateUsage]


def test_calls_by_address() -> None:
    function = build("""
    func.func @main(%x: tensor<?x2xf32>, %w: tensor<3x2xf32>) -> tensor<?x3xf32> {
      %y = relex.dense %x, %w : (tensor<?x2xf32>, tensor<3x2xf32>) -> tensor<?x3xf32>
      func.return %y : tensor<?x3xf32>
    }
    """)["main"]
    x, w = np.arange(10, dtype=np.float32).reshape(5, 2), np.arange(6, dtype=np.float32).reshape(3, 2)
    (shape,), call = function.by_address([x.shape, w.shape], {1: address_of(w)})
    assert shape == (5, 3)
    for _ in range(2):
        y = np.empty(shape, np.float32)
        call([address_of(x), address_of(y)])
        np.testing.assert_array_equal(y, x @ w.T)
        x += 1
    with pytest.raises(ShapeError, match="argument 'w'"):
        function.by_address([x.shape, (3, 3)], {})
    number = build("func.func @main(%x: f32) -> f32 { func.return %x : f32 }")["main"]
    with pytest.raises(RelexError, match="from tensors to tensors"):
        number.by_address([()], {})
