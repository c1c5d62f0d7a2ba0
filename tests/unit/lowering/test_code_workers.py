"""LLVM's work in several processes gives the same code, and nothing depends on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest
from broken_workers import BROKEN, start_instead_of_workers

from relex.dialects.target.machine import Target
from relex.lowering.llvm.code_generator import worker, workers
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, compile_source
from relex.lowering.llvm.code_generator.workers import POOL, compile_sources
from relex.lowering.support import worker_pool
from relex.lowering.support.claims import Claims
from relex.lowering.support.worker_pool import WorkerPool, WorkerProcess

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


@pytest.mark.parametrize("failure", BROKEN)
def test_processes_that_fail(
    tmp_path: Path, failure: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    """Nothing is said about them: their work is done here."""
    start_instead_of_workers(failure, tmp_path, monkeypatch)
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    assert compile_sources(SOURCES) == [compile_source(source) for source in SOURCES]
    assert raised == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("started", [0, 1])
def test_threads_that_cannot_start(started: int, monkeypatch: pytest.MonkeyPatch):
    class Few(Thread):
        left = started

        def start(self):
            if Few.left == 0:
                raise RuntimeError("can't start new thread")
            Few.left -= 1
            super().start()

    monkeypatch.setattr(worker_pool, "Thread", Few)
    assert compile_sources(SOURCES) == [compile_source(source) for source in SOURCES]


def test_workers_start_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted = "from relex.lowering.support.worker_pool import workers_wanted"
    (tmp_path / "wanting.py").write_text(
        f"{wanted}\ndef answer(head, data): return {{'wanted': workers_wanted()}}, b''"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("RELEX_WORKERS", raising=False)
    worker = WorkerProcess("wanting")
    assert worker.ask({}, b"", 60)[0]["wanted"] == 0
    worker.end()


def test_shares_are_not_shared_out_again(monkeypatch: pytest.MonkeyPatch):
    """While this process does its share, it starts no other processes, also for other work."""
    wanted: list[int] = []

    def wait(worker: WorkerProcess, _: object):
        raise ValueError

    def here(_: object):
        wanted.append(worker_pool.workers_wanted())

    worker_pool.share_out(range(4), here, wait, POOL, 1)
    assert set(wanted) == {0}
    worker_pool.share_out(range(4), here, wait, POOL, 0)
    assert wanted[-1] == 2


def test_pools_share_the_processors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worker_pool, "usable_processors", lambda: 2)
    other, have = WorkerPool("relex.lowering.llvm.code_generator.worker"), Event()

    def take():
        with other.worker():
            have.set()

    thread = Thread(target=take)
    with POOL.worker():
        thread.start()
        assert not have.wait(0.2)
    thread.join(60)
    assert have.is_set()
    other.close()


def test_claims():
    claims, order = Claims(), list[str]()
    with claims.claimed(["a", "b"]) as mine, claims.claimed(["b", "c"]) as others:
        assert (mine, others) == ({"a", "b"}, {"c"})
        waiting = Thread(target=lambda: (claims.wait_for(["b"]), order.append("waited")))
        waiting.start()
        sleep(0.05)
        order.append("made")
    waiting.join(60)
    assert order == ["made", "waited"]
    claims.wait_for(["a", "b", "c"])
    with suppress(ValueError), claims.claimed(["a"]):
        raise ValueError
    with claims.claimed(["a"]) as mine:
        assert mine == {"a"}


def test_a_process_that_hangs_with_much_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: list[CompileJob]
):
    start_instead_of_workers("hangs", tmp_path, monkeypatch)
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    long = [CompileJob(f"{source.text};{' ' * 2**17}", source.target, 1) for source in SOURCES]
    assert compile_sources(long) == [compile_source(source) for source in SOURCES]


def test_wrong_text_is_refused_here():
    wrong = CompileJob("define void @f() { ret i32 0 }", Target.host(), 1)
    with pytest.raises(RuntimeError, match="i32 0"):
        compile_sources([*SOURCES, wrong])
