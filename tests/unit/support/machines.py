"""Programs for other machines: linked by zig with a C library of each, and run by QEMU or wasmtime.

As a program, it has zig compile those C libraries, of all machines or of those that are named; that takes half a minute
for each and is done once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from relex.dialects.target.machine import Target

CACHE = Path(sys.prefix) / "zig"
"""Where zig keeps what it has compiled."""

WASMTIME = Path(__file__).with_name("run_wasm.py")


@dataclass(frozen=True)
class Machine:
    """A kind of machine, and how programs for it are linked and run here."""

    target: Target
    zig: str
    """What zig calls it. The C library is musl, or the one of WASI, which has musl's math functions."""

    runner: str = ""
    """What runs its programs: nothing on this machine."""

    @property
    def is_ready(self) -> Path:
        """The file that says that zig has compiled the C library."""
        return CACHE / f"{self.zig}.ready"

    def missing(self) -> str | None:
        """Return what is not installed of all that is needed, or None."""
        needed = [] if find_spec("ziglang") and self.is_ready.exists() else ["ziglang with its C library"]
        if self.runner == "wasmtime":
            needed += [] if find_spec("wasmtime") else ["wasmtime"]
        elif self.runner and not shutil.which(self.runner):
            needed.append(self.runner)
        return " and ".join(needed) or None

    def link(self, folder: Path, *arguments: str) -> Path:
        """Make a program of files in a folder."""
        # The commands of all tests agree on the optimization level: each has its own C libraries.
        command = [sys.executable, "-m", "ziglang", "cc", "-target", self.zig, "-static", "-O2", "-o", "program"]
        run = subprocess.run(
            [*command, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        return folder / "program"

    def run(self, program: Path, given: bytes = b"") -> bytes:
        """Run a program. Returns what it prints."""
        runner = [sys.executable, str(WASMTIME)] if self.runner == "wasmtime" else [self.runner] * bool(self.runner)
        run = subprocess.run([*runner, program], input=given, capture_output=True, check=False, timeout=600)
        assert run.returncode == 0, (run.returncode, run.stderr.decode())
        return run.stdout


def environment() -> dict[str, str]:
    """Return the environment that zig runs in."""
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(CACHE)}


MACHINES = {
    "x86-64": Machine(Target("x86_64-unknown-linux-gnu"), "x86_64-linux-musl"),
    "aarch64": Machine(Target("aarch64-unknown-linux-gnu"), "aarch64-linux-musl", "qemu-aarch64"),
    "riscv64": Machine(Target("riscv64-unknown-linux-gnu"), "riscv64-linux-musl", "qemu-riscv64"),
    "wasm32": Machine(Target("wasm32-unknown-wasi"), "wasm32-wasi", "wasmtime"),
    "wasm32-simd": Machine(Target("wasm32-unknown-wasi", "", "+simd128"), "wasm32-wasi", "wasmtime"),
}


def main(names: Sequence[str]) -> None:
    """Link a program for each machine that is named, or for every one."""
    # In another folder, as tests do: zig compiles C libraries again where its own path, relative to the current folder,
    # is another one.
    with TemporaryDirectory() as folder:
        (Path(folder) / "main.c").write_text('#include <stdio.h>\nint main(void) { return puts("") < 0; }\n')
        for machine in {MACHINES[name].zig: MACHINES[name] for name in names or MACHINES}.values():
            machine.link(Path(folder), "main.c", "-lm")
            machine.is_ready.touch()


if __name__ == "__main__":
    main(sys.argv[1:])
