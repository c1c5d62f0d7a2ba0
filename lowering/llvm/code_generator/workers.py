"""Compilation of LLVM IR in several processes.

Threads would gain nothing: llvmlite holds a lock around every call of LLVM. `multiprocessing` would run the main module
of the program that calls relex once more, or fork a process that has threads. The processes run a separate command.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Lock, Thread, Timer

from relex.dialects.target.machine import usable_processors
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, Emitted, compile_source
from relex.lowering.llvm.code_generator.worker import receive, send
from relex.passes.driver.activity import reach

SECONDS_PER_BYTE = 1e-5
"""The estimated compile time of LLVM per byte of text, in seconds on a common machine."""

MIN_SECONDS = 2.0
"""The estimated compile time, in seconds, from which on starting other processes pays off."""

PATIENCE = 30.0
"""The time limit of a process for a module, as a multiple of the estimated compile time plus a second."""


def compile_sources(sources: Sequence[CompileJob]) -> list[Emitted]:
    """Compile modules, in several processes if that takes long. Modules that fail in another process are compiled in
    this one. Raises `RuntimeError` for text that is not LLVM IR."""
    seconds = sum(map(_seconds, sources))
    others = min(usable_processors(), len(sources)) - 1 if seconds >= MIN_SECONDS else 0
    work = _Work(sources)
    threads = [Thread(target=work.serve, daemon=True) for _ in range(others)]
    for thread in threads:
        thread.start()
    while (place := work.take()) is not None:
        # The names of kernels are not informative.
        reach("", work.begun - 1, len(sources))
        work.found[place] = compile_source(sources[place])
    for thread in threads:
        thread.join()
    return [work.found[i] if i in work.found else compile_source(source) for i, source in enumerate(sources)]


def _seconds(source: CompileJob) -> float:
    """Return the estimated compile time of a module in seconds."""
    return SECONDS_PER_BYTE * len(source.text)


class _Work:
    """Modules to compile, the longest first, and what has been compiled."""

    def __init__(self, sources: Sequence[CompileJob]):
        self._sources = sources
        self._left = sorted(range(len(sources)), key=lambda i: len(sources[i].text))
        self._lock = Lock()
        self.found: dict[int, Emitted] = {}

    @property
    def begun(self) -> int:
        """The number of modules that have been taken."""
        return len(self._sources) - len(self._left)

    def take(self) -> int | None:
        """Return the index of a module that is not being compiled yet, if there is one."""
        with self._lock:
            return self._left.pop() if self._left else None

    def serve(self) -> None:
        """Have another process compile modules until none is left, or until it fails or takes too long."""
        with suppress(OSError, ValueError, KeyError, TypeError), _process() as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                while (place := self.take()) is not None:
                    source = self._sources[place]
                    head = {"target": asdict(source.target), "level": source.level}
                    with _ended_after(process, PATIENCE * (1 + _seconds(source))):
                        send(process.stdin, head, source.text.encode())
                        answer = receive(process.stdout)
                    if answer is None:
                        return
                    facts, code = answer
                    self.found[place] = Emitted(code, tuple(facts["functions"]), tuple(facts["imports"]))
            finally:
                process.kill()


@contextmanager
def _ended_after(process: subprocess.Popen[bytes], seconds: float) -> Generator[None]:
    """Kill a process unless the `with` block ends in time: a reader that waits for its answer then gets none."""
    timer = Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _process() -> subprocess.Popen[bytes]:
    # With -P, modules are not taken from the current folder.
    command = [sys.executable, "-P", "-m", "relex.lowering.llvm.code_generator.worker"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
