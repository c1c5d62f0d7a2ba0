"""Networks as they are, and with convolutions in fewer products, `build(..., approximate=True)`.

Prints the time of a call, and how far the results are apart, as a table in Markdown. Both programs take turns.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.arrays import Array
from benchmarks.models import NETWORKS, network
from relex.frontend.onnx import from_onnx
from relex.runtime import CompiledFunction, build, set_threads

CALLS = 3
"""The number of calls in a turn."""


def timed(function: CompiledFunction, image: Array) -> list[float]:
    """Return the seconds of some calls, after one that brings the network into the caches."""
    function(image)
    seconds: list[float] = []
    for _ in range(CALLS):
        start = perf_counter()
        function(image)
        seconds.append(perf_counter() - start)
    return seconds


def row(name: str, turns: int, target: str | None) -> str:
    """Return the line of a network."""
    model = from_onnx(network(name))
    functions = [
        build(model, target=target, cache=False, approximate=approximate)["main"] for approximate in (False, True)
    ]
    image = np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)
    exact, approximate = (np.asarray(function(image)) for function in functions)
    times: list[list[float]] = [[], []]
    for _ in range(turns):
        for seconds, function in zip(times, functions, strict=True):
            seconds += timed(function, image)
    before, after = map(median, times)
    apart = np.abs(exact - approximate).max() / np.abs(exact).max()
    return f"| {name} | {before * 1e3:.2f} ms | {after * 1e3:.2f} ms | {before / after:.2f} | {apart:.0e} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="those to measure (all)")
    parser.add_argument("--threads", type=int, default=1, help="how many threads (1)")
    parser.add_argument("--turns", type=int, default=10, help="how often both take turns (10)")
    parser.add_argument("--target", help="TRIPLE[:CPU[:FEATURES]] (this machine)")
    args = parser.parse_args()
    set_threads(args.threads)
    print("| network | exact | approximate | times as fast | apart, of the largest result |\n|---|---|---|---|---|")
    for name in args.networks or NETWORKS:
        print(row(name, args.turns, args.target), flush=True)


if __name__ == "__main__":
    main()
