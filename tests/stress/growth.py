"""Programs are compiled, built, loaded and called over and over, and no memory stays allocated. `--compilations`,
`--builds` (of other programs each time), `--rebuilds` (of one program), `--loads` and `--calls` say how often; `--full`
builds a thousand."""

from __future__ import annotations

import argparse
import ctypes
import gc
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import psutil

from relex.dialects import parse_module
from relex.lowering.llvm.object_code import compile_module
from relex.runtime import build, load
from relex.runtime.compilation import lower_program
from relex.runtime.kernel_cache import MEMORY

PROGRAM = """
func.func @main(%x: tensor<{m}x{k}xf32>, %w: tensor<3x{k}xf32>) -> tensor<{m}x3xf32> {{
  %y = relex.dense %x, %w : (tensor<{m}x{k}xf32>, tensor<3x{k}xf32>) -> tensor<{m}x3xf32>
  func.return %y : tensor<{m}x3xf32>
}}
"""
SIZES = {"m": 4, "k": 8}

TIMES = {"compilations": 200, "builds": 200, "rebuilds": 0, "loads": 2000, "calls": 100_000}
FULL = {"compilations": 1000, "builds": 1000, "rebuilds": 1000, "loads": 10_000, "calls": 1_000_000}

KEPT = {"compilations": 2048, "builds": 2048, "rebuilds": 2048, "loads": 0, "calls": 0}
"""How many bytes of each may stay. LLVM's pass builder keeps 1.5 kB: llvmlite 0.50 cannot free its callbacks. Kernels
that the process keeps, up to `MEMORY_LIMIT` bytes of them, do not count."""

SLACK = 2**21
"""How many bytes the allocators of Python and C may hold at one time and not at another, where nothing stays."""

_sizes = count()


def run(function: Callable[..., object], m: int, k: int) -> None:
    assert np.all(function(np.ones((m, k), np.float32), np.ones((3, k), np.float32)) == k)


def build_another() -> None:
    k, m = (n + 1 for n in divmod(next(_sizes), 37))
    run(build(PROGRAM.format(m=m, k=k))["main"], m, k)
    # Not later: tens of megabytes of kernels leave holes in the memory of Python.
    MEMORY.clear()


def build_again() -> None:
    run(build(PROGRAM.format(**SIZES))["main"], **SIZES)


def load_again(path: Path) -> None:
    run(load(path)["main"], **SIZES)


def growth(action: Callable[[], object], times: int) -> int:
    """How many bytes stay. What is kept once, as by caches, is there before it is measured."""
    for _ in range(times // 2):
        action()
    before = _memory()
    for _ in range(times):
        action()
    return _memory() - before


def _memory() -> int:
    MEMORY.clear()
    gc.collect()
    if hasattr(_process, "malloc_trim"):
        # What is free already, the C library gives back.
        _process.malloc_trim(0)
    return psutil.Process().memory_info().rss


_process = ctypes.CDLL(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="a thousand times")
    for name in TIMES:
        parser.add_argument(f"--{name}", type=int)
    args = vars(parser.parse_args())
    usual = FULL if args["full"] else TIMES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.relex")
        executable = build(PROGRAM.format(**SIZES))
        executable.save(path)
        lowered = lower_program(parse_module(PROGRAM.format(**SIZES)))
        actions: dict[str, Callable[[], object]] = {
            "compilations": lambda: compile_module(lowered.module),
            "builds": build_another,
            "rebuilds": build_again,
            "loads": lambda: load_again(path),
            "calls": lambda: run(executable["main"], **SIZES),
        }
        grown: list[str] = []
        for name, action in actions.items():
            if times := usual[name] if args[name] is None else args[name]:
                kept = growth(action, times)
                print(f"{times} {name}: {kept / 1024 / times:.2f} kB of each stay", flush=True)
                grown += [name] if kept > times * KEPT[name] + SLACK else []
    if grown:
        raise SystemExit(f"memory grows: {', '.join(grown)}")


if __name__ == "__main__":
    main()
