"""Loading of object code into this process."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from relex.dialects.exceptions import RelexError
from relex.dialects.target import machine
from relex.dialects.target.llvm_binding import llvm
from relex.runtime.arenas import Arenas
from relex.runtime.callbacks import has_memory, new_result
from relex.runtime.descriptors import code_address
from relex.runtime.linking import LoadedCode, link
from relex.runtime.singleton import once

if TYPE_CHECKING:
    from relex.runtime.linking import Buffer


def load(code: machine.ObjectCode, symbols: Mapping[str, int] | None = None) -> LoadedCode:
    """Load object code into this process, where it is linked with the C library.

    `symbols` are the addresses of other functions that it calls; they must outlive the result. Raises `RelexError` if
    this machine cannot run the code, or if it calls a function that does not exist.
    """
    check_runs_here(code)
    allocates = not {machine.ALLOC, machine.FREE}.isdisjoint(code.imports)
    answers = {machine.NEW_RESULT: new_result, machine.HAS_MEMORY: has_memory}
    own = {name: code_address(answer()) for name, answer in answers.items() if name in code.imports}
    symbols = {**own, **(arenas().symbols if allocates else {}), **_threads(code), **(symbols or {})}
    for name in code.imports:
        if name not in symbols and not hasattr(_process(), name):
            raise RelexError(f"the code calls a function '{name}', which this process does not have")
    constants = {name: aligned(data) for name, data in code.constants.items()}
    addresses = {**symbols, **{name: buffer.ctypes.data for name, buffer in constants.items()}}
    result = link(code.parts, addresses, code.functions, constants.values())
    if allocates:
        arenas().keep_for(result)
    return result


def _threads(code: machine.ObjectCode) -> Mapping[str, int]:
    """Return the address of the thread pool's entry, if the code has parallel loops. The number of threads in the
    environment is checked even without any: otherwise a mistake would go unnoticed until another program runs."""
    from relex.runtime.threads.pool import pool, threads_wanted

    threads_wanted()
    if machine.PARALLEL_ENTRY not in code.imports:
        return {}
    return {machine.PARALLEL_ENTRY: pool().entry}


def release_memory() -> int:
    """Free the memory that executables keep for later calls, except what running calls use. Returns the number of bytes
    still kept: in blocks that calls returned meanwhile."""
    return arenas().release(-1)


def check_runs_here(code: machine.ObjectCode) -> None:
    """Raise `RelexError` unless this machine has every CPU feature that the code may use."""
    target, host = code.target, machine.Target.host()
    if target == host:
        return
    from relex.dialects.target.processors import baseline_of

    if _platform(target) != _platform(host):
        raise RelexError(f"code for '{target.triple}' cannot run on '{host.triple}'")
    if missing := code.needs - host.enabled:
        raise RelexError(f"code for cpu '{target.cpu}' needs what this machine lacks: {', '.join(sorted(missing))}")
    if not baseline_of(host.triple).lists_features and target.cpu not in ("", "generic", host.cpu):
        raise RelexError(f"code for cpu '{target.cpu}' may need what this machine, '{host.cpu}', lacks")


@lru_cache(maxsize=64)
def _platform(target: machine.Target) -> tuple[str, str, str, bool]:
    parts = llvm.get_triple_parts(target.triple)
    # The x32 environments have 32-bit pointers.
    return parts.Arch, parts.OS, parts.ObjectFormat, parts.Env.endswith("x32")


@lru_cache(maxsize=1)
def _process() -> ctypes.CDLL:
    """All symbols of this process. LLVM's own lookup does not see them before something has been linked."""
    return ctypes.CDLL(None)


@once
def arenas() -> Arenas:
    """The allocator for code that is loaded into this process."""
    return Arenas()


def aligned(data: bytes | memoryview) -> Buffer:
    """Return the bytes at an aligned address, without a copy if they are aligned already."""
    given = np.frombuffer(data, np.uint8)
    if given.ctypes.data % machine.CONSTANT_ALIGNMENT == 0:
        return given
    space = np.empty(len(data) + machine.CONSTANT_ALIGNMENT, np.uint8)
    start = -space.ctypes.data % machine.CONSTANT_ALIGNMENT
    buffer = space[start : start + len(data)]
    buffer[:] = given
    return buffer
