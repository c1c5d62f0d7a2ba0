"""The overhead of a call from Python: of an empty function, and of a network on one image.

The network is the MLP 784-128-10 with bound weights. relex is called both natively and through `ctypes`, and compared
with NumPy. `python -m benchmarks` has such networks in other libraries. All are measured in turns, many calls at a
time; the lower quartile is reported, since other programs can only slow calls down.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from statistics import quantiles
from time import perf_counter
from typing import Any

import numpy as np

from relex.dialects import parse_module
from relex.passes import BindParamsPass
from relex.runtime import build
from relex.runtime.entry.native import VARIABLE

Array = np.ndarray[Any, np.dtype[Any]]
Calls = Mapping[str, Callable[[], object]]

EMPTY = "func.func @main(%x: tensor<1x784xf32>) { func.return }"

MLP = """
func.func @main(%x: tensor<1x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<1x10xf32> {
  %0 = relex.dense %x, %w0 : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
  %1 = relex.add %0, %b0 : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
  %2 = relex.relu %1 : (tensor<1x128xf32>) -> tensor<1x128xf32>
  %3 = relex.dense %2, %w1 : (tensor<1x128xf32>, tensor<10x128xf32>) -> tensor<1x10xf32>
  %4 = relex.add %3, %b1 : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  func.return %4 : tensor<1x10xf32>
}
"""

SHAPES = {"x": (1, 784), "w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}

CALLS = 200
"""Number of calls per measurement."""


def numpy_mlp(x: Array, w0: Array, b0: Array, w1: Array, b1: Array) -> Array:
    """The network in NumPy."""
    return np.maximum(x @ w0.T + b0, np.float32(0)) @ w1.T + b1


@contextmanager
def called_by(way: str) -> Generator[None]:
    """Select how functions built in this context are called."""
    before = os.environ.get(VARIABLE, "native")
    os.environ[VARIABLE] = way
    try:
        yield
    finally:
        os.environ[VARIABLE] = before


def empty_calls(x: Array) -> Calls:
    """Return calls of the empty function by name."""
    calls: dict[str, Callable[[], object]] = {"np.empty((1, 10))": partial(np.empty, (1, 10))}
    for way in ("native", "ctypes"):
        with called_by(way):
            calls[f"relex, {way}"] = partial(build(EMPTY)["main"], x)
    return calls


def mlp_calls(x: Array, weights: Mapping[str, Array]) -> Calls:
    """Return calls of the network by name."""
    calls: dict[str, Callable[[], object]] = {"NumPy": partial(numpy_mlp, x, *weights.values())}
    program = BindParamsPass("main", weights)(parse_module(MLP))
    for way in ("native", "ctypes"):
        with called_by(way):
            calls[f"relex, {way}"] = partial(build(program)["main"], x)
    return calls


def measure(calls: Calls, seconds: float, clock: Callable[[], float] = perf_counter) -> dict[str, float]:
    """Return the nanoseconds of each call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    until = perf_counter() + seconds
    while perf_counter() < until or min(map(len, times.values())) < 5:
        for name, call in calls.items():
            start = clock()
            for _ in range(CALLS):
                call()
            times[name].append(1e9 * (clock() - start) / CALLS)
    return {name: quantiles(found, n=4)[0] for name, found in times.items()}


def main() -> None:
    """Print a table for each function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each table (3)")
    seconds = parser.parse_args().seconds
    rng = np.random.default_rng(0)
    x, *others = (rng.standard_normal(shape).astype(np.float32) / 28 for shape in SHAPES.values())
    weights = dict(zip([name for name in SHAPES if name != "x"], others, strict=True))
    tables = {"a function that does nothing": empty_calls(x), "MLP, batch 1": mlp_calls(x, weights)}
    for title, calls in tables.items():
        print(f"{title:32} {'ns a call':>10}")
        for name, time in sorted(measure(calls, seconds).items(), key=lambda item: item[1]):
            print(f"  {name:30} {time:10.0f}")


if __name__ == "__main__":
    main()
