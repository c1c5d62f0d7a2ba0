"""Kernels that other processes compile are the same, and nothing depends on these processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from textwrap import dedent
from threading import Barrier, Thread
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from broken_workers import BROKEN, start_instead_of_workers
from own_cache import own_kernels
from stages_seen import StagesSeen
from test_kernel_cache import X, layers
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.target.machine import ObjectCode
from relex.lowering.kernels.alone import KernelGroup, alone
from relex.lowering.kernels.marks import KEY_ATTR
from relex.lowering.llvm.parts import compile_each
from relex.lowering.support import worker_pool
from relex.lowering.support.worker_pool import WorkerProcess
from relex.passes.driver.activity import watched_by
from relex.runtime import build, cache_key, compilation, kernel_worker, kernel_workers
from relex.runtime.kernel_cache import MEMORY, Kernel, KernelCache
from relex.runtime.kernel_workers import POOL

WIDTHS = range(8, 32, 4)


def no_others(module: ModuleOp) -> list[str]:
    return []


@pytest.fixture(autouse=True)
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The cache is on and empty, and few groups are enough for another process, which starts with the test."""
    # Other tests of this process may have added operators, which other processes do not have.
    monkeypatch.setattr(cache_key, "_of_others", no_others)
    for module in (compilation, kernel_workers):
        monkeypatch.setattr(module, "entered_by_others", lambda: False)
    monkeypatch.setattr(kernel_workers, "MIN_GROUPS", 2)
    monkeypatch.setattr(kernel_workers, "GROUPS_OF_A_WORKER", 1)
    monkeypatch.setattr(worker_pool, "usable_processors", lambda: 2)
    POOL.close()
    with own_kernels(tmp_path, monkeypatch):
        yield
    POOL.close()


@pytest.fixture
def all_there(monkeypatch: pytest.MonkeyPatch) -> list[KernelGroup]:
    """The groups that are compiled, all by another process."""
    found: list[KernelGroup] = []

    def share_out(
        groups: Sequence[KernelGroup],
        here: object,
        there: Callable[[WorkerProcess, Sequence[KernelGroup]], None],
        *_: object,
    ):
        found.extend(groups)
        with POOL.worker() as worker:
            there(worker, groups)

    monkeypatch.setattr(kernel_workers, "share_out", share_out)
    return found


def kernels() -> dict[str, Kernel]:
    """The kernels that are known, by key."""
    entries = MEMORY._entries  # pyright: ignore[reportPrivateUsage]
    return {key: entry for key, entry in entries.items() if isinstance(entry, Kernel)}


def is_off(_: object) -> bool:
    """Let kernels be kept in memory."""
    return False


def without_workers(program: ModuleOp, **options: Any) -> dict[str, Kernel]:
    """The kernels that one process compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELEX_WORKERS", "0")
        patch.setenv("RELEX_CACHE", "off")
        patch.setattr(compilation, "is_off", is_off)
        patch.setattr(worker_pool, "WorkerProcess", None)
        build(program, **options)
    found = kernels()
    MEMORY.clear()
    return found


@cache
def kernels_of_layers() -> dict[str, Kernel]:
    """The kernels of the program that most tests build."""
    return without_workers(layers(WIDTHS))


RESIDUAL = """
func.func @main(%x: tensor<32x48xf32>) -> tensor<32x48xf32> {{
  %w = relex.constant dense<"0x{weights}"> : tensor<48x48xf32>
  %0 = relex.dense %x, %w : (tensor<32x48xf32>, tensor<48x48xf32>) -> tensor<32x48xf32>
  %1 = relex.softmax %0 : (tensor<32x48xf32>) -> tensor<32x48xf32>
  %2 = relex.dense %1, %w : (tensor<32x48xf32>, tensor<48x48xf32>) -> tensor<32x48xf32>
  %3 = relex.add %2, %0 : (tensor<32x48xf32>, tensor<32x48xf32>) -> tensor<32x48xf32>
  %4 = relex.softmax %3 : (tensor<32x48xf32>) -> tensor<32x48xf32>
  func.return %4 : tensor<32x48xf32>
}}
"""
"""A sum whose result takes the place of an operand."""

CONVOLUTIONS = """
func.func @main(%x: tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32> {{
  %w = relex.constant dense<"0x{first}"> : tensor<8x8x3x3xf32>
  %v = relex.constant dense<"0x{second}"> : tensor<8x8x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [1]
      : (tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x12x12xf32>
  %1 = relex.tanh %0 : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32>
  %2 = relex.conv2d %1, %v padding = [2] dilation = [2, 2]
      : (tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x12x12xf32>
  func.return %2 : tensor<1x8x12x12xf32>
}}
"""
"""Products of padding."""


def residual(rows: int | str = 32) -> ModuleOp:
    """A program with a group that works in place."""
    text = RESIDUAL.replace("32x48", f"{rows}x48")
    return parse_module(text.format(weights=np.eye(48, dtype=np.float32).tobytes().hex()))


def convolutions(number: float) -> ModuleOp:
    """A program with a group whose code depends on whether a constant is finite."""
    weights = np.random.default_rng(0).random((2, 8, 8, 3, 3), np.float32)
    weights[1, 0, 0, 0, 0] = number
    first, second = (array.tobytes().hex() for array in weights)
    return parse_module(CONVOLUTIONS.format(first=first, second=second))


PROGRAMS: dict[str, Callable[[], ModuleOp]] = {
    "layers": lambda: layers(WIDTHS),
    "in place": residual,
    "dynamic sizes": lambda: residual("?"),
    "finite": lambda: convolutions(1.0),
    "infinite": lambda: convolutions(float("inf")),
}


@pytest.mark.sampled
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_another_process_compiles_the_same(
    name: str, strict: bool, all_there: list[KernelGroup], monkeypatch: pytest.MonkeyPatch
):
    program = PROGRAMS[name]()
    expected = without_workers(program, strict=strict)

    def compile_each(modules: Sequence[ModuleOp]) -> list[Any]:
        assert not modules
        return []

    monkeypatch.setattr("relex.runtime.kernel_cache.compile_each", compile_each)
    build(program, strict=strict)
    assert len(all_there) > 1
    assert kernels() == expected


def test_this_process_and_another_share_the_work(monkeypatch: pytest.MonkeyPatch):
    program, here, there = layers(WIDTHS), list[int](), list[int]()
    expected = kernels_of_layers()
    compile_groups, put = compilation.compile_groups, KernelCache.put

    def see_here(module: ModuleOp, *rest: Any) -> None:
        here.append(len(list(module.ops)) // 2)
        compile_groups(module, *rest)
        if len(here) == 1:
            # The other process needs a while to start.
            end = monotonic() + 60
            while not there and monotonic() < end:
                pass

    def see_put(cache: KernelCache, entries: Any) -> None:
        if not isinstance(cache, kernel_workers.Collected) and len(here) <= 1 and entries:
            there.append(len(entries))
        put(cache, entries)

    monkeypatch.setattr(compilation, "compile_groups", see_here)
    monkeypatch.setattr(KernelCache, "put", see_put)
    y = build(program)["main"](X)
    assert kernels() == expected
    assert 0 < sum(here) < len(WIDTHS)
    np.testing.assert_array_equal(y, build(program, cache=False)["main"](X))


def test_kernels_are_counted():
    """The groups that are done, in this process and others; what LLVM does is told apart."""
    seen = StagesSeen()
    with watched_by(seen):
        build(layers(WIDTHS))
    counted = [done for stage, done, count in seen.parts if stage == "Kernels" and count == len(WIDTHS)]
    assert counted
    assert counted[0] == 0
    assert counted == sorted(set(counted))
    assert any(stages[-1] == "LLVM" and "Kernels" in stages for stages in seen.ended)


def test_two_builds_share_a_process():
    """Each gets the right kernels, and there is never a second process."""
    programs = [layers(WIDTHS), layers(range(10, 34, 4), seed=1)]
    expected = [kernels_of_layers(), without_workers(programs[1])]
    started: list[WorkerProcess] = []
    outputs: dict[int, Any] = {}

    class Counted(WorkerProcess):
        def __init__(self, module: str):
            super().__init__(module)
            started.append(self)

    def run(i: int) -> None:
        outputs[i] = build(programs[i])["main"](X)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "WorkerProcess", Counted)
        run_at_once(run)
    assert kernels() == expected[0] | expected[1]
    assert len(started) == 1
    for i, program in enumerate(programs):
        np.testing.assert_array_equal(outputs[i], build(program, cache=False)["main"](X))


def run_at_once(work: Callable[[int], object], count: int = 2) -> None:
    """Run a function in several threads, each with its number."""
    threads = [Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_builds_of_a_program_share_out_its_groups_once(monkeypatch: pytest.MonkeyPatch):
    """Each builds what the other does not, and waits for the rest."""
    begin, compiled, outputs = Barrier(2), list[str](), dict[int, Any]()

    def see(module: ModuleOp, groups: Sequence[KernelGroup]) -> ModuleOp:
        compiled.extend(group.recipe for group in groups)
        return alone(module, groups)

    def run(i: int) -> None:
        program = layers(WIDTHS)
        begin.wait()
        outputs[i] = build(program)["main"](X)

    monkeypatch.setattr(kernel_workers, "alone", see)
    run_at_once(run)
    assert len(compiled) == len(set(compiled)) == len(WIDTHS)
    np.testing.assert_array_equal(outputs[0], outputs[1])


def test_two_builds_of_a_program_compile_its_kernels_once(monkeypatch: pytest.MonkeyPatch):
    """Without other processes, too."""
    begin, compiled, outputs = Barrier(2), list[str](), dict[int, Any]()

    def see(modules: Sequence[ModuleOp]) -> list[ObjectCode]:
        if modules:
            compiled.extend(str(module.attributes[KEY_ATTR]) for module in modules)
            sleep(0.5)
        return compile_each(modules)

    def run(i: int) -> None:
        program = layers([24, 16])
        begin.wait()
        outputs[i] = build(program)["main"](X)

    monkeypatch.setenv("RELEX_WORKERS", "0")
    monkeypatch.setattr("relex.runtime.kernel_cache.compile_each", see)
    run_at_once(run)
    assert len(compiled) == len(set(compiled)) == 2
    np.testing.assert_array_equal(outputs[0], outputs[1])


@pytest.mark.parametrize("failure", BROKEN)
def test_processes_that_fail(tmp_path: Path, failure: str, monkeypatch: pytest.MonkeyPatch):
    program = layers(WIDTHS)
    expected = kernels_of_layers()
    start_instead_of_workers(failure, tmp_path, monkeypatch)
    monkeypatch.setattr(kernel_workers, "PATIENCE", 0.1)
    asked: list[int] = []
    ask = WorkerProcess.ask

    def see(worker: WorkerProcess, *message: Any) -> object:
        asked.append(len(message))
        return ask(worker, *message)

    monkeypatch.setattr(WorkerProcess, "ask", see)
    build(program)
    assert kernels() == expected
    assert len(asked) == (failure != "is no program")


def test_another_compiler_is_refused(monkeypatch: pytest.MonkeyPatch):
    """Its code would not be what this process compiles."""
    texts: list[str] = []

    def share_out(groups: Sequence[KernelGroup], *_: object) -> None:
        texts.append(str(alone(ModuleOp([]), groups)))

    monkeypatch.setattr(kernel_workers, "share_out", share_out)
    build(layers([24, 16]))
    with pytest.raises(ValueError, match="the same compiler"):
        kernel_worker.answer({"compiler": "another", "strict": False}, texts[0].encode())


@pytest.mark.parametrize("reason", ["few groups", "an option", "operators of others", "known kernels"])
def test_no_process_starts(reason: str, monkeypatch: pytest.MonkeyPatch):
    program = layers(WIDTHS)
    match reason:
        case "few groups":
            monkeypatch.setattr(kernel_workers, "MIN_GROUPS", len(WIDTHS) + 1)
        case "an option":
            monkeypatch.setenv("RELEX_WORKERS", "0")
        case "operators of others":
            monkeypatch.setattr(kernel_workers, "entered_by_others", lambda: True)
        case _:
            build(program)
            POOL.close()
    monkeypatch.setattr(worker_pool, "WorkerProcess", None)
    build(program)


def test_a_process_starts_before_groups_are_known(monkeypatch: pytest.MonkeyPatch):
    started: list[int] = []
    monkeypatch.setattr(POOL, "start", started.append)
    build(layers(WIDTHS))
    assert started == [len(WIDTHS)]


PROGRAM = """
    import os, signal, sys
    os.environ.pop("RELEX_VERIFY", None)
    sys.path[:0] = sys.argv[1:3]
    print("main", os.getpid(), flush=True)
    from test_kernel_cache import X, layers
    from relex.lowering.support import worker_pool
    from relex.runtime import build, kernel_workers
    worker_pool.usable_processors = lambda: 2
    kernel_workers.MIN_GROUPS = kernel_workers.GROUPS_OF_A_WORKER = 1
"""


def run_program(code: str, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a program that has no guard for its main module."""
    file = tmp_path / "program.py"
    file.write_text(dedent(PROGRAM) + dedent(code))
    tests = Path(__file__).parents[1]
    command = [sys.executable, str(file), str(tests / "runtime"), str(tests / "support")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_main_module_runs_once(tmp_path: Path):
    code = """
        def share_out(groups, here, there, pool, *_):
            with pool.worker() as worker:
                there(worker, groups)
        kernel_workers.share_out = share_out
        build(layers(range(8, 32, 4)))
        print("built")
    """
    output, errors = run_program(code, tmp_path).communicate(timeout=300)
    assert output.split()[::2] == ["main", "built"], errors


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_interrupts_end_processes(tmp_path: Path):
    """Also one that does not end by itself, of which only its parent gets the signal."""
    code = f"""
        class Slow(worker_pool.WorkerProcess):
            def __init__(self, module):
                sys.executable = {str(tmp_path / "python")!r}
                super().__init__(module)
            def ask(self, *message):
                print(self._process.pid, flush=True)
                return super().ask(*message)
        worker_pool.WorkerProcess = Slow
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Shells let programs in the background ignore it.
        try:
            build(layers(range(8, 32, 4)))
        except KeyboardInterrupt:
            print("interrupted")
    """
    executable = tmp_path / "python"
    executable.write_text("#!/bin/sh\ntrap '' INT\nexec sleep 1000\n")
    executable.chmod(0o700)
    process = run_program(code, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("main")
    worker = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert output == "interrupted\n", errors
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_forked_process_starts_its_own():
    POOL.start(1)
    with POOL.worker() as worker:
        child = os.fork()
        if child == 0:
            with POOL.worker() as own:
                os._exit(own is worker)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
