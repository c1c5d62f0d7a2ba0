"""Classify an array of images that is larger than one process should hold, by blocks, on a cluster of processes.

An executable can be pickled: each process is sent the compiled code and the weights once, and needs no compiler. The
same lines run on a cluster of machines with the same CPU features; only the `LocalCluster` has to be replaced.

Needs the extra `dask`: in a clone, `pip install ".[dask]"`. Exits with 1 if a prediction differs from NumPy's. With
`--rounds 10`, measures what one process does in a second, and what two do.
"""

# Dask has no type annotations.
# pyright: basic

from __future__ import annotations

import argparse
import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from relex.dialects import parse_module
from relex.passes import BindParamsPass
from relex.runtime import Executable, build

DIGITS = Path(__file__).parent / "digits"
PROCESSES = 2
ROWS, BLOCK = 20_000, 3_000
"""The number of images, and of images in a block; the last block is smaller."""
MEASURED = 100_000
"""The number of images in a measurement."""

PROGRAM = """
func.func @main(%x: tensor<?x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<?x10xf32> {
  %0 = relex.dense %x, %w0 : (tensor<?x784xf32>, tensor<128x784xf32>) -> tensor<?x128xf32>
  %1 = relex.add %0, %b0 : (tensor<?x128xf32>, tensor<128xf32>) -> tensor<?x128xf32>
  %2 = relex.relu %1 : (tensor<?x128xf32>) -> tensor<?x128xf32>
  %3 = relex.dense %2, %w1 : (tensor<?x128xf32>, tensor<10x128xf32>) -> tensor<?x10xf32>
  %4 = relex.add %3, %b1 : (tensor<?x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  func.return %4 : tensor<?x10xf32>
}
"""


def load_weights() -> dict[str, Any]:
    """Return the parameters by name."""
    with np.load(DIGITS / "weights.npz") as file:
        return {name: file[name] for name in ("w0", "b0", "w1", "b1")}


def draw(block_info: Any = None) -> np.ndarray[Any, Any]:
    """Create the images of a block on the worker: the test images, repeated."""
    (first, last), _ = block_info[None]["array-location"]
    with np.load(DIGITS / "digits.npz") as file:
        images = file["images"].reshape(-1, 784).astype(np.float32) / np.float32(255)
    return images[np.arange(first, last) % len(images)]


def classify(images: np.ndarray[Any, Any], executable: Executable) -> np.ndarray[Any, Any]:
    """Return the digits in the images of a block."""
    return executable["main"](images).argmax(axis=1)


@contextmanager
def cluster_of(processes: int) -> Iterator[Client]:
    """Start processes that compute on one thread each."""
    with (
        LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            env={"RELEX_NUM_THREADS": "1"},
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def blocks(count: int) -> tuple[int, ...]:
    """Divide images into blocks."""
    return tuple(min(BLOCK, count - first) for first in range(0, count, BLOCK))


def classify_all(count: int, everywhere: Any) -> Any:
    """Return the digits in images, to be computed block by block."""
    images = da.map_blocks(draw, chunks=(blocks(count), 784), dtype=np.float32, meta=np.empty((0, 0), np.float32))
    return images.map_blocks(classify, everywhere, drop_axis=1, meta=np.empty(0, np.int64))


def count_executables() -> int:
    """Return how many executables this process has."""
    return sum(type(thing) is Executable for thing in gc.get_objects())


def shortest(function: Callable[[], object], times: int) -> float:
    """Return the shortest time of some calls, in milliseconds."""

    def once() -> float:
        start = perf_counter()
        function()
        return perf_counter() - start

    return 1e3 * min(once() for _ in range(times))


def measure(executable: Executable, rounds: int) -> Iterator[str]:
    """Yield lines about executables on the way to other processes, and about the throughput of one and of two."""
    data = pickle.dumps(executable)
    yield f"pickled: {len(data) / 1e6:.1f} MB, in {shortest(lambda: pickle.dumps(executable), rounds):.1f} ms"
    yield f"unpickled: in {shortest(lambda: pickle.loads(data), rounds):.1f} ms\n"
    with ExitStack() as stack:
        clients = {processes: stack.enter_context(cluster_of(processes)) for processes in (1, PROCESSES)}
        sent = {count: client.scatter(executable, broadcast=True) for count, client in clients.items()}
        times = dict.fromkeys(clients, float("inf"))
        # In turns, since other programs can only make a round slower.
        for _ in range(rounds):
            for count, client in clients.items():
                graph = classify_all(MEASURED, sent[count])
                times[count] = min(times[count], shortest(lambda: client.compute(graph, sync=True), 1))  # noqa: B023
    yield "| processes | images per second | |"
    yield "| ---: | ---: | ---: |"
    for count, time in times.items():
        yield f"| {count} | {MEASURED / time * 1e3:.0f} | {times[1] / time:.2f} |"


def show(executable: Executable) -> int:
    """Classify images on two processes, compare with NumPy, and return the exit code."""
    with cluster_of(PROCESSES) as client:
        # Sent once to each process, instead of once with each block.
        everywhere = client.scatter(executable, broadcast=True)
        digits = classify_all(ROWS, everywhere).compute()
        held: Any = client.run(count_executables)
    weights = load_weights()
    images = draw({None: {"array-location": ((0, ROWS), (0, 784))}})
    hidden = np.maximum(images @ weights["w0"].T + weights["b0"], 0)
    expected = (hidden @ weights["w1"].T + weights["b1"]).argmax(axis=1)
    differ = int((digits != expected).sum())
    print(
        f"{ROWS} images in {len(blocks(ROWS))} blocks on {len(held)} processes, with {max(held.values())} executable "
        f"each at most: {differ} predictions differ from NumPy's"
    )
    return int(differ > 0)


def main() -> int:
    """Run the example and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="measure in this many rounds")
    options = parser.parse_args()
    executable = build(BindParamsPass("main", load_weights())(parse_module(PROGRAM)))
    if not options.rounds:
        return show(executable)
    for line in measure(executable, options.rounds):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
