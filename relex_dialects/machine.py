"""Machines, the numbers that they know, and code for them: what a compiler makes and a loader takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CONSTANT_ALIGNMENT = 64
"""Every constant is aligned to this many bytes, embedded or not."""

PACKED_PREFIX = "_relex_packed_"
"""Before the name of a function, the name of its entry that takes a frame: see `relex.lowering.llvm.packed_entries`."""

PARALLEL_ENTRY = "_relex_parallel"
"""The function that code calls to share a loop out among threads: see `relex.lowering.llvm.parallel_calls`."""

NUMPY_NAMES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "i1": "bool",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
}
"""The NumPy dtypes of element types, both by name. There is none for bf16."""


@dataclass(frozen=True)
class Target:
    """What to generate code for, in LLVM's terms."""

    triple: str
    cpu: str = ""
    features: str = ""

    @classmethod
    def host(cls) -> Target:
        """The machine that this process runs on."""
        import llvmlite.binding as llvm

        features = llvm.get_host_cpu_features()
        flags = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
        return cls(llvm.get_process_triple(), llvm.get_host_cpu_name(), flags)

    @property
    def enabled(self) -> frozenset[str]:
        """The names of the CPU features that are switched on."""
        return frozenset(flag[1:] for flag in self.features.split(",") if flag.startswith("+"))


@dataclass(frozen=True)
class ObjectCode:
    """Machine code for `target`, position independent: a linker takes it as well as a JIT.

    `functions` are the names that it defines for others, `imports` the functions that it calls. It uses each symbol of
    `constants` as memory that holds these bytes, aligned to `CONSTANT_ALIGNMENT`; who loads the code provides it.
    `needs` are the CPU features that it may use.
    """

    code: bytes
    functions: tuple[str, ...]
    imports: tuple[str, ...]
    constants: Mapping[str, bytes | memoryview]
    target: Target
    needs: frozenset[str] = frozenset()
