"""Programs are compiled, built and loaded over and over, and no memory stays allocated. `--compilations`, `--builds`
and `--loads` say how often."""

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

PROGRAM = """
func.func @main(%x: tensor<4x{k}xf32>, %w: tensor<3x{k}xf32>) -> tensor<4x3xf32> {{
  %y = relex.dense %x, %w : (tensor<4x{k}xf32>, tensor<3x{k}xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}}
"""
KEPT = {"compilations": 2048, "builds": 2048, "loads": 0}
"""How many bytes of each may stay. LLVM's pass builder keeps 1.4 kB: llvmlite 0.50 cannot free its callbacks."""

SLACK = 2**21
"""How many bytes the allocators of Python and C may hold at one time and not at another, where nothing stays."""

_sizes = count(1)


def build_another() -> None:
    k = next(_sizes) % 8 + 1
    y = build(PROGRAM.format(k=k))["main"](np.ones((4, k), np.float32), np.ones((3, k), np.float32))
    assert (y == k).all()


def load_again(path: Path) -> None:
    assert (load(path)["main"](np.ones((4, 8), np.float32), np.ones((3, 8), np.float32)) == 8).all()


def growth(action: Callable[[], object], times: int) -> int:
    """How many bytes stay. What is kept once, as by caches, is there before it is measured."""
    for _ in range(times // 2):
        action()
    before = _memory()
    for _ in range(times):
        action()
    return _memory() - before


def _memory() -> int:
    gc.collect()
    if hasattr(_process, "malloc_trim"):
        # What is free already, the C library gives back.
        _process.malloc_trim(0)
    return psutil.Process().memory_info().rss


_process = ctypes.CDLL(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, times in {"compilations": 200, "builds": 200, "loads": 2000}.items():
        parser.add_argument(f"--{name}", type=int, default=times)
    wanted: dict[str, int] = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.relex")
        build(PROGRAM.format(k=8)).save(path)
        lowered = lower_program(parse_module(PROGRAM.format(k=8)))
        actions: dict[str, Callable[[], object]] = {
            "compilations": lambda: compile_module(lowered.module),
            "builds": build_another,
            "loads": lambda: load_again(path),
        }
        grown: list[str] = []
        for name, action in actions.items():
            if times := wanted[name]:
                kept = growth(action, times)
                print(f"{times} {name}: {kept / 1024 / times:.2f} kB of each stay", flush=True)
                grown += [name] if kept > times * KEPT[name] + SLACK else []
    if grown:
        raise SystemExit(f"memory grows: {', '.join(grown)}")


if __name__ == "__main__":
    main()
