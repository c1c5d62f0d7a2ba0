"""The speedup from threads: a 1024 x 1024 matrix product with the default schedule, its outermost loops parallel on 1,
2, ... threads; and the overhead of a parallel loop with two iterations and almost no work.

Serial and parallel calls take turns; the times are the minimum and the lower quartile.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from relex.dialects import parse_module
from relex.dialects.tir import ForOp, LoopKind, LoopKindAttr
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime import CompiledFunction, build, get_threads, set_threads
from relex.tools.run.roofline import seconds_of

N = 1024
PRODUCT = f"""
func.func @main(%x: tensor<{N}x{N}xf32>, %w: tensor<{N}x{N}xf32>) -> tensor<{N}x{N}xf32> {{
  %y = relex.dense %x, %w : (tensor<{N}x{N}xf32>, tensor<{N}x{N}xf32>) -> tensor<{N}x{N}xf32>
  func.return %y : tensor<{N}x{N}xf32>
}}
"""

LOOPS = 1000
SMALL = f"""
tir.prim_func @main(%X: memref<2xf32>) outs(%Y: memref<{LOOPS}x2xf32>) {{
  tir.for %k in ({LOOPS}) {{
    tir.for parallel %i in (2) {{
      tir.block @Y (%vk: spatial<{LOOPS}> = %k, %vi: spatial<2> = %i) {{
        %x = memref.load %X[%vi] : memref<2xf32>
        memref.store %x, %Y[%vk, %vi] : memref<{LOOPS}x2xf32>
      }}
    }}
  }}
}}
"""


def product(*, parallel: bool) -> CompiledFunction:
    """Compile the product with its outermost loops serial or parallel."""
    module = RelexPipelinePass("loops")(parse_module(PRODUCT))
    for op in module.walk():
        if parallel and isinstance(op, ForOp) and not isinstance(op.parent_op(), ForOp):
            op.kind = LoopKindAttr(LoopKind.PARALLEL)
    return build(module)["main"]


def quickest(times: list[float]) -> tuple[float, float]:
    """Return the minimum and the lower quartile."""
    return min(times), float(np.percentile(times, 25))


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=get_threads(), help="the most threads to try")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to measure")
    args = parser.parse_args()
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= args.threads]

    rng = np.random.default_rng(0)
    x: NDArray[np.float32]
    w: NDArray[np.float32]
    x, w = (rng.standard_normal((N, N), np.float32) for _ in range(2))
    serial, shared = product(parallel=False), product(parallel=True)
    assert np.array_equal(serial(x, w), shared(x, w))
    alone: list[float] = []
    times: dict[int, list[float]] = {count: [] for count in counts}
    until = perf_counter() + args.seconds
    while perf_counter() < until:
        alone.append(seconds_of(lambda: serial(x, w)))
        for count in counts:
            set_threads(count)
            times[count].append(seconds_of(lambda: shared(x, w)))
    best, quartile = quickest(alone)
    print(f"product        serial: {1e3 * best:7.2f} ms  {2 * N**3 / best / 1e9:6.0f} GF/s")
    for count in counts:
        found, of_most = quickest(times[count])
        print(f"product  {count:3} threads: {1e3 * found:7.2f} ms  {best / found:5.2f}x  ({quartile / of_most:.2f}x)")

    small, row = build(SMALL)["main"], np.ones(2, np.float32)
    for count in counts:
        set_threads(count)
        found, of_most = quickest([seconds_of(lambda: small(row)) for _ in range(300)])
        print(f"nothing  {count:3} threads: {1e9 * found / LOOPS:7.0f} ns  ({1e9 * of_most / LOOPS:.0f} ns)")


if __name__ == "__main__":
    main()
