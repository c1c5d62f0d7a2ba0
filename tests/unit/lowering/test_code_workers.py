"""LLVM's work in several processes gives the same code, and nothing depends on them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from relex.dialects.target.machine import Target
from relex.lowering.llvm.code_generator import worker, workers
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, compile_source
from relex.lowering.llvm.code_generator.workers import POOL, compile_sources
from relex.lowering.support import worker_pool
from relex.lowering.support.worker_pool import WorkerProcess

FUNCTION = """
declare float @expf(float)
define float @f{i}(float %x) {{
  %y = call float @expf(float %x)
  %z = fadd float %y, {i}.0
  ret float %z
}}
"""
SOURCES = [CompileJob(FUNCTION.format(i=i), Target.host(), 1) for i in range(6)]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[CompileJob]]:
    """What is compiled in this process, where any work is enough for others. They start with the test."""
    here: list[CompileJob] = []

    def see(source: CompileJob) -> object:
        here.append(source)
        return compile_source(source)

    monkeypatch.setattr(workers, "compile_source", see)
    monkeypatch.setattr(workers, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(worker_pool, "usable_processors", lambda: 3)
    POOL.close()
    yield here
    POOL.close()


def test_other_processes_compile_the_same(monkeypatch: pytest.MonkeyPatch, here: list[CompileJob]):
    with POOL.worker() as other:
        found = [workers._compiled_by(other, source) for source in SOURCES]  # pyright: ignore[reportPrivateUsage]
    assert here == []
    assert found == [compile_source(source) for source in SOURCES]
    assert compile_sources(SOURCES) == [compile_source(source) for source in SOURCES]


def test_what_other_processes_do():
    target = SOURCES[0].target
    head = {"target": {"triple": target.triple, "cpu": target.cpu, "features": target.features}, "level": 1}
    found, code = worker.answer(head, SOURCES[0].text.encode())
    here = compile_source(SOURCES[0])
    assert (found, code) == ({"functions": here.functions, "imports": here.imports}, here.code)


@pytest.mark.parametrize("reason", ["little work", "an option"])
def test_work_stays_here(reason: str, monkeypatch: pytest.MonkeyPatch, here: list[CompileJob]):
    if reason == "an option":
        monkeypatch.setenv("RELEX_WORKERS", "0")
    else:
        monkeypatch.setattr(workers, "MIN_SECONDS", 2.0)
    monkeypatch.setattr(worker_pool, "WorkerProcess", None)
    compile_sources(SOURCES)
    assert len(here) == len(SOURCES)


def test_interrupts_while_threads_start_end_processes(monkeypatch: pytest.MonkeyPatch):
    asked = Event()
    processes: list[WorkerProcess] = []

    def there(worker: WorkerProcess, _: object):
        processes.append(worker)
        asked.set()
        while worker.is_running:  # It has no other work, and so runs until somebody ends it.
            sleep(0.01)
        raise ValueError

    class Interrupted(Thread):
        def start(self):
            super().start()
            assert asked.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(worker_pool, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        worker_pool.share_out(SOURCES, lambda _: None, there, POOL, 2)
    [process] = processes
    assert not process.is_running


FAILURES = {
    "is no program": "{}",
    "ends": "#!/bin/sh\nexit 1\n",
    "says nothing": "#!/bin/sh\nhead -c 10 >/dev/null\n",
    "says something else": "#!/bin/sh\necho hello\ncat >/dev/null\n",
    "says too little": "#!/bin/sh\necho '{\"size\": 100}'\n",
    "hangs": "#!/bin/sh\nexec sleep 1000\n",
    "hangs after it has read": "#!/bin/sh\nhead -c 10 >/dev/null\nexec sleep 1000\n",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_processes_that_fail(tmp_path: Path, failure: str, monkeypatch: pytest.MonkeyPatch):
    executable = tmp_path / "python"
    executable.write_text(FAILURES[failure])
    executable.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(executable))
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    assert compile_sources(SOURCES) == [compile_source(source) for source in SOURCES]


def test_a_process_that_hangs_with_much_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: list[CompileJob]
):
    executable = tmp_path / "python"
    executable.write_text(FAILURES["hangs"])
    executable.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(executable))
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    long = [CompileJob(f"{source.text};{' ' * 2**17}", source.target, 1) for source in SOURCES]
    assert compile_sources(long) == [compile_source(source) for source in SOURCES]


def test_wrong_text_is_refused_here():
    wrong = CompileJob("define void @f() { ret i32 0 }", Target.host(), 1)
    with pytest.raises(RuntimeError, match="i32 0"):
        compile_sources([*SOURCES, wrong])
