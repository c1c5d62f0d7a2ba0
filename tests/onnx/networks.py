"""The nine networks of the package onnx, with random weights: what relex computes against another implementation.

    python tests/onnx/networks.py                   # all of them
    python tests/onnx/networks.py squeezenet        # one

`benchmarks/models.py` makes the networks. Each is compiled, saved, loaded, and run by `relex-run`; results are compared
before a final softmax with those of ONNX Runtime if it is installed, else with those of `onnx.reference`.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from relex.runtime import build, load
from relex.tools.relex_run import main as relex_run

sys.path.append(str(Path(__file__).parents[2]))
models: Any = import_module("benchmarks.models")

TOLERANCE = 1e-4
"""The largest difference, relative to the largest element of the result."""


def image(model: Any, seed: int = 1) -> Any:
    """Return a random input for a network."""
    sizes = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.default_rng(seed).normal(size=sizes).astype(np.float32)


def difference(found: Any, wanted: Any) -> float:
    """Return the largest difference, relative to the largest element."""
    assert found.shape == wanted.shape, f"expected {wanted.shape}, found {found.shape}"
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def check(name: str, pixels: int | None = None) -> dict[str, float]:
    """Return the differences of a network that is compiled, saved and loaded, and run by `relex-run`."""
    model = models.network(name, pixels)
    x = image(model)
    wanted = models.expected(model, x)
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.onnx")
        path.write_bytes(model.SerializeToString())
        executable = build(path, cache=False)
        found = {"build": difference(executable["main"](x), wanted)}
        executable.save(Path(folder, "saved.relex"))
        found["load"] = difference(load(Path(folder, "saved.relex"))["main"](x), wanted)
        np.save(Path(folder, "x.npy"), x)
        arguments = ["--input", str(Path(folder, "x.npy")), "--output", str(Path(folder, "y.npy"))]
        assert relex_run([str(path), *arguments]) == 0
        found["relex-run"] = difference(np.load(Path(folder, "y.npy")), wanted)
    return found


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(models.NETWORKS))
    worst = 0.0
    for name in parser.parse_args().names or models.NETWORKS:
        start = time.perf_counter()
        found = check(name)
        worst = max(worst, *found.values())
        shown = ", ".join(f"{way} {error:.1e}" for way, error in found.items())
        print(f"{name:14} {shown}; {time.perf_counter() - start:.1f} s", flush=True)
    return worst > TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
