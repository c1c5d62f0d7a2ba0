"""Products with weights in blocks of a few bits: python -m benchmarks.block_weights

A row of the table is a product of some rows of f32 with a weight of 4096 rows in blocks. `rate` is the rate at which
relex reads the weight, and `share` that rate relative to the rate at which it adds up the integers of a buffer of the
same size. The last column has other times, relative to this one, of the same product by ggml (llama.cpp), and, in the
layouts that they have, by ONNX Runtime's `MatMulNBits`, OpenVINO's compressed weights and PyTorch, and of products with
the weight as floats. A star is for data that are rounded to 8 bits. All take turns, and the least time of each counts:
on one thread in time of the processor, so that other processes disturb little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from benchmarks.block_contenders import others
from benchmarks.contenders import limit_threads
from relex.dialects import parse_module
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized
from relex.passes import BindParamsPass
from relex.runtime import build

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

LAYOUTS = ("Q8_0", "Q4_0", "Q4_K", "Q6_K", "IQ4_NL", "4_BITS_32_F32")
COLUMNS = 4096

PRODUCT = """
func.func @main(%x: tensor<{rows}x{terms}xf32>, %w: tensor<{columns}x{bytes}xui8>) -> tensor<{rows}x{columns}xf32> {{
  %0 = relex.dequantize_blocks %w layout = "{layout}" : (tensor<{columns}x{bytes}xui8>) -> tensor<{columns}x{terms}xf32>
  %1 = relex.dense %x, %0 : (tensor<{rows}x{terms}xf32>, tensor<{columns}x{terms}xf32>) -> tensor<{rows}x{columns}xf32>
  func.return %1 : tensor<{rows}x{columns}xf32>
}}"""
WIDE = """
func.func @main(%x: tensor<{rows}x{terms}xf32>, %w: tensor<{columns}x{terms}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %0 = relex.dense %x, %w : (tensor<{rows}x{terms}xf32>, tensor<{columns}x{terms}xf32>) -> tensor<{rows}x{columns}xf32>
  func.return %0 : tensor<{rows}x{columns}xf32>
}}"""
SUM = """
func.func @main(%x: tensor<{count}xi32>) -> tensor<i32> {{
  %y = relex.sum %x : (tensor<{count}xi32>) -> tensor<i32>
  func.return %y : tensor<i32>
}}"""


def blocks_of(layout: str, terms: int) -> Array:
    """Random blocks, whose floats of 16 bits are below 1. Floats of 32 bits are as large: random bytes would make
    numbers so small that processors take long for them."""
    random, count = np.random.default_rng(0), terms // BLOCK_LAYOUTS[layout].size
    blocks = random.integers(0, 60, (COLUMNS, count, BLOCK_LAYOUTS[layout].bytes), np.uint8)
    if layout.endswith("F32"):
        blocks[..., :4] = random.random((COLUMNS, count, 1), np.float32).view(np.uint8)
    return blocks.reshape(COLUMNS, -1)


def product(layout: str, weight: Array, x: Array, precision: str = "f32") -> Call:
    """The product in relex."""
    sizes = {"rows": len(x), "terms": x.shape[1], "columns": len(weight), "bytes": weight.shape[1]}
    module = parse_module(PRODUCT.format(layout=layout, **sizes))
    main = build(BindParamsPass("main", {"w": weight})(module), precision=precision)["main"]
    return lambda: main(x)


def wide_product(weight: Array, x: Array) -> Call:
    """The product with a weight in f32 in relex."""
    module = parse_module(WIDE.format(rows=len(x), terms=x.shape[1], columns=len(weight)))
    main = build(BindParamsPass("main", {"w": weight})(module))["main"]
    return lambda: main(x)


def sum_of(weight: Array) -> Call:
    """The sum of the integers of 32 bits in a buffer as large as a weight."""
    numbers = np.frombuffer(weight.tobytes(), np.int32).copy()
    main = build(parse_module(SUM.format(count=len(numbers))))["main"]
    return lambda: main(numbers)


def least_times(calls: Sequence[Call], seconds: float, clock: Callable[[], float] = thread_time) -> list[float]:
    """Return the least time for each call; they take turns for some seconds, each in a separate thread: libraries
    set up tiles of matrix units once for a thread, and some leave them released."""

    def timed(call: Call) -> float:
        start = clock()
        call()
        return clock() - start

    least = [float("inf")] * len(calls)
    end, turns = perf_counter() + seconds, 0
    with ExitStack() as threads:
        pools = [threads.enter_context(ThreadPoolExecutor(1)) for _ in calls]
        while turns < 3 or perf_counter() < end:
            for i, (pool, call) in enumerate(zip(pools, calls, strict=True)):
                least[i] = min(least[i], pool.submit(timed, call).result())
            turns += 1
    return least


def is_right(found: Any, expected: Array) -> bool:
    """Return whether a result is off by no more than data in 8 bits make it."""
    array: Array = np.asarray(found.float() if hasattr(found, "float") else found)
    return bool(np.linalg.norm(array - expected) < 0.02 * np.linalg.norm(expected))


def row(layout: str, weight: Array, rows: int, terms: int, options: argparse.Namespace) -> str:
    """Return a row of the table."""
    x = np.random.default_rng(1).normal(size=(rows, terms)).astype(np.float32)
    numbers = dequantized(BLOCK_LAYOUTS[layout], weight)
    own = {name: product(layout, weight, x, kind) for name, kind in (("", "f32"), ("relex*", "i8"))}
    if rows > 1:
        own["relex, bf16"] = product(layout, weight, x, "bf16")
    named = {**own, "relex, f32": wide_product(numbers, x), **dict(others(layout, weight, x))}
    with ThreadPoolExecutor(1) as pool:
        results: list[Any] = [pool.submit(call).result() for call in named.values()]
    expected = x @ numbers.T
    wrong = [name for name, found in zip(named, results, strict=True) if not is_right(found, expected)]
    calls = {name: call for name, call in named.items() if name not in wrong}
    clock = thread_time if options.threads == 1 else perf_counter
    added, time, *rest = least_times([sum_of(weight), *calls.values()], options.seconds, clock)
    times = [f"{name} {other / time:.2f}" for name, other in zip(list(calls)[1:], rest, strict=True)]
    return (
        f"| {layout} | {rows} | {terms} | {weight.nbytes / 1e6:.1f} | {time * 1e3:.2f} ms "
        f"| {2 * rows * COLUMNS * terms / time / 1e9:.0f} | {weight.nbytes / time / 1e9:.1f} GB/s "
        f"| {added / time:.0%} | {', '.join(times + [f'{name} wrong' for name in wrong])} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.block_weights", description=__doc__)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, choices=[*BLOCK_LAYOUTS], metavar="LAYOUT")
    parser.add_argument("--terms", type=int, nargs="+", default=(4096, 14336), help="the terms of each sum")
    parser.add_argument("--rows", type=int, nargs="+", default=(1, 4, 64, 512))
    parser.add_argument("--threads", type=int, default=1, help="the number of threads (1)")
    parser.add_argument("--seconds", type=float, default=3, help="the time for a row of the table (3)")
    options = parser.parse_args(arguments)
    limit_threads(options.threads)
    print("| layout | rows | terms | MB | relex | Gflop/s | rate | share | others, relative |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for layout in options.layouts:
        for terms in options.terms:
            weight = blocks_of(layout, terms)
            for rows in options.rows:
                print(row(layout, weight, rows, terms, options), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
