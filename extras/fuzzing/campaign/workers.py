"""The processes that try programs: one that crashes or hangs is a finding, and another takes its place."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from time import monotonic, process_time
from typing import IO, Any

from relex.tools.campaign.subject import Skip
from relex.tools.campaign.subject_table import SUBJECTS
from relex.tools.campaign.trial import TrialOutcome, subject_of, try_number, write_case
from relex.tools.shell.start import collect_seldom

COMMAND = (sys.executable, "-m", "relex.tools.campaign.workers")
"""The command that a process runs."""

try:
    import resource
except ImportError:  # Where the system limits no processor time, PATIENCE does.
    resource = None

CPU_SECONDS = 120
"""The processor time that a program may take, with its reduction, until it counts as endless: most take a tenth of a
second."""

PATIENCE = 900.0
"""The time until a process that does nothing counts as hanging. A busy machine may slow down one that computes."""

PROGRAMS = 300
"""The number of programs that a process tries before another one replaces it, with fresh memory."""


@dataclass(frozen=True)
class Setting:
    """The settings shared by all processes of a campaign."""

    seed: int
    subjects: Sequence[str]
    folder: Path


class Worker:
    """A process that tries one program after the other."""

    def __init__(self, setting: Setting):
        self._setting = setting
        self._start()

    def _start(self) -> None:
        words = [self._setting.seed, ",".join(self._setting.subjects), self._setting.folder]
        self._process = subprocess.Popen(
            [*COMMAND, *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        self.tried = 0

    @property
    def output(self) -> IO[str]:
        """The output of the process: a line for each program."""
        assert self._process.stdout is not None
        return self._process.stdout

    def give(self, number: int) -> None:
        """Let the process try a program."""
        if self.tried == PROGRAMS:
            self.stop()
            self._start()
        self.tried += 1
        self.number, self.since = number, monotonic()
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")

    def take(self) -> TrialOutcome:
        """Return the outcome of the program, once there is output."""
        line = self.output.readline()
        if line:
            return replace(TrialOutcome(**json.loads(line)), number=self.number)
        return self._lost(_end_of(self._process.wait()))

    def give_up(self) -> TrialOutcome:
        """Return the outcome of a program that takes too long."""
        return self._lost(f"does not come to an end: it was stopped after {PATIENCE:g} seconds")

    def _lost(self, message: str) -> TrialOutcome:
        self.stop()
        self._start()
        seed, subjects = self._setting.seed, self._setting.subjects
        name, random = subject_of(seed, self.number, subjects)
        try:
            case = SUBJECTS[name].make(random)
        except Skip:
            return TrialOutcome(name, "wrong", message, number=self.number)
        path = write_case(self._setting.folder, f"{name}-{seed}-{self.number}", name, case, message)
        return TrialOutcome(name, "wrong", message, path, self.number)

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


def _end_of(code: int) -> str:
    """Return why a process has ended, by its exit code."""
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"does not come to an end: it was stopped after {CPU_SECONDS} seconds of processor time"
    return f"the process ended with {code}" if code >= 0 else f"the process ended by signal {-code}"


def limit_time(seconds: int) -> None:
    """Let the system end this process once it has computed for a number of `seconds` more, if it can."""
    if resource is not None:
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        until = ceil(process_time()) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (until if most == resource.RLIM_INFINITY else min(until, most), most))


def outcomes(setting: Setting, numbers: Iterator[int], jobs: int) -> Iterator[TrialOutcome]:
    """Yield the outcomes of programs as they come, for as long as there are numbers."""
    workers = [Worker(setting) for _ in range(jobs)]
    try:
        yield from _outcomes(workers, numbers)
    finally:
        for worker in workers:
            worker.stop()


def _outcomes(workers: Sequence[Worker], numbers: Iterator[int]) -> Iterator[TrialOutcome]:
    busy: list[Worker] = []
    for worker in workers:
        _next(worker, numbers, busy)
    while busy:
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            oldest = min(worker.since for worker in busy)
            ready = [key.data for key, _ in selector.select(max(0.0, oldest + PATIENCE - monotonic()))]
        late = [worker for worker in busy if monotonic() - worker.since >= PATIENCE and worker not in ready]
        for worker in [*ready, *late]:
            busy.remove(worker)
            outcome = worker.take() if worker in ready else worker.give_up()
            _next(worker, numbers, busy)
            yield outcome


def _next(worker: Worker, numbers: Iterator[int], busy: list[Worker]) -> None:
    number = next(numbers, None)
    if number is not None:
        worker.give(number)
        busy.append(worker)


def main(args: Sequence[str]) -> None:
    """Try the programs whose numbers are read from standard input."""
    seed, subjects, folder = args
    # What programs print must not come between the outcomes.
    lines: Any = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    collect_seldom()
    for line in sys.stdin:
        limit_time(CPU_SECONDS)
        outcome = try_number(int(seed), int(line), subjects.split(","), Path(folder))
        lines.write(json.dumps(asdict(outcome)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
