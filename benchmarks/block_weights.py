"""Products with weights in blocks of a few bits, on one thread: python -m benchmarks.block_weights

A row of the table is a product of some rows of f32 with a weight of 4096 rows in blocks. `rate` is the rate at which
relex reads the weight, and `share` that rate relative to the rate at which it adds up the integers of a buffer of the
same size. The last column has other times, relative to this one: ONNX Runtime's `MatMulNBits` on the same numbers, for
the layout that it has, in f32 and with `x` rounded to 8 bits, and products with the weight in f32.
All take turns, and the least time of each
counts, in time of the processor, so that other processes disturb little.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from benchmarks.contenders import limit_threads
from relex.dialects import parse_module
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS
from relex.dialects.relex.block_quantized import dequantized, parts_of
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


def product(layout: str, weight: Array, x: Array) -> Call:
    """The product in relex."""
    sizes = {"rows": len(x), "terms": x.shape[1], "columns": len(weight), "bytes": weight.shape[1]}
    module = parse_module(PRODUCT.format(layout=layout, **sizes))
    main = build(BindParamsPass("main", {"w": weight})(module))["main"]
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


def onnx_runtime(weight: Array, x: Array, level: int) -> Call:
    """The product with blocks of 32 numbers of 4 bits, and scales of f32, in ONNX Runtime, at a level of accuracy."""
    ort, onnx = import_module("onnxruntime"), import_module("onnx")
    scales, digits = parts_of(BLOCK_LAYOUTS["4_BITS_32_F32"], weight)
    terms = x.shape[1]
    stored = {"w": digits.reshape(COLUMNS, terms // 32, 16), "s": scales.view(np.float32).reshape(-1)}
    node = onnx.helper.make_node(
        *("MatMulNBits", ["x", "w", "s"], ["y"]),
        domain="com.microsoft",
        **{"K": terms, "N": COLUMNS, "bits": 4, "block_size": 32, "accuracy_level": level},
    )
    kind = onnx.TensorProto.FLOAT
    ends = [onnx.helper.make_tensor_value_info(*end) for end in (("x", kind, x.shape), ("y", kind, (len(x), COLUMNS)))]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()]
    graph = onnx.helper.make_graph([node], "product", ends[:1], ends[1:], constants)
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def others(layout: str, weight: Array, x: Array) -> Iterator[tuple[str, Call]]:
    """Yield the same product in other ways, by name."""
    if layout == "4_BITS_32_F32" and find_spec("onnxruntime"):
        yield "ONNX Runtime", onnx_runtime(weight, x, 0)
        yield "with `x` in 8 bits", onnx_runtime(weight, x, 4)
    numbers = dequantized(BLOCK_LAYOUTS[layout], weight)
    yield "relex, f32", wide_product(numbers, x)
    if find_spec("torch"):
        torch = import_module("torch")
        torch.set_num_threads(1)
        wide, data = torch.from_numpy(numbers), torch.from_numpy(x)
        yield "PyTorch, f32", lambda: torch.nn.functional.linear(data, wide)
        half, narrow = wide.to(torch.bfloat16), data.to(torch.bfloat16)
        yield "PyTorch, bf16", lambda: torch.nn.functional.linear(narrow, half)


def least_times(calls: Sequence[Call], seconds: float) -> list[float]:
    """Return the least time of the processor for each call; they take turns for some seconds."""
    least = [float("inf")] * len(calls)
    end = perf_counter() + seconds
    turns = 0
    while turns < 3 or perf_counter() < end:
        for i, call in enumerate(calls):
            start = thread_time()
            call()
            least[i] = min(least[i], thread_time() - start)
        turns += 1
    return least


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.block_weights", description=__doc__)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, choices=[*BLOCK_LAYOUTS], metavar="LAYOUT")
    parser.add_argument("--terms", type=int, nargs="+", default=(4096, 14336), help="the terms of each sum")
    parser.add_argument("--rows", type=int, nargs="+", default=(1, 4, 64, 512))
    parser.add_argument("--seconds", type=float, default=3, help="the time for a row of the table (3)")
    options = parser.parse_args(arguments)
    limit_threads(1)
    print("| layout | rows | terms | MB | relex | Gflop/s | rate | share | others, relative |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for layout in options.layouts:
        for terms in options.terms:
            weight = blocks_of(layout, terms)
            for rows in options.rows:
                x = np.random.default_rng(1).normal(size=(rows, terms)).astype(np.float32)
                named = dict(others(layout, weight, x))
                own, added, *rest = least_times(
                    [product(layout, weight, x), sum_of(weight), *named.values()], options.seconds
                )
                print(
                    f"| {layout} | {rows} | {terms} | {weight.nbytes / 1e6:.1f} | {own * 1e3:.2f} ms "
                    f"| {2 * rows * COLUMNS * terms / own / 1e9:.0f} | {weight.nbytes / own / 1e9:.1f} GB/s "
                    f"| {added / own:.0%} | "
                    + ", ".join(f"{name} {time / own:.1f}" for name, time in zip(named, rest, strict=True))
                    + " |",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
