"""Classify an array of images that is larger than one process should hold, by blocks, on a cluster of processes.

An executable can be pickled: the workers get the compiled code and the weights, and need no compiler. The same lines
run on a cluster of machines with the same CPU features; only the `LocalCluster` has to be replaced.

Needs the extra `dask`. Exits with 1 if a prediction differs from NumPy's.
"""

# Dask has no type annotations.
# pyright: basic

from __future__ import annotations

import sys
from pathlib import Path
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


def main() -> int:
    """Run the example and return the exit code."""
    weights = load_weights()
    executable = build(BindParamsPass("main", weights)(parse_module(PROGRAM)))
    rows = tuple(min(BLOCK, ROWS - first) for first in range(0, ROWS, BLOCK))
    cluster = LocalCluster(n_workers=PROCESSES, threads_per_worker=1, dashboard_address=None)  # pyright: ignore[reportArgumentType]
    with cluster, Client(cluster) as client:
        # Sent once to each worker, instead of once with each block.
        everywhere = client.scatter(executable, broadcast=True)
        images = da.map_blocks(draw, chunks=(rows, 784), dtype=np.float32, meta=np.empty((0, 0), np.float32))
        digits = images.map_blocks(classify, everywhere, drop_axis=1, meta=np.empty(0, np.int64)).compute()
        workers = len(client.scheduler_info()["workers"])

    first = draw({None: {"array-location": ((0, ROWS), (0, 784))}})
    hidden = np.maximum(first @ weights["w0"].T + weights["b0"], 0)
    expected = (hidden @ weights["w1"].T + weights["b1"]).argmax(axis=1)
    differ = int((digits != expected).sum())
    print(f"{ROWS} images in {len(rows)} blocks on {workers} processes: {differ} predictions differ from NumPy's")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
