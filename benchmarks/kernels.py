"""Scheduled kernels of the lit tests against the peak of the machine and against NumPy, on one thread.

The peak is measured as in the benchmark suite, again for each row. A kernel is called many times from native code to
hide the cost of a call from Python. All times are processor times, so other programs do not count. `--seconds` sets the
time for each row.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # pyright: ignore[reportMissingTypeStubs]

from relex.runtime import build
from relex.runtime.executable import CompiledFunction
from relex.tools.run.roofline import FmaPeak

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

KERNELS = Path(__file__).parents[1] / "tests" / "lit" / "lowering" / "kernels"
LANES = 16

WORK_OF_A_SAMPLE = 1e9
"""In multiplications and additions."""


@dataclass(frozen=True)
class Kernel:
    """A loop function, the shapes of its inputs and output, and its reference in NumPy."""

    name: str
    text: str
    inputs: Sequence[Shape]
    output: Shape
    reference: Callable[..., Array]
    work: int
    """Number of multiplications and additions in a call."""

    def repeated(self, times: int) -> str:
        """Return a program whose `main` calls the kernel a number of times."""
        function = self.text[self.text.index("@") + 1 : self.text.index("(")]
        types = ["x".join(map(str, (*shape, "f32"))) for shape in (*self.inputs, self.output)]
        names = [f"%a{i}" for i in range(len(types))]
        arguments = [f"{name}: memref<{kind}>" for name, kind in zip(names, types, strict=True)]
        # LLVM does not unroll a loop around an unrolled one; unrolled, the first of two calls would be dead.
        return (
            self.text.replace("tir.prim_func @", "tir.prim_func private @")
            + f"tir.prim_func @main({', '.join(arguments[:-1])}) outs({arguments[-1]}) {{\n"
            + f"  tir.for %t, unrolled %once in ({times}, 1) {{\n"
            + f"    tir.call @{function}({', '.join(names)}) : {', '.join(f'memref<{kind}>' for kind in types)}\n"
            + "  }\n}\n"
        )


def read(name: str, **sizes: int) -> str:
    """Return a kernel of the lit tests, with sizes substituted for its placeholders."""
    lines = (KERNELS / f"{name}.mlir").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("//"))
    for word in sorted(sizes, key=len, reverse=True):
        text = text.replace(word, str(sizes[word]))
    return text


def dense(height: int, terms: int, columns: int, rows: int, vectors: int) -> Kernel:
    """A dense layer with packed weights, in tiles of `rows` rows and `vectors` vectors."""
    width = vectors * LANES
    panels = columns // width
    sizes = {"TILES": height // rows, "ROWS": rows, "VECTORS": vectors, "LANES": LANES, "WIDTH": width}
    text = read("dense", HEIGHT=height, TERMS=terms, PANELS=panels, COLUMNS=columns, **sizes)

    def reference(x: Array, w: Array, b: Array) -> Array:
        return np.maximum(x @ w.transpose(0, 2, 1).reshape(columns, terms).T + b, np.float32(0))

    return Kernel(
        f"dense {height}x{terms}x{columns}, tile {rows}x{width}",
        text,
        ((height, terms), (panels, terms, width), (columns,)),
        (height, columns),
        reference,
        2 * height * terms * columns,
    )


def numpy_dot(x: Array, w: Array, b: Array) -> Array:
    """A dense layer."""
    return x @ w.T + b


def numpy_sum(x: Array) -> Array:
    """The sums of rows."""
    return x.sum(1)


def numpy_chain(x: Array, y: Array) -> Array:
    """A chain of elementwise operators."""
    return np.maximum(x * y + y, np.float32(0))


def kernels() -> list[Kernel]:
    """Return the kernels to measure."""
    return [
        dense(1, 784, 128, 1, 8),
        dense(16, 784, 128, 8, 2),
        dense(252, 784, 128, 14, 2),
        dense(252, 784, 128, 12, 2),
        dense(252, 784, 128, 6, 4),
        dense(256, 784, 128, 8, 2),
        dense(504, 1024, 1024, 14, 2),
        dense(504, 1024, 1024, 12, 2),
        dense(504, 1024, 1024, 6, 4),
        dense(512, 1024, 1024, 8, 2),
        Kernel(
            "dot products 1x784 by 128x784",
            read("dot"),
            ((1, 784), (128, 784), (128,)),
            (1, 128),
            numpy_dot,
            2 * 784 * 128,
        ),
        Kernel("sums of rows, 64x4096", read("row-sum"), ((64, 4096),), (64,), numpy_sum, 64 * 4096),
        Kernel(
            "relu(x * y + y), 65536",
            read("chain"),
            ((65536,), (65536,)),
            (65536,),
            numpy_chain,
            3 * 65536,
        ),
    ]


class Timer:
    """A compiled kernel to be measured on some arrays."""

    def __init__(self, kernel: Kernel, arrays: Sequence[Array]):
        self.times = max(1, int(WORK_OF_A_SAMPLE) // kernel.work)
        start = perf_counter()
        self.call: CompiledFunction = build(kernel.repeated(self.times))["main"]
        self.build_ms = 1e3 * (perf_counter() - start)
        self.arrays = arrays

    def seconds(self) -> float:
        """Return the time of one run of the kernel."""
        start = thread_time()
        self.call(*self.arrays)
        return (thread_time() - start) / self.times


def seconds_at_peak(peak: FmaPeak, work: int) -> float:
    """Return the least time for this number of multiplications and additions."""
    times = int(WORK_OF_A_SAMPLE) // peak.flops
    start = thread_time()
    for _ in range(times):
        peak.run()
    return (thread_time() - start) * work / (times * peak.flops)


def measure(kernel: Kernel, peak: FmaPeak, seconds: float) -> str:
    """Return one line of the table."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in kernel.inputs]
    ours = Timer(kernel, arrays)
    np.testing.assert_allclose(ours.call(*arrays), kernel.reference(*arrays), rtol=1e-3, atol=1e-3)
    samples: list[tuple[float, float, float]] = []
    until = perf_counter() + seconds
    while perf_counter() < until or len(samples) < 5:
        time, best = ours.seconds(), seconds_at_peak(peak, kernel.work)
        start = thread_time()
        for _ in range(ours.times):
            kernel.reference(*arrays)
        samples.append((time, best, (thread_time() - start) / ours.times))
    time, best, theirs = (median(column) for column in zip(*samples, strict=True))
    share = 100 * best / time
    data = 4 * sum(map(prod, (*kernel.inputs, kernel.output)))
    return (
        f"{kernel.name:34} {1e6 * time:9.1f} {1e6 * theirs:9.1f} {theirs / time:7.2f} {1e-9 * kernel.work / time:8.1f}"
        f" {share:7.0f} {1e-9 * data / time:7.0f} {ours.build_ms:7.0f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each row (1)")
    seconds = parser.parse_args().seconds
    print(f"{'':34} {'relex':>9} {'NumPy':>9} {'NumPy /':>7} {'':>8} {'% of':>7} {'':>7} {'build':>7}")
    print(f"{'':34} {'us':>9} {'us':>9} {'relex':>7} {'GFLOP/s':>8} {'peak':>7} {'GB/s':>7} {'ms':>7}")
    with threadpool_limits(1):
        peak = FmaPeak("float32")
        for kernel in kernels():
            print(measure(kernel, peak, seconds), flush=True)


if __name__ == "__main__":
    main()
