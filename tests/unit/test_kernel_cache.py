"""Kernels that are kept: what is compiled again, what is not, and that nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from programs import Array
from test_compile_cache import shifted
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import RelexError, parse_module
from relex.dialects.machine import ObjectCode
from relex.dialects.processors import Processor
from relex.dialects.relex import Operator, ReluOp
from relex.dialects.tir import PrimFuncOp
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.te import Tensor
from relex.passes.loops import schedule_cpu
from relex.runtime import build, cache_key, compile_cache, kernel_cache, load
from relex.runtime.kernel_cache import MEMORY, Kernel

X = np.linspace(-1, 1, 8 * 24, dtype=np.float32).reshape(8, 24)


def layers(widths: Sequence[int], seed: int = 0) -> ModuleOp:
    """Dense layers of these widths, each with constants of its own."""
    rng = np.random.default_rng(seed)
    bb, before = BlockBuilder(), 24
    x = Var(f"x{seed}", (8, before), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for width in widths:
                weight = const(rng.random((width, before), np.float32) / before)
                y, before = bb.emit(op.exp(bb.emit(op.negative(bb.emit(op.dense(y, weight)))))), width
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the cache, which is on and empty."""
    monkeypatch.delenv("RELEX_VERIFY", raising=False)
    monkeypatch.delenv("RELEX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    MEMORY.clear()
    yield tmp_path / "relex"
    MEMORY.clear()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Tells how many kernels were compiled since it was asked last."""
    found: list[ModuleOp] = []
    compile_each = kernel_cache.compile_each

    def count(kernels: Sequence[ModuleOp]) -> Sequence[ObjectCode]:
        found.extend(kernels)
        return [*compile_each(kernels)]

    monkeypatch.setattr(kernel_cache, "compile_each", count)

    def since() -> int:
        number = len(found)
        found.clear()
        return number

    return since


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_kernel_is_compiled_once(folder: Path, compiled: Callable[[], int], tmp_path: Path):
    expected = build(layers([24, 16]), cache=False)
    assert files(folder) == []
    expected.save(tmp_path / "a")
    counts: list[int] = []
    for clear in (False, False, True):
        if clear:
            MEMORY.clear()
        program = build(layers([24, 16]))
        counts.append(compiled())
        np.testing.assert_array_equal(program["main"](X), expected["main"](X))
        program.save(tmp_path / "b")
        assert len((tmp_path / "b").read_bytes()) == len((tmp_path / "a").read_bytes())
        np.testing.assert_array_equal(load(tmp_path / "b")["main"](X), expected["main"](X))
    assert counts[0] > 0
    assert counts[1:] == [0, 0]
    assert len([name for name in files(folder) if name.endswith(".kernel")]) == counts[0]


def test_a_loop_function_is_scheduled_once(monkeypatch: pytest.MonkeyPatch):
    """It is found again, with its own names: they are those of arguments."""
    scheduled: list[str] = []
    original = schedule_cpu.schedule_function

    def count(function: PrimFuncOp, processor: Processor) -> object:
        scheduled.append(function.sym_name.data)
        return original(function, processor)

    monkeypatch.setattr(schedule_cpu, "schedule_function", count)
    text = """
    tir.prim_func @twice(%x: memref<64x64xf32>) outs(%y: memref<64x64xf32>) {
      tir.for %i, %j in (64, 64) {
        tir.block @y (%vi: spatial<64> = %i, %vj: spatial<64> = %j) {
          %0 = memref.load %x[%vi, %vj] : memref<64x64xf32>
          %1 = arith.addf %0, %0 : f32
          memref.store %1, %y[%vi, %vj] : memref<64x64xf32>
        }
      }
    }
    """
    a = np.ones((64, 64), np.float32)
    for _ in range(2):
        assert build(text)["twice"](x=a).sum() == 2 * 64 * 64
        MEMORY.clear()
    assert scheduled == ["twice"]
    assert build(text.replace("%x", "%given").replace("@twice", "@again"))["again"](given=a).sum() == 2 * 64 * 64
    assert scheduled == ["twice"]


def test_the_code_does_not_depend_on_the_cache():
    programs = [build(layers([24, 16]), cache=cache) for cache in (False, None, None)]
    parts = [sorted(program._program.code.parts) for program in programs]  # pyright: ignore[reportPrivateUsage]
    assert parts[0] == parts[1] == parts[2]


def test_other_constants_and_names_are_the_same_kernels(compiled: Callable[[], int]):
    build(layers([24, 24, 24]))
    assert compiled() > 0
    build(layers([24, 24, 24, 24, 24], seed=1))
    assert compiled() == 0


def test_a_layer_that_changes_costs_that_layer(compiled: Callable[[], int]):
    build(layers([24, 16]))
    all_layers = compiled()
    build(layers([24, 18]))
    assert 0 < compiled() < all_layers


def test_other_processes_find_them(folder: Path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_kernel_cache import build, layers\n"
        "build(layers([24, 16]))"
    )
    found: list[list[str]] = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], check=True)
        found.append(files(folder))
    assert found[0] == found[1] != []


def test_an_edited_pass_compiles_them_again(compiled: Callable[[], int]):
    build(layers([24]))
    first, file = compiled(), Path(schedule_cpu.__file__)
    status = file.stat()
    known = (cache_key._versions, cache_key._digest)  # pyright: ignore[reportPrivateUsage]
    try:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        for function in known:
            function.cache_clear()
        build(layers([24]))
    finally:
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        for function in known:
            function.cache_clear()
    assert compiled() == first > 0
    build(layers([24]))
    assert compiled() == 0


def test_rules_of_others_compile_them_again(monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]):
    build(layers([24]))
    first = compiled()
    monkeypatch.setitem(LEGALIZATIONS, ReluOp, shifted)
    build(layers([24]))
    assert compiled() == first


def test_rules_that_no_file_tells_are_not_cached(folder: Path, monkeypatch: pytest.MonkeyPatch):
    rule = shifted

    def depends(op: Operator, x: Tensor) -> Tensor:
        return rule(op, x)

    monkeypatch.setitem(LEGALIZATIONS, ReluOp, depends)
    build(layers([24]))
    assert files(folder) == []


@pytest.mark.parametrize("variable", ["RELEX_CACHE=off", "RELEX_VERIFY=1"])
def test_nothing_is_kept(folder: Path, variable: str, monkeypatch: pytest.MonkeyPatch, compiled: Callable[[], int]):
    name, value = variable.split("=")
    monkeypatch.setenv(name, value)
    for cache in (None, False):
        build(layers([24]), cache=cache)
    assert files(folder) == []
    monkeypatch.delenv(name)
    build(layers([24]))
    assert compiled() > 0


def test_a_folder_that_is_named_has_all(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RELEX_CACHE", str(tmp_path / "named"))
    build(layers([24]))
    assert files(folder) == []
    assert {Path(name).suffix for name in files(tmp_path / "named")} == {".relex", ".kernel", ".function"}


def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: Callable[[], int]):
    folder.mkdir()
    folder.chmod(0o777)
    with warnings.catch_warnings(action="error"):
        build(layers([24]))
    assert files(folder) == []
    assert compiled() > 0
    build(layers([24]))
    assert compiled() == 0


def test_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    with warnings.catch_warnings(action="error"):
        build(layers([24]))


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: Path, chunks: object) -> None:
        raise RelexError(f"{path}: No space left on device")

    monkeypatch.setattr(compile_cache, "write_file", refuse)
    with warnings.catch_warnings(action="error"):
        build(layers([24]))
    assert files(folder) == []


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "shorter": lambda data: data[:-1],
    "empty": lambda data: b"",
    "changed": lambda data: data[:-1] + b"?",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files(folder: Path, damage: str, compiled: Callable[[], int]):
    expected = build(layers([24]))["main"](X)
    first = compiled()
    MEMORY.clear()
    for name in files(folder):
        path = folder / name
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
    np.testing.assert_array_equal(build(layers([24]))["main"](X), expected)
    assert compiled() == first


def test_what_was_used_last_stays_in_memory():
    memory = kernel_cache._Memory(10)  # pyright: ignore[reportPrivateUsage]
    for name in "abc":
        memory.put(name, Kernel(name, (), (), bytes(4)))
        memory.get("a")
    assert [memory.get(name) is not None for name in "abc"] == [True, False, True]


def test_parallel_kernels():
    text = """
    func.func @main(%x: tensor<512x1024xf32>) -> tensor<512xf32> {
      %0 = relex.exp %x : (tensor<512x1024xf32>) -> tensor<512x1024xf32>
      %1 = relex.sum %0 axis = [1] : (tensor<512x1024xf32>) -> tensor<512xf32>
      func.return %1 : tensor<512xf32>
    }
    """
    x: Array = np.linspace(-1, 1, 512 * 1024, dtype=np.float32).reshape(512, 1024)
    results = [build(parse_module(text))["main"](x) for _ in range(2)]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.exp(x).sum(axis=1), rtol=1e-5)


def test_profiles_name_each_call():
    first, second = (build(layers([24, 24, 24])).profile(X) for _ in range(2))
    assert len(first.rows) == 3
    assert [row.function for row in first.rows] == [row.function for row in second.rows]
