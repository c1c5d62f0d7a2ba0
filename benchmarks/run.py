"""relex against NumPy, on one thread: a table of call times.

Both are measured in turns, so that a change of the machine's speed meets both; the medians count, and their ratio says
more than either. `--seconds` is how long each row takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

from relex.runtime import build

Array = np.ndarray[Any, np.dtype[Any]]

MLP = """
func.func @main(%x: tensor<{m}x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<{m}x10xf32> {{
  %0 = relex.dense %x, %w0 : (tensor<{m}x784xf32>, tensor<128x784xf32>) -> tensor<{m}x128xf32>
  %1 = relex.add %0, %b0 : (tensor<{m}x128xf32>, tensor<128xf32>) -> tensor<{m}x128xf32>
  %2 = relex.relu %1 : (tensor<{m}x128xf32>) -> tensor<{m}x128xf32>
  %3 = relex.dense %2, %w1 : (tensor<{m}x128xf32>, tensor<10x128xf32>) -> tensor<{m}x10xf32>
  %4 = relex.add %3, %b1 : (tensor<{m}x10xf32>, tensor<10xf32>) -> tensor<{m}x10xf32>
  func.return %4 : tensor<{m}x10xf32>
}}
"""

DENSE = """
func.func @main(%x: tensor<{m}x{k}xf32>, %w: tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32> {{
  %0 = relex.dense %x, %w : (tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32>
  func.return %0 : tensor<{m}x{n}xf32>
}}
"""

CHAIN = """
func.func @main(%x: tensor<{m}xf32>, %y: tensor<{m}xf32>) -> tensor<{m}xf32> {{
  %0 = relex.multiply %x, %y : (tensor<{m}xf32>, tensor<{m}xf32>) -> tensor<{m}xf32>
  %1 = relex.add %0, %y : (tensor<{m}xf32>, tensor<{m}xf32>) -> tensor<{m}xf32>
  %2 = relex.relu %1 : (tensor<{m}xf32>) -> tensor<{m}xf32>
  func.return %2 : tensor<{m}xf32>
}}
"""


@dataclass(frozen=True)
class Row:
    """A program, the shapes of its arguments, and what it computes in NumPy."""

    name: str
    program: str
    shapes: tuple[tuple[int, ...], ...]
    reference: Callable[..., Array]


def numpy_mlp(x: Array, w0: Array, b0: Array, w1: Array, b1: Array) -> Array:
    return np.maximum(x @ w0.T + b0, np.float32(0)) @ w1.T + b1


def numpy_dense(x: Array, w: Array) -> Array:
    return x @ w.T


def numpy_chain(x: Array, y: Array) -> Array:
    return np.maximum(x * y + y, np.float32(0))


def rows() -> list[Row]:
    table: list[Row] = []
    for m in (1, 16, 256):
        shapes = ((m, 784), (128, 784), (128,), (10, 128), (10,))
        table.append(Row(f"MLP, batch {m}", MLP.format(m=m), shapes, numpy_mlp))
    for m, k, n in ((1, 1024, 1024), (17, 33, 65), (128, 128, 128), (256, 784, 128)):
        name = f"dense {m}x{k} by {n}x{k}"
        table.append(Row(name, DENSE.format(m=m, k=k, n=n), ((m, k), (n, k)), numpy_dense))
    for m in (1000, 1_000_000):
        name = f"relu(x * y + y), {m}"
        table.append(Row(name, CHAIN.format(m=m), ((m,), (m,)), numpy_chain))
    return table


def measure(row: Row, seconds: float) -> str:
    """One line of the table."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in row.shapes]
    start = perf_counter()
    function = build(row.program)["main"]
    compile_ms = 1e3 * (perf_counter() - start)
    np.testing.assert_allclose(function(*arrays), row.reference(*arrays), rtol=1e-3, atol=1e-3)
    ours: list[float] = []
    theirs: list[float] = []
    until = perf_counter() + seconds
    while perf_counter() < until or len(ours) < 5:
        for times, call in ((ours, function), (theirs, row.reference)):
            start = perf_counter()
            call(*arrays)
            times.append(1e6 * (perf_counter() - start))
    a, b = median(ours), median(theirs)
    return f"{row.name:28} {a:10.1f} {b:10.1f} {b / a:10.2f} {compile_ms:10.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row (1)")
    seconds = parser.parse_args().seconds
    print(f"{'':28} {'relex':>10} {'NumPy':>10} {'NumPy /':>10} {'compile':>10}")
    print(f"{'':28} {'us':>10} {'us':>10} {'relex':>10} {'ms':>10}")
    with threadpool_limits(1):
        for row in rows():
            print(measure(row, seconds), flush=True)


if __name__ == "__main__":
    main()
