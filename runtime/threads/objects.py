"""The threads that share loops in C programs: `pool.ll` as an object file, to be linked with others."""

from __future__ import annotations

from dataclasses import dataclass

from relex.dialects.exceptions import RelexError
from relex.dialects.target.code_generators import pointer_bits
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import Target
from relex.runtime.builtin_code import compiled
from relex.runtime.threads.pool import pool_text

THREADS_FILE = "relex_threads.o"
"""The name of the object file: all programs for a target have the same."""


@dataclass(frozen=True)
class _System:
    """The parts of a pool that depend on the operating system."""

    hooks: str
    """The file that starts and stops the pool with the program."""

    clock: int
    """The C library's number of the monotonic clock."""

    online: int
    """The argument for which `sysconf` returns the number of processors."""


_MACOS = _System("object_macos.ll", clock=6, online=58)
_SYSTEMS = {"linux": _System("object_linux.ll", clock=1, online=84), "darwin": _MACOS, "macosx": _MACOS}
"""The systems by the beginning of their names in triples."""


def threads_object(target: Target) -> bytes:
    """Return the object file of a pool that starts with the program it is linked into, with as many threads as the
    environment asks for. Raises `RelexError` for a target without threads that it could start."""
    name = llvm.get_triple_parts(target.triple).OS
    system = next((system for prefix, system in _SYSTEMS.items() if name.startswith(prefix)), None)
    if system is None or pointer_bits(target.triple) != 64:
        raise RelexError(f"expected a 64-bit target with Linux or macOS for threads, found {target.triple}")
    text = pool_text(target.triple, "object.ll", system.hooks, clock=system.clock, online=system.online)
    # Only the name that compiled code calls is seen by others.
    return compiled(text.replace("\ndefine void @", "\ndefine internal void @"), target)
