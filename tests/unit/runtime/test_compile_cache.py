"""Compiled programs that are kept: what is found again, what is not, and who may share a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from programs import Array
from started import run_python
from xdsl.irdl import irdl_op_definition
from xdsl.rewriter import Rewriter

from relex.dialects import CompileError, RelexError, parse_module
from relex.dialects.relex import Operator, ReluOp
from relex.dialects.relex.elementwise import UnaryElementwise
from relex.dialects.target.machine import Target
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.te import Tensor, compute
from relex.runtime import CompileCache, build, compilation, compile_cache, register_func, remove_func
from relex.runtime.builtin_code import SUFFIX
from relex.runtime.cache_key import cache_key

X = np.array([-1, 2, -3], np.float32)


def program(number: float, size: int = 3) -> str:
    kind = f"tensor<{size}xf32>"
    data = np.full(size, number, np.float32).tobytes().hex() if size > 16 else ""
    value = f'dense<"0x{data}">' if data else f"dense<{number}>"
    return f"""
func.func @main(%x: {kind}) -> {kind} {{
  %c = relex.constant {value} : {kind}
  %0 = relex.add %x, %c : ({kind}, {kind}) -> {kind}
  %1 = relex.relu %0 : ({kind}) -> {kind}
  func.return %1 : {kind}
}}
"""


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RELEX_CACHE", raising=False)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that are compiled while a test runs."""
    found: list[object] = []
    compile_program = compilation.compile_program

    def count(*args: object, **options: object) -> object:
        found.append(args[0])
        return compile_program(*args, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(compilation, "compile_program", count)
    return found


def entries(folder: Path) -> list[str]:
    """The files of a cache, but for relex's own code, which the first call of a process needs."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != SUFFIX)


def test_the_second_time_nothing_is_compiled(tmp_path: Path, compiled: list[object]):
    results = [build(program(1.0), cache=tmp_path)["main"](X) for _ in range(3)]
    assert len(compiled) == 1
    assert all((result == np.maximum(X + 1, 0)).all() for result in results)
    # Equal programs, however they come.
    build(parse_module(program(1.0)), cache=str(tmp_path))
    build(program(1.0).replace("\n", "\n\n"), cache=CompileCache(tmp_path))
    (tmp_path / "file.mlir").write_text(program(1.0))
    build(tmp_path / "file.mlir", cache=tmp_path)
    assert len(compiled) == 1


def test_without_a_cache_everything_is_compiled(compiled: list[object]):
    for cache in (None, False):
        build(program(1.0), cache=cache)
    assert len(compiled) == 2


def test_what_makes_programs_different():
    host = Target.host()
    texts = [program(1.0), program(2.0), program(1.0, 1000), program(1.5, 1000), program(1.0).replace("%x", "%y")]
    texts.append(program(1.0).replace("@main", "@niam"))
    options = [(False, None), (True, None), (False, host), (False, Target(host.triple)), (True, Target(host.triple))]
    keys = [cache_key(parse_module(text), strict=s, target=t) for text in texts for s, t in options]
    assert None not in keys
    assert len(set(keys)) == len(texts) * len(options)
    # In every process.
    assert keys[0] == cache_key(parse_module(texts[0]), strict=False, target=None)


def test_the_processor_makes_programs_different(monkeypatch: pytest.MonkeyPatch):
    def key(cpu: str) -> str | None:
        monkeypatch.setenv("RELEX_CPU", cpu)
        return cache_key(parse_module(program(1.0)), strict=False, target=None)

    assert len({key(""), key("x86-64-v2"), key("x86-64-v3")}) == 3


@pytest.mark.parametrize("name", ["xdsl", "llvmlite", "relex-compiler"])
def test_versions_make_programs_different(name: str, monkeypatch: pytest.MonkeyPatch):
    from relex.runtime import cache_key as module

    old_version, text = metadata.version, parse_module(program(1.0))

    def new_version(of: str) -> str:
        return "99" if of == name else old_version(of)

    before = cache_key(text, strict=False, target=None)
    module._versions.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(metadata, "version", new_version)
    try:
        assert cache_key(text, strict=False, target=None) != before
    finally:
        module._versions.cache_clear()  # pyright: ignore[reportPrivateUsage]


def shifted(op: Operator, x: Tensor) -> Tensor:
    return compute(x.shape, lambda *i: x[*i] + 1, name="shifted")


def test_rules_of_others_have_entries_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[object]
):
    for _ in range(2):
        monkeypatch.setitem(LEGALIZATIONS, ReluOp, shifted)
        assert build(program(1.0), cache=tmp_path)["main"](X).tolist() == [1.0, 4.0, -1.0]
        monkeypatch.undo()
        monkeypatch.delenv("RELEX_CACHE", raising=False)
        assert build(program(1.0), cache=tmp_path)["main"](X).tolist() == [0.0, 3.0, 0.0]


def test_operators_that_no_file_tells_are_no_part_of_it():
    """Constants of them are folded by what they compute in Python."""
    kept = cache_key(parse_module(program(1.0)), strict=False, target=None)

    @irdl_op_definition
    class OtherReluOp(UnaryElementwise):
        name = "other.relu"

        def evaluate(self, *operands: Array) -> Array:
            return operands[0]

    module = parse_module(program(1.0))
    relu = next(op for op in module.walk() if isinstance(op, ReluOp))
    Rewriter.replace_op(relu, OtherReluOp(relu.operand))
    assert kept is not None
    assert cache_key(module, strict=False, target=None) is None


IN_EACH_TABLE = """
import importlib
import json
import pkgutil

import other
import relex.frontend.script
from relex.dialects import parse_module
from relex.dialects.table import TABLES
from relex.runtime.cache_key import cache_key

for floor in ("dialects", "passes", "lowering", "runtime"):
    package = importlib.import_module(f"relex.{floor}")
    for module in pkgutil.walk_packages(package.__path__, f"relex.{floor}."):
        importlib.import_module(module.name)
module = parse_module("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { func.return %x : tensor<3xf32> }")


def key():
    return cache_key(module, strict=False, target=None)


keys = {"none": key()}
for table in TABLES:
    kind = "other" if any(isinstance(entry, str) for entry in table) else other.Thing
    other.enter(table, kind)
    keys[table.name] = key()
    del table[kind]
    assert key() == keys["none"]
print(json.dumps(keys))
"""


def test_a_rule_in_any_table_makes_programs_different(tmp_path: Path):
    def keys(text: str) -> dict[str, str]:
        enter = "def enter(table, kind): table.add(rule, kind)"
        (tmp_path / "other.py").write_text(f"class Thing: ...\ndef rule(*args): {text}\n{enter}\n")
        process = run_python("-c", IN_EACH_TABLE, cwd=tmp_path)
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    before, after = keys("return 1"), keys("return 1 + 1")
    expected = {"schedule-cpu", "convert-to-llvm", "legalizations", "sizes", "scalars", "simplifications", "LLVM IR"}
    assert expected < set(before)
    assert None not in before.values()
    assert len(set(before.values())) == len(before)
    # Another version of the package, where it takes part.
    assert [name for name in before if before[name] == after[name]] == ["none"]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-100],
    "other": lambda data: data[:200] + b"?" + data[201:],
    "newer": lambda data: data[:8] + b"\xff" + data[9:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entries_are_compiled_again(damage: str, tmp_path: Path, compiled: list[object]):
    build(program(1.0), cache=tmp_path)
    (entry,) = tmp_path.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(DAMAGES[damage](whole))
    assert build(program(1.0), cache=tmp_path)["main"](X).tolist() == [0.0, 3.0, 0.0]
    assert len(compiled) == 2
    assert entry.read_bytes() == whole


def test_the_usual_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: list[object]):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    build(program(1.0), cache=True)
    assert len(entries(tmp_path / "home" / "relex")) == 1
    monkeypatch.setenv("RELEX_CACHE", str(tmp_path / "named"))
    build(program(1.0))
    build(program(1.0), cache=True)
    build(program(1.0), cache=False)
    assert len(entries(tmp_path / "named")) == 1
    assert len(compiled) == 3


def test_those_that_were_not_asked_for_the_longest_go(tmp_path: Path, compiled: list[object]):
    build(program(1.0), cache=tmp_path)
    (first,) = tmp_path.iterdir()
    # Room for two and a half.
    cache = CompileCache(tmp_path, limit=first.stat().st_size * 5 // 2)
    build(program(2.0), cache=cache)
    (second,) = set(tmp_path.iterdir()) - {first}
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    build(program(1.0), cache=cache)
    assert len(compiled) == 2
    build(program(3.0), cache=cache)
    assert first.exists()
    assert not second.exists()
    assert len(entries(tmp_path)) == 2


def test_what_is_larger_than_the_cache(tmp_path: Path, compiled: list[object]):
    for _ in range(2):
        build(program(1.0), cache=CompileCache(tmp_path, limit=100))
    assert entries(tmp_path) == []
    assert len(compiled) == 2


def test_what_processes_leave_behind_goes(tmp_path: Path):
    for name, age in ((".key.relex.old", 2 * compile_cache.ABANDONED), (".key.relex.new", 0)):
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (now := (tmp_path / name).stat().st_mtime - age, now))
    build(program(1.0), cache=tmp_path)
    assert ".key.relex.new" in entries(tmp_path)
    assert ".key.relex.old" not in entries(tmp_path)


def test_a_cache_that_is_full_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(path: Path, chunks: object) -> None:
        raise RelexError(f"{path}: cannot be written: no space left on device")

    monkeypatch.setattr(compile_cache, "write_file", full)
    with pytest.warns(UserWarning, match="is not kept in the cache: .* no space left"):
        ex = build(program(1.0), cache=tmp_path)
    assert ex["main"](X).tolist() == [0.0, 3.0, 0.0]


def test_library_functions_are_looked_up_each_time(tmp_path: Path, compiled: list[object]):
    text = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.call_dps_packed "env.cached"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}"""

    def negative(x: Array, out: Array) -> None:
        np.negative(x, out=out)

    def double(x: Array, out: Array) -> None:
        np.multiply(x, 2, out=out)

    register_func("env.cached", negative)
    assert build(text, cache=tmp_path)["main"](X).tolist() == [1.0, -2.0, 3.0]
    register_func("env.cached", double, override=True)
    assert build(text, cache=tmp_path)["main"](X).tolist() == [-2.0, 4.0, -6.0]
    assert len(compiled) == 1
    remove_func("env.cached")
    with pytest.raises(CompileError, match=r"3:8: error: expected a registered library function, found \"env.cached\""):
        build(text, cache=tmp_path)


WORKER = """
import sys
import numpy as np
from relex.runtime import CompileCache, build

folder, limit, template = sys.argv[1], int(sys.argv[2]), sys.stdin.read()
print("ready", flush=True)
for round in range(2):
    for number in (1.0, 2.0, 3.0):
        ex = build(template.replace("1.0", str(number)), cache=CompileCache(folder, limit))
        x = np.array([-1, 2, -3], np.float32)
        assert (ex["main"](x) == np.maximum(x + number, 0)).all()
"""


def test_processes_share_a_cache(tmp_path: Path):
    """Room is for two of three programs: each process removes what another one is about to read."""
    build(program(1.0), cache=tmp_path)
    (entry,) = tmp_path.iterdir()
    limit = entry.stat().st_size * 5 // 2
    command = [sys.executable, "-W", "error", "-c", WORKER, str(tmp_path), str(limit)]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(program(1.0))
        worker.stdin.close()
        worker.stdin = None
    errors = [worker.communicate(timeout=600)[1] for worker in workers]
    assert errors == [""] * 2
    files = list(tmp_path.iterdir())
    assert {path.suffix for path in files} == {".relex"}
    assert sum(path.stat().st_size for path in files) <= limit
