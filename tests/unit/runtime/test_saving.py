"""Saved executables: what they do, and which files are refused."""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array

from relex.dialects.errors import RelexError, UnknownNameError
from relex.dialects.target.machine import Target
from relex.frontend import BlockBuilder, Var, const, op
from relex.runtime import Executable, build, load, register_func, remove_func
from relex.runtime.compilation import compile_program
from relex.runtime.container import HEADER, VERSION, MappedFile, read_file
from relex.runtime.loader import load as load_code
from relex.runtime.program import CompiledProgram

WEIGHTS = np.random.default_rng(0).standard_normal((96, 40)).astype(np.float32)

PROGRAM = f"""
func.func @main(%x: tensor<?x40xf32> {{relex.dims = ["n", ""]}}, %y: tensor<?x96xf32> {{relex.dims = ["n", ""]}})
    -> (tensor<?x96xf32> {{relex.dims = ["n", ""]}}) {{
  %w = relex.constant dense<"0x{WEIGHTS.tobytes().hex()}"> : tensor<96x40xf32>
  %0 = relex.dense %x, %w : (tensor<?x40xf32>, tensor<96x40xf32>) -> tensor<?x96xf32>
  %1 = relex.add %0, %y : (tensor<?x96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
  %2 = relex.relu %1 : (tensor<?x96xf32>) -> tensor<?x96xf32>
  func.return %2 : tensor<?x96xf32>
}}
func.func @both(%a: tensor<3xi64>, %b: tensor<3xi1>) -> (tensor<3xi64>, tensor<3xi1>) {{
  %0 = relex.add %a, %a : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  func.return %0, %b : tensor<3xi64>, tensor<3xi1>
}}
func.func @parts(%x: tensor<?xf64> {{relex.dims = ["n"]}}, %y: tensor<?xf64> {{relex.dims = ["m"]}})
    -> (tensor<?xf64> {{relex.dims = ["m + n"]}}) {{
  %0 = relex.concat %x, %y : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
  func.return %0 : tensor<?xf64>
}}
func.func private @hidden(%x: tensor<2xf32>) -> tensor<2xf32> {{
  func.return %x : tensor<2xf32>
}}
"""

LIBRARY_PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.call_dps_packed "env.saved"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_dps_packed "env.other"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def ex() -> Executable:
    return build(PROGRAM)


@pytest.fixture(scope="module")
def saved(ex: Executable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "model.relex"
    ex.save(path)
    return path


@pytest.fixture(params=["loaded", "read", "pickled"])
def again(request: pytest.FixtureRequest, ex: Executable, saved: Path) -> Executable:
    if request.param == "pickled":
        return pickle.loads(pickle.dumps(ex))
    return load(saved, mapped=request.param == "loaded")


def same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# What saved executables do


@pytest.mark.parametrize("n", [0, 1, 3, 17])
def test_results_are_bit_equal(n: int, ex: Executable, again: Executable):
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal((n, size)).astype(np.float32) for size in (40, 96))
    x.flat[: min(x.size, 4)] = [np.nan, np.inf, -0.0, 1e-45][: min(x.size, 4)]
    assert same(again["main"](x, y), ex["main"](x, y))
    a, b = np.array([1, -5, 2**62]), np.array([True, False, True])
    assert all(map(same, again["both"](a, b), ex["both"](a, b)))
    u, v = rng.standard_normal(n), rng.standard_normal(n + 2)
    assert same(again["parts"](u, v), np.concatenate([u, v]))


WRONG_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("hidden", (), {}),
    ("nobody", (), {}),
    ("main", (), {}),
    ("main", (np.zeros((2, 40), np.float32), np.zeros((3, 96), np.float32)), {}),
    ("main", (np.zeros((2, 41), np.float32),), {"y": np.zeros((2, 96), np.float32)}),
    ("both", (np.zeros(3, np.int32), np.zeros(3, bool)), {}),
    ("parts", (np.zeros(3), np.zeros(3)), {"out": np.zeros(5)}),
]


@pytest.mark.parametrize(("name", "arguments", "named"), WRONG_CALLS)
def test_wrong_calls_raise_the_same(
    name: str, arguments: tuple[Any, ...], named: dict[str, Any], ex: Executable, again: Executable
):
    with pytest.raises(RelexError) as expected:
        ex[name](*arguments, **named)
    with pytest.raises(RelexError) as found:
        again[name](*arguments, **named)
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)


def test_a_saved_executable_can_be_saved(again: Executable, saved: Path, tmp_path: Path):
    again.save(tmp_path / "again.relex")
    assert (tmp_path / "again.relex").read_bytes() == saved.read_bytes()


def test_neither_xdsl_nor_the_compiler_is_imported(saved: Path):
    code = (
        "import sys, numpy; from relex import load;"
        "print(load(sys.argv[1])['parts'](numpy.ones(2), numpy.zeros(1)));"
        "print(*sorted({'.'.join(m.split('.')[:2]) for m in sys.modules if m.split('.')[0] in ('xdsl', 'relex')}))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[1. 1. 0.]", "relex relex.dialects relex.lazy relex.runtime"]


def test_constants_stay_in_the_file(saved: Path):
    data = MappedFile(saved).data
    program = CompiledProgram.unpack(data)
    assert program.code.constants
    start = np.frombuffer(data, np.uint8).ctypes.data
    loaded = load_code(program.code)
    for constant, used in zip(program.code.constants.values(), loaded.constants, strict=True):
        assert used.ctypes.data == np.frombuffer(constant, np.uint8).ctypes.data
        assert start < used.ctypes.data < start + len(data)
        assert used.ctypes.data % 64 == 0


def test_another_file_in_the_place_of_one_that_is_used(ex: Executable, tmp_path: Path):
    path = tmp_path / "model.relex"
    ex.save(path)
    first = load(path)
    build("func.func @main() { func.return }").save(path)
    x, y = np.ones((3, 40), np.float32), np.ones((3, 96), np.float32)
    assert same(first["main"](x, y), ex["main"](x, y))
    assert list(load(path)) == ["main"]
    assert [file.name for file in tmp_path.iterdir()] == ["model.relex"]


OVERWRITTEN = """
import os, shutil, sys
import numpy as np
from relex.dialects import RelexError
from relex.runtime import load
path, other, mapped, calls = sys.argv[1], sys.argv[2], sys.argv[3] == "mapped", int(sys.argv[4])
x, y = np.ones((3, 40), np.float32), np.ones((3, 96), np.float32)
ex = load(path, mapped=mapped)
wanted = load(path, mapped=False)["main"](x, y)
for _ in range(calls):
    ex["main"](x, y)
if other == "save":
    ex.save(path)
elif other == "truncate":
    os.truncate(path, 0)
else:
    shutil.copyfile(other, path)
for use in (lambda: ex["main"](x[calls:], y[calls:]), lambda: ex.save(path + ".again"), ex.__reduce__):
    try:
        found = use()
        print("equal" if not isinstance(found, np.ndarray) or np.array_equal(found, wanted[calls:]) else "wrong")
    except RelexError as e:
        print(e)
"""


@pytest.mark.sampled
@pytest.mark.parametrize("calls", [0, 1])
@pytest.mark.parametrize("mapped", ["mapped", "read"])
@pytest.mark.parametrize("other", ["smaller", "larger", "truncate", "save"])
def test_files_that_are_overwritten_while_they_are_used(
    other: str, mapped: str, calls: int, ex: Executable, tmp_path: Path
):
    path, new = tmp_path / "model.relex", tmp_path / "new.relex"
    ex.save(path)
    build("func.func @main() { func.return }" if other == "smaller" else PROGRAM + PROGRAM.replace("@", "@_")).save(new)
    given = str(new) if other in ("smaller", "larger") else other
    command = [sys.executable, "-c", OVERWRITTEN, str(path), given, mapped, str(calls)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    unharmed = mapped == "read" or other == "save"
    message = f"{path}: expected a file that stays as it is while it is in use, found it overwritten: load it again"
    assert len(lines := run.stdout.splitlines()) == 3
    assert all(line == "equal" if unharmed else line.startswith(message) for line in lines)


def test_constants_that_are_read_are_not_copied_again(saved: Path):
    data = read_file(saved)
    program = CompiledProgram.unpack(data)
    start = np.frombuffer(data, np.uint8).ctypes.data
    assert data == saved.read_bytes()
    assert all(start < used.ctypes.data < start + len(data) for used in load_code(program.code).constants)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_files_are_closed(saved: Path):
    # What tests before it left open is closed whenever it is collected.
    gc.collect()
    before = os.listdir("/proc/self/fd")
    found = load(saved)
    assert len(os.listdir("/proc/self/fd")) > len(before)
    del found
    gc.collect()
    assert os.listdir("/proc/self/fd") == before


def test_variables_are_fresh_in_each_executable(tmp_path: Path):
    values = " ".join(["5,"] * 299) + " 5"
    text = f"""
"memref.global"() <{{sym_name = "state", sym_visibility = "private", type = memref<300xi64>,
                    initial_value = dense<[{values}]> : tensor<300xi64>}}> : () -> ()
func.func @main(%x: tensor<1xi64>) -> tensor<1xi64> {{
  %0 = relex.call_tir @next(%x) : (tensor<1xi64>) -> tensor<1xi64>
  func.return %0 : tensor<1xi64>
}}
tir.prim_func private @next(%X: memref<1xi64>) outs(%Y: memref<1xi64>) {{
  %c0 = arith.constant 0 : index
  %s = memref.get_global @state : memref<300xi64>
  %v = memref.load %s[%c0] : memref<300xi64>
  %x = memref.load %X[%c0] : memref<1xi64>
  %y = arith.addi %v, %x : i64
  memref.store %y, %s[%c0] : memref<300xi64>
  memref.store %y, %Y[%c0] : memref<1xi64>
}}
"""
    ex = build(text)
    assert ex["main"](np.ones(1, np.int64)).tolist() == [6]
    ex.save(tmp_path / "state.relex")
    assert load(tmp_path / "state.relex")["main"](np.ones(1, np.int64)).tolist() == [6]


# Library functions


def increment(x: Array, out: Array) -> None:
    np.add(x, 1, out=out)


def double(x: Array, out: Array) -> None:
    np.multiply(x, 2, out=out)


@pytest.fixture
def library() -> Iterator[None]:
    register_func("env.saved", increment)
    register_func("env.other", double)
    yield
    remove_func("env.saved")
    remove_func("env.other")


@pytest.mark.usefixtures("library")
def test_library_functions_are_those_at_load(tmp_path: Path):
    path = tmp_path / "model.relex"
    build(LIBRARY_PROGRAM).save(path)
    assert load(path)["main"](np.ones(4, np.float32)).tolist() == [4.0] * 4
    register_func("env.saved", double, override=True)
    assert load(path)["main"](np.full(4, 3, np.float32)).tolist() == [12.0] * 4


def test_library_functions_that_nobody_registered_are_named(library: None, tmp_path: Path):
    path = tmp_path / "model.relex"
    ex = build(LIBRARY_PROGRAM)
    ex.save(path)
    remove_func("env.saved")
    message = 'expected a registered library function, found "env.saved"'
    try:
        with pytest.raises(UnknownNameError, match=re.escape(f"{path}: {message}")):
            load(path)
        with pytest.raises(UnknownNameError, match=message):
            pickle.loads(pickle.dumps(ex))
    finally:
        register_func("env.saved", print)


# Other processes


def _call(ex: Executable, n: int) -> Array:
    return ex["parts"](np.arange(float(n)), np.arange(2.0))


def test_executables_travel_to_worker_processes(ex: Executable):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_call, [ex] * 2, range(2)))
    assert all(same(result, _call(ex, n)) for n, result in enumerate(found))


@pytest.mark.parametrize("calls", ["native", "ctypes"])
def test_functions_travel_with_their_programs(ex: Executable, saved: Path, calls: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RELEX_CALLS", calls)
    arguments = np.arange(3.0), np.arange(2.0)
    for function in (ex["parts"], load(saved)["parts"]):
        again = pickle.loads(pickle.dumps(function))
        assert repr(again) == repr(function)
        for _ in range(2):
            assert same(again(*arguments), function(*arguments))
        assert same(copy.deepcopy(again)(*arguments), function(*arguments))


# Files that are refused


def opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The index and the data area of a file."""
    size = HEADER.unpack_from(data)[3]
    return json.loads(data[HEADER.size : HEADER.size + size]), data[-(-(HEADER.size + size) // 64) * 64 :]


def sealed(
    index: Any, area: bytes, version: int = VERSION, alignment: int = 64, index_size: int | None = None
) -> bytes:
    """A file with a right checksum."""
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    body = text + bytes(-(HEADER.size + len(text)) % 64) + area
    size = len(text) if index_size is None else index_size
    start = HEADER.pack(b"\x89relex\r\n", version, alignment, size, HEADER.size + len(body), b"")[: HEADER.size - 32]
    return start + hashlib.sha256(start + body).digest() + body


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "expected a saved executable, found a file of another kind"),
    "a text": (lambda data: b"func.func @main() { func.return }" * 9, "found a file of another kind"),
    "an object file": (lambda data: opened(data)[1], "found a file of another kind"),
    "a header alone": (lambda data: data[:64], r"damaged: expected \d+ bytes, found 64"),
    "a part of the header": (lambda data: data[:63], "found a file of another kind"),
    "line ends changed": (lambda data: data.replace(b"\r\n", b"\n"), "found a file of another kind"),
    "cut": (lambda data: data[:-1], r"damaged: expected \d+ bytes, found \d+"),
    "half of it": (lambda data: data[: len(data) // 2], r"damaged: expected \d+ bytes, found \d+"),
    "twice": (lambda data: data * 2, r"damaged: expected \d+ bytes, found \d+"),
    "something behind it": (lambda data: data + b"\n", r"damaged: expected \d+ bytes, found \d+"),
    "newer": (lambda data: sealed(*opened(data), version=VERSION + 1), "expected format 2 .* found 3: a newer relex"),
    "older": (lambda data: sealed(*opened(data), version=1), "expected format 2 .* found 1: an older relex"),
    "another alignment": (lambda data: sealed(*opened(data), alignment=1), "an alignment of 64"),
    "a large index": (lambda data: sealed(*opened(data), index_size=2**40), "cannot be read: expected an index"),
    "a bit in the index": (lambda data: flipped(data, 8 * 70), "damaged: its checksum is wrong"),
    "a bit in the data": (lambda data: flipped(data, 8 * len(data) - 600), "damaged: its checksum is wrong"),
    "a bit in the checksum": (lambda data: flipped(data, 8 * 63), "damaged: its checksum is wrong"),
    "a bit in the padding": (lambda data: flipped(data, 8 * len(data) - 1), "damaged: its checksum is wrong"),
    "zeros inside": (lambda data: data[:640] + bytes(64) + data[704:], "damaged: its checksum is wrong"),
    "no JSON": (lambda data: sealed(b"{]", opened(data)[1]), "index of the file cannot be read"),
    "no UTF-8": (lambda data: sealed(b'"\xff"', opened(data)[1]), "index of the file cannot be read"),
    "deep JSON": (lambda data: sealed(b"[" * 100_000, b""), "index of the file cannot be read"),
    "an empty index": (lambda data: sealed({}, b""), "missing 4 required positional arguments"),
    "a list": (lambda data: sealed([], b""), "expected it to be of dict, found list"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files_are_refused(case: str, saved: Path, tmp_path: Path):
    damage, message = DAMAGED[case]
    path = tmp_path / "damaged.relex"
    path.write_bytes(damage(saved.read_bytes()))
    with pytest.raises(RelexError, match=f"^{re.escape(str(path))}: .*{message}"):
        load(path)


def at(*path: str | int) -> Callable[[Any, Any], None]:
    """Puts a value at a place in an index."""

    def put(index: Any, value: Any) -> None:
        for step in path[:-1]:
            index = index[step]
        index[path[-1]] = value

    return put


MAIN = ("signatures", "main")
WRONG_INDEX: dict[str, tuple[Callable[[Any, Any], None], Any, str]] = {
    "no text": (at("code", "target", "cpu"), 3, "expected it.code.target.cpu to be of str, found int"),
    "NUL in a name": (at("code", "functions", 0), "a\0b", r"code.functions\[0\] to be text, found a NUL"),
    "half a character": (at("code", "imports"), ["\ud800"], "to be text, found surrogates not allowed"),
    "a field more": (at("code", "target", "os"), "", "expected it.code.target to have triple, cpu, features, found os"),
    "an offset outside": (at("code", "parts", 0, "offset"), 2**40, "in a data area of"),
    "a negative offset": (at("code", "parts", 0, "offset"), -64, "in a data area of"),
    "a negative size": (at("code", "parts", 0, "size"), -1, "in a data area of"),
    "a size that wraps around": (at("code", "parts", 0, "size"), 2**64, "in a data area of"),
    "an offset that is not aligned": (at("code", "parts", 0, "offset"), 1, "in a data area of"),
    "no place": (at("code", "parts", 0), "here", "expected an offset and a size, found here"),
    "a number that is too large": (at(*MAIN, "inputs", 0, "shape", 1), 2**70, "of 64 bits, found 71 bits"),
    "a negative shape": (at(*MAIN, "inputs", 0, "shape", 1), -1, "expected shapes of arrays for 'main'"),
    "a fraction": (at(*MAIN, "inputs", 0, "shape", 1), 1.5, "to be of"),
    "a truth value": (at(*MAIN, "inputs", 0, "shape", 1), True, "to be of int, found bool"),
    "no size": (at(*MAIN, "inputs", 0, "shape", 0), "import os", "expected a size, found 'import os'"),
    "a call": (at(*MAIN, "temporaries"), ["exit(1, 2)"], r"expected a size made of names, .* found 'exit\(1, 2\)'"),
    "a name from nowhere": (at(*MAIN, "outputs", 0, "shape", 0), "m", "expected sizes of arguments of 'main', found m"),
    "no requirement": (at(*MAIN, "requirements"), ["n"], "expected a comparison"),
    "an unknown element type": (at(*MAIN, "inputs", 0, "element_type"), "f8", "expected an element type among"),
    "another name": (at(*MAIN, "name"), "niam", "expected code for 'main'"),
    "a library that is not called": (
        at("libraries"),
        [{"name": "f", "symbol": "g", "inputs": [], "outputs": []}],
        "expected code that calls 'g'",
    ),
    "a pair of three": (
        at("libraries"),
        [{"name": "f", "symbol": "g", "inputs": [[1, "f32", 2]], "outputs": []}],
        "to have 2 parts, found 3",
    ),
}


@pytest.mark.parametrize("case", WRONG_INDEX)
def test_wrong_indices_are_refused(case: str, saved: Path, tmp_path: Path):
    put, value, message = WRONG_INDEX[case]
    index, area = opened(saved.read_bytes())
    put(index, value)
    path = tmp_path / "wrong.relex"
    path.write_bytes(sealed(index, area))
    with pytest.raises(RelexError, match=message):
        load(path)


LATE = """
func.func @main(%x: tensor<?xf32>) -> (tensor<?x1xi64>, f32) {
  %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
  %n = arith.constant 2.0 : f32
  func.return %y, %n : tensor<?x1xi64>, f32
}
func.func @step(%s: tensor<?xf32> {relex.inout = 0}, %x: tensor<?xf32>) -> tensor<?xf32> {
  %r = relex.add %s, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
"""

STEP = ("signatures", "step")
WRONG_LATE_INDEX: dict[str, tuple[Callable[[Any, Any], None], Any, str]] = {
    "a late number": (at(*MAIN, "outputs", 1, "shape"), ["k"], "expected arrays as results of 'main' whose sizes a"),
    "late and on buffers": (at(*MAIN, "writes_inputs"), True, "expected 'main' to take buffers, or to return results"),
    "in place and on buffers": (at(*STEP, "writes_inputs"), True, "expected 'step' to take buffers, or to return"),
    "a number in place": (at(*STEP, "inputs", 0, "is_scalar"), True, "expected arrays as arguments that 'step' writes"),
    "no memory for a result": (at("code", "imports"), [], "expected sizes of arguments of 'main', found y_rows"),
    "a size from nowhere": (
        at(*STEP, "temporaries"),
        ["y_rows"],
        "expected sizes of arguments of 'step', found y_rows",
    ),
}


@pytest.fixture(scope="module")
def late() -> bytes:
    return pickle.dumps(build(LATE))


@pytest.mark.parametrize("case", WRONG_LATE_INDEX)
def test_wrong_indices_of_late_results_are_refused(case: str, late: bytes, tmp_path: Path):
    put, value, message = WRONG_LATE_INDEX[case]
    path = tmp_path / "late.relex"
    pickle.loads(late).save(path)
    index, area = opened(path.read_bytes())
    put(index, value)
    path.write_bytes(sealed(index, area))
    with pytest.raises(RelexError, match=message):
        load(path)


def test_results_that_the_code_does_not_give(late: bytes, tmp_path: Path):
    path = tmp_path / "late.relex"
    pickle.loads(late).save(path)
    index, area = opened(path.read_bytes())
    index["signatures"]["main"]["outputs"].insert(1, {"name": "other", "shape": ["k"], "element_type": "f32"})
    path.write_bytes(sealed(index, area))
    with pytest.raises(RelexError, match=r"main\(\) expected the call to find out the size of other, found none"):
        load(path)["main"](np.ones(3, np.float32))


def test_code_that_is_none_is_refused(saved: Path, tmp_path: Path):
    index, _ = opened(saved.read_bytes())
    path = tmp_path / "wrong.relex"
    path.write_bytes(sealed(index, bytes(1 << 20)))
    with pytest.raises(RelexError, match="cannot load object code"):
        load(path)


def with_target(path: Path, target: Target, needs: frozenset[str]) -> bytes:
    program = CompiledProgram.unpack(MappedFile(path).data)
    changed = replace(program, code=replace(program.code, target=target, needs=needs))
    return b"".join(changed.pack())


def test_other_machines_are_refused(saved: Path, tmp_path: Path):
    host, path = Target.host(), tmp_path / "other.relex"
    other = "aarch64-unknown-linux-gnu" if host.triple.startswith("x86_64") else "x86_64-unknown-linux-gnu"
    path.write_bytes(with_target(saved, Target(other), frozenset()))
    with pytest.raises(RelexError, match=f"other.relex: code for '{other}' cannot run on '{host.triple}'"):
        load(path)
    path.write_bytes(with_target(saved, Target(host.triple, "next", "+avx4096"), frozenset({"avx4096", "amx-2"})))
    with pytest.raises(RelexError, match="code for cpu 'next' needs what this machine lacks: amx-2, avx4096"):
        load(path)


def test_files_that_cannot_be_read_or_written(ex: Executable, tmp_path: Path):
    with pytest.raises(RelexError, match=r"none.relex: cannot be read: No such file or directory$"):
        load(tmp_path / "none.relex")
    with pytest.raises(RelexError, match=r"cannot be read: .*directory"):
        load(tmp_path)
    with pytest.raises(RelexError, match=r"model.relex: cannot be written: No such file or directory$"):
        ex.save(tmp_path / "none" / "model.relex")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RelexError, match="folder: cannot be written"):
        ex.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_bit_can_change(data: st.DataObject, saved: Path, tmp_path_factory: pytest.TempPathFactory):
    contents = saved.read_bytes()
    bit = data.draw(st.integers(0, 8 * len(contents) - 1) | st.integers(0, 8 * 2048))
    with pytest.raises(RelexError):
        CompiledProgram.unpack(memoryview(flipped(contents, bit)))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["n", "f32", "n*n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """All that holds something in an index, and by which key."""
    if not isinstance(value, dict | list):
        return
    whole = cast("dict[Any, Any]", value)
    for key in whole if isinstance(value, dict) else range(len(whole)):
        yield value, key
        yield from places_in(value[key])


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_index_is_read_or_refused(data: st.DataObject, saved: Path):
    """With a right checksum. What is read can be packed again."""
    index, area = opened(saved.read_bytes())
    place, key = data.draw(st.sampled_from(list(places_in(index))))
    place[key] = data.draw(JSON)
    try:
        program = CompiledProgram.unpack(memoryview(sealed(index, area)))
    except RelexError:
        return
    program.pack()


def test_an_executable_keeps_its_constants_once() -> None:
    weight = np.random.default_rng(0).standard_normal((2048, 1024)).astype(np.float32)
    builder = BlockBuilder()
    with builder.function("main", [x := Var("x", (2048, 1024), "float32")]):
        builder.emit_func_output(builder.emit(op.add(x, op.negative(const(-weight)))))
    module = builder.get()
    tracemalloc.start()
    try:
        executable = Executable(compile_program(module))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert weight.nbytes <= kept < 1.5 * weight.nbytes
    # They are bytes of the code, and of files that are saved.
    assert (pickle.loads(pickle.dumps(executable))["main"](np.zeros_like(weight)) == weight).all()
