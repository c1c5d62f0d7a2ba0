"""Work that other processes share with this one.

Threads would gain nothing: Python has one lock, and llvmlite another around every call of LLVM. `multiprocessing` would
run the main module of the program that calls relex once more, or fork a process that has threads. The processes are
commands of their own: they get jobs by their input, and answer by their output.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Lock, Thread, Timer
from typing import Any, Generic, TypeVar

from relex.dialects.code_worker import receive, send
from relex.passes.activity import reach

PATIENCE = 30.0
"""How often what a job is estimated to take, and as many seconds more, a process has for it."""

THREAD = "relex worker"
"""The name of a thread that waits for another process."""

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Trade(Generic[JobT, ResultT]):
    """How jobs of a kind are done."""

    do: Callable[[JobT], ResultT]
    """Does a job in this process."""
    ask: Callable[[JobT], tuple[dict[str, Any], bytes]]
    """Returns the message that has another process do it."""
    read: Callable[[dict[str, Any], bytes], ResultT]
    """Returns the result in its answer. Raises `ValueError`, `KeyError` or `TypeError` if there is none."""
    seconds: Callable[[JobT], float]
    """Returns what a job is estimated to take."""


class Worker:
    """Another process. One that fails, or takes too long, is not asked again."""

    def __init__(self, module: str):
        # With -P, modules are not taken from the current folder.
        command = [sys.executable, "-P", "-m", module]
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def ask(self, head: dict[str, Any], data: bytes, seconds: float) -> tuple[dict[str, Any], bytes] | None:
        """Return the answer to a message; None if there is none after as many seconds."""
        if (process := self._process) is None or process.stdin is None or process.stdout is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError), _ended_after(process, seconds):
            send(process.stdin, head, data)
            if (answer := receive(process.stdout)) is not None:
                return answer
        self.close()
        return None

    def close(self) -> None:
        """End the process."""
        if (process := self._process) is not None:
            process.kill()
            # The pipes are closed, and nothing of the process stays.
            with suppress(OSError, ValueError):
                process.communicate()
            self._process = None


@contextmanager
def started_workers(module: str, count: int) -> Generator[Sequence[Worker]]:
    """Start processes, which end with the `with` block."""
    with ExitStack() as stack:
        workers = [Worker(module) for _ in range(count)]
        for worker in workers:
            stack.callback(worker.close)
        yield workers


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(jobs: Sequence[JobT], trade: Trade[JobT, ResultT], workers: Sequence[Worker] = ()) -> list[ResultT]:
    """Return the results of jobs, which this process does together with others. Whatever fails elsewhere is done
    here. Raises what `trade.do` raises."""
    work = _Work(jobs, trade)
    threads = [Thread(target=work.serve, args=(worker,), name=THREAD, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        while (place := work.take()) is not None:
            reach("", work.begun - 1, len(jobs))
            work.found[place] = trade.do(jobs[place])
    finally:
        work.stop()
    for thread in threads:
        thread.join()
    return [work.found[i] if i in work.found else trade.do(job) for i, job in enumerate(jobs)]


class _Work(Generic[JobT, ResultT]):
    """Jobs to do, the longest first, and the results of those that are done."""

    def __init__(self, jobs: Sequence[JobT], trade: Trade[JobT, ResultT]):
        self._jobs = jobs
        self._trade = trade
        self._left = sorted(range(len(jobs)), key=lambda i: trade.seconds(jobs[i]))
        self._lock = Lock()
        self.found: dict[int, ResultT] = {}

    @property
    def begun(self) -> int:
        """The number of jobs that have been taken."""
        return len(self._jobs) - len(self._left)

    def take(self) -> int | None:
        """Return the place of a job that nobody does yet, if there is one."""
        with self._lock:
            return self._left.pop() if self._left else None

    def stop(self) -> None:
        """Let nobody begin another job."""
        with self._lock:
            self._left.clear()

    def serve(self, worker: Worker) -> None:
        """Have another process do jobs until none is left, or until it fails."""
        while (place := self.take()) is not None:
            job = self._jobs[place]
            answer = worker.ask(*self._trade.ask(job), PATIENCE * (1 + self._trade.seconds(job)))
            if answer is None:
                return
            with suppress(ValueError, KeyError, TypeError):
                self.found[place] = self._trade.read(*answer)


@contextmanager
def _ended_after(process: subprocess.Popen[bytes], seconds: float) -> Generator[None]:
    """End a process unless the `with` block ends before: whoever waits for its answer finds that it has none."""
    timer = Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
