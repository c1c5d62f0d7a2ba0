"""Eight threads call two executables with many shapes: no wrong result, and no memory that grows. `--seconds` says how
long."""

from __future__ import annotations

import argparse
from threading import Thread
from time import monotonic
from typing import Any

import numpy as np
import psutil

from relex.runtime import build

PROGRAM = """
func.func @main(%x: tensor<?x33xf32>, %w: tensor<33xf32>) -> tensor<?x33xf32> {{
  %y = relex.{operator} %x, %w : (tensor<?x33xf32>, tensor<33xf32>) -> tensor<?x33xf32>
  func.return %y : tensor<?x33xf32>
}}
"""
OPERATORS: dict[str, Any] = {"add": np.add, "multiply": np.multiply}


def work(functions: dict[str, Any], seed: int, until: float, wrong: list[str]) -> None:
    generator = np.random.default_rng(seed)
    w = generator.standard_normal(33).astype(np.float32)
    while monotonic() < until:
        for name, function in functions.items():
            x = generator.standard_normal((int(generator.integers(40)), 33)).astype(np.float32)
            if not np.array_equal(function(x, w), OPERATORS[name](x, w)):
                wrong.append(f"{name} of {x.shape}")


def run(functions: dict[str, Any], seconds: float) -> None:
    wrong: list[str] = []
    until = monotonic() + seconds
    threads = [Thread(target=work, args=(functions, seed, until, wrong)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise SystemExit(f"wrong: {', '.join(wrong[:5])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    functions = {name: build(PROGRAM.format(operator=name))["main"] for name in OPERATORS}
    run(functions, seconds / 6)
    before = psutil.Process().memory_info().rss
    run(functions, seconds * 5 / 6)
    grown = psutil.Process().memory_info().rss - before
    print(f"no wrong result; memory grew by {grown / 2**20:.1f} MiB")
    if grown > 16 * 2**20:
        raise SystemExit("memory grows")


if __name__ == "__main__":
    main()
