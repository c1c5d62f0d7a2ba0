"""Weights that a program is compiled with: the same results as constants, packed once for all processes."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from started import tool

from relex.dialects import RelexError, parse_module
from relex.dialects.errors import DTypeError, ShapeError, UnknownNameError
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.passes import BindParamsPass
from relex.runtime import CompileCache, Weights, build, compilation, load, weights
from relex.runtime.program import CompiledProgram

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(3, 256)).astype(np.float32)
DENSE = RNG.normal(size=(48, 256)).astype(np.float32)
BLOCKS = RNG.integers(0, 60, (48, 8 * BLOCK_LAYOUTS["Q8_0"].bytes)).astype(np.uint8)

PROGRAM = """
func.func @main(%x: tensor<3x256xf32>, %w: tensor<48x256xf32>, %b: tensor<48x272xui8>) -> tensor<3x48xf32> {
  %0 = relex.dense %x, %w : (tensor<3x256xf32>, tensor<48x256xf32>) -> tensor<3x48xf32>
  %1 = relex.dequantize_blocks %b layout = "Q8_0" : (tensor<48x272xui8>) -> tensor<48x256xf32>
  %2 = relex.dense %x, %1 : (tensor<3x256xf32>, tensor<48x256xf32>) -> tensor<3x48xf32>
  %3 = relex.add %0, %2 : (tensor<3x48xf32>, tensor<3x48xf32>) -> tensor<3x48xf32>
  func.return %3 : tensor<3x48xf32>
}
func.func @other(%w: tensor<2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.add %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


def safetensors(path: Path, arrays: dict[str, Any]) -> None:
    """Write a file whose arrays of floats are at addresses for their elements."""
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    place = 0
    for name, array in arrays.items():
        kind = {"float32": "F32", "uint8": "U8"}[array.dtype.name]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [place, place + array.nbytes]}
        parts.append(array.tobytes())
        place += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights.safetensors"
    safetensors(path, {"w": DENSE, "b": BLOCKS})
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """All compilations count as slow."""
    monkeypatch.setattr(weights, "SLOW", 0.0)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that are compiled while a test runs."""
    found: list[object] = []
    compile_program: Callable[..., CompiledProgram] = compilation.compile_program

    def count(*args: Any, **options: Any) -> CompiledProgram:
        found.append(args[0])
        return compile_program(*args, **options)

    monkeypatch.setattr(compilation, "compile_program", count)
    return found


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "weights").glob("*.relex"))


def constants(precision: str = "f32") -> Any:
    module = BindParamsPass("main", {"w": DENSE, "b": BLOCKS})(parse_module(PROGRAM))
    return build(module, precision=precision)["main"](DATA)


@pytest.mark.parametrize("precision", ["f32", "i8"])
@pytest.mark.parametrize("kind", ["safetensors", "npz", "arrays", "strided"])
def test_weights_are_constants(file: Path, kind: str, precision: str) -> None:
    source: Any = file
    if kind == "npz":
        source = file.with_suffix(".npz")
        np.savez(source, w=DENSE, b=BLOCKS)
    if kind == "arrays":
        source = {"w": DENSE, "b": BLOCKS}
    if kind == "strided":
        source = {"w": np.asfortranarray(DENSE), "b": np.repeat(BLOCKS, 2, 1)[:, ::2]}
    built = build(PROGRAM, weights=source, precision=precision)
    assert str(built["main"]) == "<compiled main(x: 3x256 of f32) -> (result: 3x48 of f32)>"
    np.testing.assert_array_equal(built["main"](DATA), constants(precision))


@pytest.mark.usefixtures("slow")
def test_packed_once(file: Path, folder: Path, tmp_path: Path, compiled: list[object]) -> None:
    build(PROGRAM, weights=file, cache=folder)
    built = build(PROGRAM, weights=file, cache=folder)
    np.testing.assert_array_equal(built["main"](DATA), constants())
    first, *others = kept(folder)
    assert not others
    assert first.stat().st_size > DENSE.nbytes + BLOCKS.nbytes
    assert sum("48x272" in str(found) for found in compiled) == 1 + 1  # And the constants.
    built.save(tmp_path / "model.relex")
    for copy in (load(tmp_path / "model.relex"), pickle.loads(pickle.dumps(built))):
        np.testing.assert_array_equal(copy["main"](DATA), constants())
    assert "dense" in str(built.ir("graph"))


def test_what_is_compiled_fast_is_not_kept(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "SLOW", 1e9)
    build(PROGRAM, weights=file, cache=folder)
    assert not kept(folder)


@pytest.mark.usefixtures("slow")
def test_off(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("RELEX_CACHE", "off")
    for option in (False, True, None):
        np.testing.assert_array_equal(build(PROGRAM, weights=file, cache=option)["main"](DATA), constants())
    assert not folder.exists()


@pytest.mark.usefixtures("slow")
def test_they_are_kept_where_kernels_are(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("RELEX_CACHE", raising=False)
    build(PROGRAM, weights=file)
    assert len(kept(folder / "relex")) == 1


@pytest.mark.usefixtures("slow")
def test_other_files_and_options_are_others(file: Path, folder: Path) -> None:
    build(PROGRAM, weights=file, cache=folder)
    build(PROGRAM, weights=file, cache=folder, precision="i8")
    copy = file.with_name("copy.safetensors")
    copy.write_bytes(file.read_bytes())
    build(PROGRAM, weights=copy, cache=folder)
    assert len(kept(folder)) == 3
    safetensors(file, {"w": -DENSE, "b": BLOCKS})
    found = build(PROGRAM, weights=file, cache=folder)["main"](DATA)
    assert len(kept(folder)) == 4
    expected = build(PROGRAM, weights={"w": -DENSE, "b": BLOCKS})["main"](DATA)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("slow")
def test_contents_of_arrays_count(folder: Path, compiled: list[object]) -> None:
    for factor in (1, -1, 1):
        build(PROGRAM, weights={"w": factor * DENSE, "b": BLOCKS}, cache=folder)
    assert len(kept(folder)) == len(compiled) == 2


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("place", [9000, -1])
def test_damaged_entries_are_made_again(file: Path, folder: Path, place: int) -> None:
    build(PROGRAM, weights=file, cache=folder)
    (entry,) = kept(folder)
    whole = bytearray(entry.read_bytes())
    damaged = whole[:place] + bytes([whole[place] ^ 1]) + (whole[place + 1 :] if place > 0 else b"")
    entry.write_bytes(damaged)
    np.testing.assert_array_equal(build(PROGRAM, weights=file, cache=folder)["main"](DATA), constants())
    assert len(entry.read_bytes()) == len(whole)
    assert entry.read_bytes() != damaged


@pytest.mark.usefixtures("slow")
def test_a_full_cache_leaves_them(file: Path, folder: Path) -> None:
    build(PROGRAM, weights=file, cache=folder)
    small = CompileCache(folder, limit=1)
    small.write({"a.relex": [b"too long"]})
    small.write({"b.relex": [b"too long"]})
    assert len(kept(folder)) == 1
    assert not list(folder.glob("*.relex"))


def test_a_file_that_changes_meanwhile(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = Weights.bound

    def changed(self: Weights, module: Any) -> Any:
        os.utime(file, ns=(0, 0))
        return bound(self, module)

    monkeypatch.setattr(Weights, "bound", changed)
    with pytest.raises(RelexError, match="expected a file that stays as it is, found it changed meanwhile"):
        build(PROGRAM, weights=file)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ({"w": DENSE[:-1]}, ShapeError, r"parameter 'w': expected shape \(48, 256\), found \(47, 256\)"),
        ({"b": BLOCKS.view(np.int8)}, DTypeError, "parameter 'b': expected elements of ui8, found int8"),
        ({"b": np.ma.masked_array(BLOCKS)}, DTypeError, "parameter 'b': expected an array without a mask"),
        ({"w": [[None]]}, (DTypeError, ShapeError), "parameter 'w': expected"),
        ({"v": DENSE}, UnknownNameError, "@main has no parameter 'v'"),
        ("none.npz", RelexError, "cannot read 'none.npz': No such file or directory"),
        (17, DTypeError, "expected a dictionary of arrays or the path of a file as 'weights', found int"),
    ],
)
def test_refused(source: Any, error: type[Exception] | tuple[type[Exception], ...], message: str, folder: Path) -> None:
    with pytest.raises(error, match=message):
        build(PROGRAM, weights=source, cache=folder)


def test_another_function() -> None:
    other = build(PROGRAM, weights=Weights({"w": np.array([1, 2], np.float32)}, function="other"))["other"]
    np.testing.assert_array_equal(other(np.array([3, 4], np.float32)), [4, 6])


def test_two_processes_share_a_folder(file: Path, folder: Path) -> None:
    text = f"""
import numpy as np
from relex.runtime import build, weights
weights.SLOW = 0.0
for _ in range(2):
    print(build({PROGRAM!r}, weights={str(file)!r}, cache={str(folder)!r})["main"](np.ones((3, 256), np.float32)).sum())
"""
    both = [subprocess.Popen([tool("python"), "-c", text], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert len(set("".join(printed).split())) == 1
    assert len(kept(folder)) == 1
