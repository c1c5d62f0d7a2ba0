"""Other processes that do a part of the work.

Threads would gain nothing: Python has a lock, and llvmlite holds one around every call of LLVM. `multiprocessing` would
run the main module of the program that calls relex once more, or fork a process that has threads. The processes run a
separate command, `python -m relex.lowering.support.worker_pool MODULE`, and call `answer` of that module. A request and
its answer are a line of JSON, then as many bytes as it says.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Condition, Thread, Timer
from typing import IO, Any, Generic, TypeVar

from relex.dialects.target.machine import usable_processors
from relex.lazy import import_uncollected

VARIABLE = "RELEX_WORKERS"
"""The environment variable that says how many other processes may work at once; 0 is none."""

IDLE = 5.0
"""Seconds without work after which a process ends."""

Message = tuple[dict[str, Any], bytes]
JobT = TypeVar("JobT")

_is_sharing = ContextVar("is_sharing", default=False)
"""True in what `share_out` does in this process: all processors have work already."""


def workers_wanted() -> int:
    """Return how many other processes may work at once: by default, one less than there are processors. None may for
    one that works for another one, or does its share of what is shared out."""
    if _is_sharing.get():
        return 0
    given = os.environ.get(VARIABLE, "")
    return int(given) if given.isdecimal() else usable_processors() - 1


def send(stream: IO[bytes], head: dict[str, Any], data: bytes) -> None:
    """Write a message."""
    stream.write(json.dumps({**head, "size": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Message | None:
    """Read a message; None at the end. Raises `ValueError` if it is not complete."""
    line = stream.readline()
    if not line:
        return None
    head: dict[str, Any] = json.loads(line)
    data = stream.read(head["size"])
    if len(data) != head["size"]:
        raise ValueError(f"expected {head['size']} bytes, found {len(data)}")
    return head, data


def main(module: str) -> None:
    """Answer requests until the input ends, or until there has been none for a while."""
    answer: Callable[[dict[str, Any], bytes], Message] = import_uncollected(module).answer
    gc.freeze()
    while select.select([sys.stdin], [], [], IDLE)[0] and (request := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, *answer(*request))


class WorkerProcess:
    """A process that answers requests."""

    def __init__(self, module: str):
        # With -P, modules are not taken from the current folder.
        command = [sys.executable, "-P", "-m", "relex.lowering.support.worker_pool", module]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, VARIABLE: "0"},
        )

    @property
    def is_running(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    def ask(self, head: dict[str, Any], data: bytes, seconds: float) -> Message:
        """Return the answer to a request. Raises `OSError` or `ValueError` if there is none in time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = Timer(seconds, self.end)
        timer.daemon = True
        timer.start()
        try:
            send(self._process.stdin, head, data)
            answer = receive(self._process.stdout)
        finally:
            timer.cancel()
        if answer is None:
            raise ValueError("expected an answer, found the end")
        return answer

    def end(self) -> None:
        """Kill the process: who waits for its answer gets none."""
        with suppress(OSError), self._process:  # Its pipes are closed.
            self._process.kill()


class _Busy:
    """The number of processes that work, of all pools: together they have the processors of this machine."""

    def __init__(self):
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Have none."""
        self.changed = Condition()
        self.count = 0


_BUSY = _Busy()


class WorkerPool:
    """The processes that answer by one module. Builds in several threads share them; they stay for a while."""

    def __init__(self, module: str):
        self._module = module
        self.forget()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            # A process that is forked from this one does not talk to its workers.
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Have no processes any more."""
        self._free: list[WorkerProcess] = []

    def close(self) -> None:
        """End the processes that have nothing to do."""
        with _BUSY.changed:
            free, self._free = self._free, []
        for worker in free:
            worker.end()

    def start(self, count: int) -> None:
        """Have this number of processes start, for work that will come soon."""
        with _BUSY.changed, suppress(OSError):
            self._forget_ended()
            while len(self._free) + _BUSY.count < min(count, workers_wanted()):
                self._free.append(WorkerProcess(self._module))

    def _forget_ended(self) -> None:
        """Forget processes that have had nothing to do for a while."""
        for worker in [worker for worker in self._free if not worker.is_running]:
            self._free.remove(worker)
            worker.end()

    @contextmanager
    def worker(self) -> Generator[WorkerProcess]:
        """Have a process for a request, as soon as one may work. It ends if the `with` block fails."""
        with _BUSY.changed:
            _BUSY.changed.wait_for(lambda: _BUSY.count < workers_wanted())
            _BUSY.count += 1
            self._forget_ended()
            free = self._free.pop() if self._free else None
        try:
            worker = free or WorkerProcess(self._module)
            try:
                yield worker
            except BaseException:
                worker.end()
                raise
            with _BUSY.changed:
                self._free.append(worker)
        finally:
            with _BUSY.changed:
                _BUSY.count -= 1
                _BUSY.changed.notify_all()


class _Work(Generic[JobT]):
    """Jobs that are left, the first of them first, and the workers that are at some."""

    def __init__(self, jobs: Sequence[JobT], parties: int, most: int):
        self._left = list(jobs)
        self._parties = parties
        self._most = most
        self._changed = Condition()
        self._busy: list[WorkerProcess] = []

    def take(self) -> list[JobT]:
        """Return jobs that nobody does yet: fewer and fewer, so that all parties end at the same time."""
        with self._changed:
            count = min(self._most, max(1, len(self._left) // (2 * self._parties)))
            taken, self._left = self._left[:count], self._left[count:]
            return taken

    def serve(self, pool: WorkerPool, there: Callable[[WorkerProcess, Sequence[JobT]], None]) -> None:
        """Have workers do jobs until none is left, or until one fails or takes too long."""
        with suppress(Exception):  # What a worker answers may be anything; its jobs are done in this process.
            while self._left:
                with pool.worker() as worker, self._occupied(worker):
                    if jobs := self.take():
                        there(worker, jobs)

    @contextmanager
    def _occupied(self, worker: WorkerProcess) -> Generator[None]:
        with self._changed:
            self._busy.append(worker)
        try:
            yield
        finally:
            with self._changed:
                self._busy.remove(worker)
                self._changed.notify()

    def finish(self) -> None:
        """Wait for those who are at a job."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy)

    def stop(self) -> None:
        """End those who are at a job; nobody begins another one."""
        with self._changed:
            self._left.clear()
            busy = [*self._busy]
        for worker in busy:
            worker.end()


def share_out(
    jobs: Sequence[JobT],
    here: Callable[[Sequence[JobT]], None],
    there: Callable[[WorkerProcess, Sequence[JobT]], None],
    pool: WorkerPool,
    others: int,
    most: int = 1,
) -> None:
    """Do jobs, the first of them first and at most `most` at once: `here` does some in this process, `there` has other
    processes do others, up to `others` of them; `workers_wanted` is 0 meanwhile in `here`. Those at which another
    process fails are not done."""
    work = _Work(jobs, 1 + others, most)
    try:
        with suppress(RuntimeError):  # No more threads may start.
            for _ in range(others):
                Thread(target=work.serve, args=(pool, there), daemon=True).start()
        token = _is_sharing.set(_is_sharing.get() or others > 0)
        try:
            while taken := work.take():
                here(taken)
        finally:
            _is_sharing.reset(token)
        work.finish()
    except BaseException:
        work.stop()
        raise


if __name__ == "__main__":
    main(sys.argv[1])
