"""The threads that share loops marked `parallel`: `pool.ll`, compiled for this process."""

from __future__ import annotations

import atexit
import ctypes
import os
import time

from relex.dialects.exceptions import RelexError
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import usable_processors
from relex.runtime.linking import LoadedCode, link_ir, read_ir
from relex.runtime.singleton import once

VARIABLE = "RELEX_NUM_THREADS"
"""The environment variable for the number of threads that share a loop, until `set_threads` is called."""

MAX_THREADS = 256

WORTH_SHARING = 4_000
"""Nanoseconds of work that are worth sharing with threads that are awake."""

WORTH_WAKING = 40_000
"""Nanoseconds of work that are worth waking threads for."""

SURE = 2
"""The factor by which an earlier measurement must exceed these limits for work to be shared without another
measurement."""

PATIENCE = 100_000
"""Nanoseconds that a thread waits for work before it sleeps."""

_ONLINE = os.sysconf_names["SC_NPROCESSORS_ONLN"]


class ThreadPool:
    """The thread pool of this process."""

    def __init__(self, code: LoadedCode, threads: int):
        self._code = code
        self.entry = code.address("share")
        self._call("reset")
        self.threads = threads
        atexit.register(self._close)
        os.register_at_fork(after_in_child=lambda: self._call("reset"))

    @property
    def threads(self) -> int:
        """The number of threads that share a loop, including the caller."""
        return self._threads

    @threads.setter
    def threads(self, count: int) -> None:
        self._threads = count
        self._call("set_helpers", count - 1)

    def _close(self) -> None:
        """Stop the threads: those asleep in code that is unloaded could not wake up."""
        self._call("set_helpers", 0)
        self._call("stop")

    def _call(self, name: str, *numbers: int) -> None:
        kinds = [ctypes.c_int64] * len(numbers)
        ctypes.CFUNCTYPE(None, *kinds)(self._code.address(name))(*numbers)


@once
def pool() -> ThreadPool:
    """The thread pool of this process. Raises `RelexError` for an invalid number of threads in the environment."""
    return ThreadPool(_compile(), threads_wanted())


def set_threads(count: int) -> None:
    """Set the number of threads that share a loop, including the caller: 1 to 256. Applies to all executables of the
    process, from the next loop on. Raises `RelexError` for other numbers."""
    pool().threads = _checked(count, "threads")


def get_threads() -> int:
    """Return the number of threads that share a loop: the number of the last `set_threads`, else `RELEX_NUM_THREADS`,
    else the number of cores available to this process."""
    return pool().threads


def threads_wanted() -> int:
    """Return the number of threads that the environment asks for. Raises `RelexError` if it is invalid."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return min(usable_processors(), MAX_THREADS)
    return _checked(int(text) if text.isdecimal() else text, VARIABLE)


def _checked(count: object, what: str) -> int:
    if type(count) is not int or not 1 <= count <= MAX_THREADS:
        raise RelexError(f"expected {what} of 1 to {MAX_THREADS}, found {count!r}")
    return count


def _compile() -> LoadedCode:
    return link_ir(pool_text(llvm.get_process_triple()), ("share", "set_helpers", "reset", "stop"))


def pool_text(triple: str, *more: str, clock: int = time.CLOCK_MONOTONIC, online: int = _ONLINE) -> str:
    """Return the pool in LLVM IR for a triple, with `more` of these files. Other systems than this one have other
    numbers for the clock, and for `sysconf` to count processors."""
    from relex.dialects.target.processors import baseline_of

    system = "linux.ll" if "linux" in triple else "elsewhere.ll"
    values = {"clock": clock, "online": online, "most": MAX_THREADS}
    values |= {"awake": WORTH_SHARING, "asleep": WORTH_WAKING, "patience": PATIENCE}
    values |= {"sure_awake": SURE * WORTH_SHARING, "sure_asleep": SURE * WORTH_WAKING}
    text = "\n".join(read_ir("relex.runtime.threads", file, **values) for file in (system, "pool.ll", *more))
    return f"{text}\ndefine internal void @relax() {{ {baseline_of(triple).pause} ret void }}"
