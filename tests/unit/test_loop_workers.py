"""Loop functions that other processes schedule and compile: the same code, and nothing depends on those processes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.support import loop_jobs, workers
from relex.lowering.support.loop_jobs import LoopJob
from relex.lowering.support.workers import THREAD, Worker
from relex.runtime import build, kernel_cache
from relex.runtime.executable import Executable
from relex.runtime.kernel_cache import MEMORY

WIDTHS = (24, 9, 33)
X = np.linspace(-1, 1, 32 * 24, dtype=np.float32).reshape(32, 24)
Asked = list[tuple[str, bool]]


def network() -> ModuleOp:
    """Dense layers, a softmax, whose rows are a kernel that needs memory, and a sum, which can be in place."""
    rng = np.random.default_rng(0)
    bb, x = BlockBuilder(), Var("x", (32, 24), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for before, after in pairwise(WIDTHS):
                weight = const(rng.random((after, before), np.float32) / before)
                y = bb.emit(op.tanh(bb.emit(op.dense(y, weight))))
            z = bb.emit(op.softmax(y, axis=-1))
            y = bb.emit_output(bb.emit(op.add(bb.emit(op.cumsum(z, axis=0)), y)))
        bb.emit_func_output(y)
    return bb.get()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The cache of kernels is on and empty, and there is a processor for another process."""
    monkeypatch.delenv("RELEX_VERIFY", raising=False)
    monkeypatch.delenv("RELEX_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(workers, "cores", lambda: 2)
    MEMORY.clear()
    yield
    MEMORY.clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What others were asked, and whether they answered. This process does nothing as long as they work."""
    monkeypatch.setattr(kernel_cache, "MIN_OPERATORS", 1)
    found: Asked = []
    ask = Worker.ask

    def seen(self: Worker, head: dict[str, Any], data: bytes, seconds: float) -> object:
        answer = ask(self, head, data, seconds)
        found.append((head["task"], answer is not None))
        return answer

    def take_last(work: workers._Work[Any, Any]) -> int | None:  # pyright: ignore[reportPrivateUsage]
        for thread in threading.enumerate() if threading.current_thread().name != THREAD else ():
            if thread.name == THREAD:
                thread.join()
        return take(work)

    take: Callable[[workers._Work[Any, Any]], int | None]  # pyright: ignore[reportPrivateUsage]
    take = workers._Work.take  # pyright: ignore
    monkeypatch.setattr(workers._Work, "take", take_last)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(Worker, "ask", seen)
    return found


def code(executable: Executable) -> list[bytes]:
    return sorted(executable._program.code.parts)  # pyright: ignore[reportPrivateUsage]


@cache
def alone(strict: bool = False) -> tuple[Executable, list[bytes]]:
    """The network without other processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "cores", lambda: 1)
        patch.setenv("XDG_CACHE_HOME", os.environ["XDG_CACHE_HOME"] + "/alone")
        executable = build(network(), strict=strict)
    MEMORY.clear()
    return executable, code(executable)


def test_others_make_the_same_code(asked: Asked) -> None:
    other, expected = alone()
    assert asked == []
    module = network()
    executable = build(module)
    assert code(executable) == expected
    assert {("schedule", True), ("compile", True)} == {*asked}
    np.testing.assert_array_equal(executable["main"](X), other["main"](X))
    asked.clear()
    # From memory, and then from files.
    assert code(build(module)) == expected
    MEMORY.clear()
    assert code(build(module)) == expected
    assert asked == []


def test_strict_stays_strict(asked: Asked) -> None:
    _, expected = alone(strict=True)
    assert code(build(network(), strict=True)) == expected
    assert ("compile", True) in asked


FAILURES = {"is no program": "{}", "ends": "#!/bin/sh\nexit 1\n", "says nothing": "#!/bin/sh\necho '{\"size\": 0}'\n"}


@pytest.mark.parametrize("failure", FAILURES)
def test_processes_that_fail(tmp_path: Path, failure: str, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = alone()
    executable = tmp_path / "python"
    executable.write_text(FAILURES[failure])
    executable.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(executable))
    assert code(build(network())) == expected
    assert "schedule" in dict(asked)


def test_another_relex_is_not_asked(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_jobs, "COMPILER", "elsewhere")
    _, expected = alone()
    assert code(build(network())) == expected
    assert not any(is_answered for _, is_answered in asked)


def test_few_operators_stay_here(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "MIN_OPERATORS", 24)
    build(network())
    assert asked == []


def test_entries_of_others_are_unknown_elsewhere(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "entered_by_others", lambda: True)
    build(network())
    assert asked == []


def test_functions_that_are_inlined_are_no_kernels() -> None:
    module = parse_module("""
      tir.prim_func private @f(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
        tir.for %i in (4) {
          tir.block @y (%vi: spatial<4> = %i) {
            %0 = memref.load %x[%vi] : memref<4xf32>
            memref.store %0, %y[%vi] : memref<4xf32>
          }
        }
      }
      tir.prim_func private @g(%x: memref<64x64xf32>) outs(%y: memref<64x64xf32>) {
        tir.for %i, %j in (64, 64) {
          tir.block @y (%vi: spatial<64> = %i, %vj: spatial<64> = %j) {
            %0 = memref.load %x[%vi, %vj] : memref<64x64xf32>
            memref.store %0, %y[%vj, %vi] : memref<64x64xf32>
          }
        }
      }
    """)
    found = [loop_jobs.compile_loops(LoopJob(f).module(), strict=False) for f in list(module.ops)]  # pyright: ignore
    assert [f is not None for f in found] == [False, True]
