"""Targets and machine code: the interface between the compiler and the loader."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

CONSTANT_ALIGNMENT = 64
"""The alignment of every constant in bytes, embedded or not."""

EXTERNAL_CONSTANT_BYTES = 1024
"""Initial values of at least this size stay out of the text, unless they are to be embedded."""

INTERNAL_PREFIX = "relex."
"""Precedes the names of functions in object code that are called from nowhere else."""

PACKED_PREFIX = "_relex_packed_"
"""The prefix that turns a function's name into the name of its entry taking a frame: see
`relex.lowering.llvm.add_packed_entries`."""

ALLOC = "_mlir_memref_to_llvm_alloc"
FREE = "_mlir_memref_to_llvm_free"
"""The allocator of the runtime, under the names that MLIR's `use-generic-functions` calls: see
`relex.runtime.arenas`."""

ALLOCATOR_ATTR = "relex.allocator"
"""On the declaration of `malloc` or `free`: compiled code calls it for the memory of buffers alone."""

PARALLEL_ENTRY = "_relex_parallel"
"""The function that compiled code calls to distribute a loop over threads: see `relex.lowering.llvm.parallel_calls`."""

GOES_ON = "relex_goes_on"
"""The function that asks, at the end of each trip of a loop, whether the loop goes on. In the text, the answer is yes;
for programs that this process runs, the runtime answers."""

REASONS, MAY_GO_ON = "relex_reasons_to_stop", "relex_may_go_on"
"""A number of 32 bits in the runtime, which is not 0 if loops may have to stop, and the function that such loops ask:
see `relex.lowering.llvm.watch_loops`."""

LOOPS_BEGIN, LOOPS_END = "relex_loops_begin", "relex_loops_end"
"""The functions of the runtime that a program with loops calls when a call begins and when it ends."""

NEW_RESULT = "relex_new_result"
"""The function that compiled code calls with the number of a result, and its sizes, for the memory of a result whose
sizes are known only during a call."""

HAS_MEMORY = "relex_has_memory"
"""The function that asks whether a buffer of n bytes can be allocated. In the text, the answer is yes; for programs
that this process runs, the runtime answers, and in object files for C it tries to allocate them."""

STOPPED = "expected to go on, found that the run was stopped"
"""The message of the assertion that a loop goes on. What has stopped the run is raised instead of it."""


TILES = "amx-tile"
"""LLVM's name of the feature that processors with tiles have."""


def may_use_tiles() -> bool:
    """Ask Linux for the permission to use tiles, for this process and all of its threads; return whether it is given.
    Without it, the first such instruction would end the process."""
    import ctypes  # Few processes need it.

    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    # The system call arch_prctl of x86-64, to request (ARCH_REQ_XCOMP_PERM) the state of tiles (XFEATURE_XTILEDATA).
    return call(ctypes.c_long(158), ctypes.c_long(0x1023), ctypes.c_long(18)) == 0


@dataclass(frozen=True)
class Target:
    """A code generation target, in LLVM's terms."""

    triple: str
    cpu: str = ""
    features: str = ""

    @classmethod
    @cache
    def host(cls) -> Target:
        """Return the machine that this process runs on, without tiles (AMX) where the system does not permit them."""
        from relex.dialects.target.llvm_binding import llvm

        features = llvm.get_host_cpu_features()
        if features.get(TILES) and not may_use_tiles():
            features = {name: on and not name.startswith("amx") for name, on in features.items()}
        flags = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
        return cls(llvm.get_process_triple(), llvm.get_host_cpu_name(), flags)

    @property
    def enabled(self) -> frozenset[str]:
        """The names of the CPU features that are enabled."""
        return frozenset(flag[1:] for flag in self.features.split(",") if flag.startswith("+"))


@dataclass(frozen=True)
class ObjectCode:
    """Position-independent machine code for `target`, usable by a linker as well as a JIT.

    Each of `parts` is an object file; they are linked together. `functions` are the symbols that they export, `imports`
    the functions that they call and that none of them defines. Each symbol of `constants` is memory that holds these
    bytes, aligned to `CONSTANT_ALIGNMENT`, which the loader provides. `needs` are the CPU features that it may use.
    """

    parts: tuple[bytes, ...]
    functions: tuple[str, ...]
    imports: tuple[str, ...]
    constants: Mapping[str, bytes | memoryview]
    target: Target
    needs: frozenset[str] = frozenset()

    @property
    def code(self) -> bytes:
        """The object file of code in one part."""
        (code,) = self.parts
        return code


def usable_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
