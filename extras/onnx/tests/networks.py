"""The nine networks of the package onnx, with random weights: what relex computes against another implementation.

    python extras/onnx/tests/networks.py                   # all of them
    python extras/onnx/tests/networks.py squeezenet        # one

`benchmarks/models.py` makes the networks. Each is compiled, saved, loaded, and run by `relex-run`; results are compared
before a final softmax with the results of ONNX Runtime if it is installed, else of `onnx.reference`. A line for
each network says the differences, how long its import, its compilation and a call took, and how much memory its process
had needed until then. Each network has separate processes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from relex.frontend.onnx import from_onnx
from relex.runtime import build, load
from relex.tools.run.relex_run import main as relex_run

# First: other packages install a folder of this name, too.
sys.path.insert(0, str(Path(__file__).parents[3]))
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


@dataclass
class Outcome:
    """What became of a network."""

    errors: dict[str, float] = field(default_factory=dict[str, float])
    """The differences of each way to run it."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """The time of each step."""
    memory: float = 0
    """The peak of the process's memory after the first call, in MB, where the system tells it."""

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Measure a step."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    @property
    def is_right(self) -> bool:
        """True if all differences are small; NaN is not."""
        return all(error < TOLERANCE for error in self.errors.values())

    def __str__(self) -> str:
        errors = ", ".join(f"{way} {error:.1e}" for way, error in self.errors.items())
        seconds = ", ".join(f"{step} {time:.2f} s" for step, time in self.seconds.items())
        return f"{errors}; {seconds}; {self.memory:.0f} MB"


def write(name: str, folder: Path, pixels: int | None = None) -> None:
    """Write a network, an image, and what another implementation computes of it."""
    model = models.network(name, pixels)
    x = image(model)
    np.save(folder / "x.npy", x)
    np.save(folder / "wanted.npy", models.expected(model, x))
    (folder / "net.onnx").write_bytes(model.SerializeToString())


def run(folder: Path) -> Outcome:
    """Compile a network that is written to a folder, save it, load it, and have `relex-run` run it."""
    x, wanted, path = np.load(folder / "x.npy"), np.load(folder / "wanted.npy"), folder / "net.onnx"
    outcome = Outcome()
    with outcome.step("import"):
        module = from_onnx(path)
    with outcome.step("build"):
        executable = build(module, cache=False)
    main = executable["main"]
    outcome.errors["build"] = difference(main(x), wanted)
    outcome.memory = _peak_memory()
    with outcome.step("call"):
        main(x)
    executable.save(folder / "net.relex")
    outcome.errors["load"] = difference(load(folder / "net.relex")["main"](x), wanted)
    del module, executable, main
    # From the saved program: compiling it once more would show nothing new.
    files = ["--input", str(folder / "x.npy"), "--output", str(folder / "y.npy")]
    assert relex_run([str(folder / "net.relex"), *files]) == 0
    outcome.errors["relex-run"] = difference(np.load(folder / "y.npy"), wanted)
    return outcome


def _peak_memory() -> float:
    try:
        resource: Any = import_module("resource")
    except ImportError:
        return float("nan")
    # On macOS these are bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def check(name: str, pixels: int | None = None) -> Outcome:
    """Return what becomes of a network, in this process."""
    with TemporaryDirectory() as folder:
        write(name, Path(folder), pixels)
        return run(Path(folder))


def _in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(models.NETWORKS))
    wrong = 0
    for name in parser.parse_args().names or models.NETWORKS:
        with TemporaryDirectory() as folder:
            try:
                _in_a_process(write, name, Path(folder))
                outcome: Outcome = _in_a_process(run, Path(folder))
            # Whatever it is, the other networks are still run.
            except Exception as e:
                print(f"{name:14} {type(e).__name__}: {e}", flush=True)
                wrong += 1
                continue
        print(f"{name:14} {outcome}", flush=True)
        wrong += not outcome.is_right
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
