"""Seconds that programs take to build, cold and warm, beside the time in which others load the same network.

`python -m benchmarks.build_times [PROGRAM ...]` prints a row for each; a program is a file, `relu` or `conv2d`, a
network of `benchmarks.models` or, with fixed sizes or dynamic ones (`detector?`), of `benchmarks.dynamic_models`. Each
is built in a process with an empty cache, once more in that process, and then in a new one. Only `build` counts:
modules have been imported for another program, and the program has been read. Times are processor times of all
processes; in brackets the time on the clock. The first column is the processor time of `python -c pass` at that moment,
which tells how fast the machine is, and how busy.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.stages import cpu_seconds, program

SMALL = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %0 = relex.dense %x, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  func.return %0 : tensor<4x16xf32>
}"""
OPERATORS = {
    "relu": """func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = relex.relu %x : (tensor<1024xf32>) -> tensor<1024xf32>
  func.return %0 : tensor<1024xf32>
}""",
    "conv2d": """func.func @main(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %0 = relex.conv2d %x, %w padding = [1, 1]
      : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  func.return %0 : tensor<1x64x56x56xf32>
}""",
}
"""Programs of one operator, by name."""
NETWORKS = ("squeezenet", "resnet50", "densenet121")
Times = tuple[float, float]


def timed(run: Callable[[], Any]) -> Times:
    """Return the processor time of all processes, and the time on the clock."""
    start, clock = cpu_seconds(), perf_counter()
    run()
    return cpu_seconds() - start, perf_counter() - clock


def built(name: str) -> list[Times]:
    """Build a program twice in this process. Processes that it has started are counted when they have ended."""
    from relex.dialects import parse_module
    from relex.runtime import build
    from relex.runtime.kernel_workers import POOL
    from relex.runtime.sources import read_program

    build(SMALL, cache=False)
    made = parse_module(OPERATORS[name]) if name in OPERATORS else program(name)()
    module = read_program(made)[0] if isinstance(made, Path) else made

    def run() -> None:
        build(module)
        POOL.close()

    return [timed(run), timed(run)]


def in_a_process(folder: str, *arguments: str) -> Any:
    """Return what this module prints for some arguments in a new process, with a cache in a folder."""
    command = [sys.executable, "-m", "benchmarks.build_times", *arguments]
    environment = {**os.environ, "XDG_CACHE_HOME": folder}
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment).stdout)


def loaded(name: str) -> dict[str, Times]:
    """Return how long ONNX Runtime and OpenVINO take to load a file or an ONNX network, where they are installed."""
    from benchmarks.models import MODELS

    if not name.endswith(".onnx") and name not in MODELS:
        return {}
    model: bytes = Path(name).read_bytes() if name.endswith(".onnx") else MODELS[name]().SerializeToString()
    found: dict[str, Times] = {}
    try:
        runtime: Any = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        found["ONNX Runtime"] = timed(lambda: runtime.InferenceSession(model, options))
    except ImportError:
        pass
    try:
        openvino: Any = import_module("openvino")
        core = openvino.Core()
        found["OpenVINO"] = timed(lambda: core.compile_model(core.read_model(model), "CPU"))
    except ImportError:
        pass
    return found


def row(name: str) -> str:
    """Return the row of a program."""
    with TemporaryDirectory() as folder:
        cold, again = in_a_process(folder, "--build", name)
        anew, _ = in_a_process(folder, "--build", name)
        others: dict[str, Times] = in_a_process(folder, "--load", name)
    nothing = min(timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)) for _ in range(5))
    times = [nothing, cold, again, anew, *(others.get(other) for other in ("ONNX Runtime", "OpenVINO"))]
    cells = ["-" if found is None else f"{found[0]:.2f} ({found[1]:.2f})" for found in times]
    return f"| {Path(name).name} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=NETWORKS)
    parser.add_argument("--build", help=argparse.SUPPRESS)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.build or options.load:
        print(json.dumps(built(options.build) if options.build else loaded(options.load)))
        return
    print("| program | `pass` | cold | warm | warm, in a new process | ONNX Runtime | OpenVINO |")
    print("|---|---|---|---|---|---|---|")
    for name in options.programs:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
