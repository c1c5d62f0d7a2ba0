"""Compile time per op of each stage, for programs of 100, 1000 and 10000 ops.

The programs are at the core level: many functions with one loop each, or one function with one long block. A stage is
linear if its time per op is the same in all columns. `--sizes` sets other numbers of ops.

`--model` prints the time of each pass in the default compilation of one model, from text to callable; without a file it
compiles the perceptron of the examples. `--passes` prints a table of all passes that take 1 % or more of the time of
some program, with the milliseconds and the share in each: of the networks of the examples and, if the package onnx is
installed, of the networks of `benchmarks.models` that are named. `--cache` prints the seconds of `build` for the same
networks where no kernel is known, where all are in memory, and where all are in files, and the time on the clock where
none is known. `--operators` prints microseconds per operator in graphs of that many operators. All other times are
processor times, so other programs do not count.

`--builds` prints a table of whole builds: processor and wall time, the share of each stage, and peak memory as a
multiple of the weights, for networks and files, and for graphs of a given number of operators, as `equal:300`;
`benchmarks.stages` says more.
"""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from benchmarks import stages
from relex.dialects import make_context, parse_module
from relex.dialects.upstream.verifier import verify_module
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.translate import translate
from relex.lowering.relex_pipeline import pipeline
from relex.passes import BindParamsPass
from relex.runtime import build, kernel_cache
from relex.runtime.compilation import lower_program

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

T = TypeVar("T")

LOOP = """
func.func @f{i}(%x: memref<?x64xf32>, %out: memref<?x64xf32>, %a: f32) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?x64xf32>
  scf.for %i = %zero to %n step %one {{
    %0 = memref.load %x[%i, %one] : memref<?x64xf32>
    %1 = arith.mulf %0, %a : f32
    %2 = math.sqrt %1 : f32
    %3 = arith.cmpf olt, %2, %a : f32
    %4 = arith.select %3, %2, %0 : f32
    %5 = vector.load %x[%i, %zero] : memref<?x64xf32>, vector<8xf32>
    %6 = vector.broadcast %4 : f32 to vector<8xf32>
    %7 = vector.fma %5, %6, %5 : vector<8xf32>
    vector.store %7, %out[%i, %zero] : memref<?x64xf32>, vector<8xf32>
    %8 = vector.reduction <maximumf>, %7 : vector<8xf32> into f32
    memref.store %8, %out[%i, %one] : memref<?x64xf32>
  }}
  func.return
}}
"""
OPS_OF_LOOP = 18


def loops(ops: int) -> str:
    """Return a program of many functions with one loop each."""
    return "".join(LOOP.format(i=i) for i in range(ops // OPS_OF_LOOP))


def one_block(ops: int) -> str:
    """Return a program of one function with one block."""
    lines = ["func.func @f(%x: memref<64xf32>, %i: index) -> f32 {", "  %v0 = memref.load %x[%i] : memref<64xf32>"]
    for k in range(0, ops - 3, 3):
        lines += [
            f"  %p{k} = arith.mulf %v{k}, %v{k} : f32",
            f"  memref.store %p{k}, %x[%i] : memref<64xf32>",
            f"  %v{k + 3} = arith.addf %p{k}, %v{k} : f32",
        ]
    return "\n".join([*lines, f"  func.return %v{(ops - 1) // 3 * 3} : f32", "}"])


def timed(times: dict[str, float], stage: str, run: Callable[[], T]) -> T:
    """Run a stage, and add its processor time to the times."""
    start = process_time()
    result = run()
    times[stage] = times.get(stage, 0) + process_time() - start
    return result


PROGRAMS: dict[str, Callable[[int], str]] = {"loops": loops, "one block": one_block}


def stage_times(text: str) -> tuple[int, dict[str, float]]:
    """Return the number of ops of a program, and the seconds of each stage of its compilation."""
    times: dict[str, float] = {}
    context = make_context()

    def measure(stage: str, run: Callable[[], T]) -> T:
        # Do not charge this stage for garbage of earlier ones.
        gc.collect()
        return timed(times, stage, run)

    module = measure("parse", lambda: parse_module(text, verify=False))
    count = sum(1 for _ in module.walk()) - 1
    measure("verify", lambda: verify_module(module))
    machine_level: Sequence[ModulePass] = next(passes for level, passes in pipeline("llvm") if level == "llvm")
    for p in machine_level:
        measure(p.name, lambda p=p: p.apply(context, module))
    measure("verify again", lambda: verify_module(module))
    measure("translate", lambda: translate(module))
    measure("LLVM", lambda: compile_module(module))
    # `compile_module` translates again.
    times["LLVM"] -= times["translate"]
    return count, times


MODEL = Path(__file__).parents[1] / "examples" / "digits" / "mlp.mlir"


def model_times(text: str) -> dict[str, float]:
    """Return the seconds of each pass and of the stages before and after; `build` then does all of it once more."""
    times: dict[str, float] = {}
    context = make_context()
    gc.collect()
    module = timed(times, "parse", lambda: parse_module(text))
    for level, passes in pipeline():
        for p in passes:
            timed(times, p.name, lambda p=p: p.apply(context, module))
        if level != "llvm":
            timed(times, f"verify {level}", lambda: verify_module(module))
    timed(times, "translate", lambda: translate(module))
    timed(times, "LLVM", lambda: compile_module(module))
    times["LLVM"] -= times["translate"]
    gc.collect()
    timed(times, "build, all in all", lambda: build(text, cache=False))
    return times


def print_model(path: Path, runs: int = 7) -> None:
    """Print the milliseconds of each stage, the minimum over several runs."""
    found = [model_times(path.read_text()) for _ in range(runs)]
    print(f"{path.name + ', ms':32}")
    for stage in found[0]:
        print(f"{stage:32}{1e3 * min(times[stage] for times in found):10.1f}")


EXAMPLES = {"MLP": "digits/mlp.mlir", "LeNet": "lenet/lenet.mlir"}
"""Networks in the examples, each with a function for one image and one for a batch."""


BUILDS = [*EXAMPLES, *(f"{kind}:{n}" for kind in ("chain", "fan", "equal", "distinct") for n in (10, 100, 1000, 3000))]


def example(file: str) -> ModuleOp:
    """Return a network of the examples with its weights."""
    path = MODEL.parents[1] / file
    weights: Mapping[str, Array] = dict(np.load(path.with_name("weights.npz")))
    return BindParamsPass("batch", weights)(BindParamsPass("main", weights)(parse_module(path.read_text())))


def light_network(name: str) -> ModuleOp:
    """Return a network of the package onnx."""
    from benchmarks.models import MODELS
    from relex.frontend.onnx import from_onnx

    return from_onnx(MODELS[name]())


def graph(count: int, is_fan: bool) -> ModuleOp:
    """Return a graph of that many operators: a chain of products and softmaxes, or many of them that are added up."""
    lines, left = [f"%v0 = relex.negative %x : ({TENSOR}) -> {TENSOR}"], ["%v0"]
    for i in range(1, count):
        others = ["%v0", "%x"] if is_fan and i < count // 2 else left[:2] if len(left) > 1 else [left[0], "%x"]
        left = left if is_fan and i < count // 2 else left[2:]
        made = f"multiply {', '.join(others)} : ({TENSOR}, {TENSOR})" if i % 2 else f"softmax {others[0]} : ({TENSOR})"
        lines.append(f"%v{i} = relex.{made} -> {TENSOR}")
        left.append(f"%v{i}")
    text = "\n".join(lines)
    return parse_module(f"func.func @main(%x: {TENSOR}) -> {TENSOR} {{\n{text}\nfunc.return {left[-1]} : {TENSOR}\n}}")


TENSOR = "tensor<8x24xf32>"


def pass_times(program: ModuleOp) -> dict[str, float]:
    """Return the seconds of each pass of `build`, and of LLVM."""
    marks: list[tuple[str, float]] = []
    gc.collect()
    lowered = lower_program(program, instrument=lambda p, _: marks.append((p.name, process_time())))
    marks.append(("LLVM", process_time()))
    compile_module(lowered.module, names={s.symbol: s.symbol for s in lowered.signatures.values()})
    times: dict[str, float] = {}
    for (name, start), (_, end) in zip(marks, [*marks[1:], ("", process_time())], strict=True):
        times[name] = times.get(name, 0) + end - start
    return times


def print_passes(title: str, programs: Mapping[str, ModuleOp], cell: Callable[[str, float, float], str]) -> None:
    """Print a row for each pass that takes 1 % of the time of some program, and a column for each program: what `cell`
    returns for the name of a program, the seconds of the pass and the seconds of all passes. The best of three runs
    count, after one."""
    found = {
        name: min([pass_times(program) for _ in range(4)][1:], key=lambda times: sum(times.values()))
        for name, program in programs.items()
    }
    sums = {name: sum(times.values()) for name, times in found.items()}
    print(f"{title:36}" + "".join(f"{name:>16}" for name in found))
    for p in dict.fromkeys(p for times in found.values() for p in times):
        if any(times.get(p, 0) >= 0.01 * sums[name] for name, times in found.items()):
            cells = [cell(name, times.get(p, 0), sums[name]) for name, times in found.items()]
            print(f"{p:36}" + "".join(f"{text:>16}" for text in cells))
    print(f"{'all':36}" + "".join(f"{cell(name, total, total):>16}" for name, total in sums.items()), flush=True)
    print()


def cache_times(program: ModuleOp) -> dict[str, float]:
    """Return the seconds of `build` without known kernels, in processor time of all processes and on the clock, and
    with those kernels in memory and in files."""
    times: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for step in ("cold", "in memory", "in files"):
            if step != "in memory":
                kernel_cache.MEMORY.clear()
            gc.collect()
            start, clock = os.times(), perf_counter()
            build(program)
            end = os.times()
            times[step] = sum(end[:4]) - sum(start[:4])
            if step == "cold":
                times["cold, on the clock"] = perf_counter() - clock
    return times


def print_cache(programs: Mapping[str, ModuleOp]) -> None:
    """Print a row for each network: seconds, and shares of those without known kernels."""
    for name, program in programs.items():
        times = cache_times(program)
        cells = [f"{step} {t:.2f} s ({t / times['cold']:.0%})" for step, t in times.items()]
        print(f"{name:16}" + ", ".join(cells), flush=True)


def print_table(name: str, program: Callable[[int], str], sizes: Sequence[int]) -> None:
    """Print one column per size: microseconds per op of the program."""
    columns: list[dict[str, float]] = []
    for size in sizes:
        # A small program is measured several times; the first time warms up.
        runs = [stage_times(program(size)) for _ in range(max(3, 2000 // size))][1:]
        best = {stage: min(times[stage] for _, times in runs) for stage in runs[0][1]}
        columns.append({stage: 1e6 * seconds / runs[0][0] for stage, seconds in best.items()})
    print_columns(f"{name}, us per op", sizes, columns)


def print_columns(title: str, sizes: Sequence[int], columns: Sequence[Mapping[str, float]]) -> None:
    """Print a row for each stage, with its number for each size, and one for their sum."""
    print(f"{title:32}" + "".join(f"{size:>10}" for size in sizes))
    for stage in columns[0]:
        print(f"{stage:32}" + "".join(f"{column[stage]:10.1f}" for column in columns))
    print(f"{'all':32}" + "".join(f"{sum(column.values()):10.1f}" for column in columns), flush=True)
    print()


def main() -> None:
    """Print the tables, or the times for a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000], help="numbers of ops")
    parser.add_argument("--passes", nargs="*", metavar="NETWORK", help="print the shares of all passes")
    parser.add_argument("--cache", nargs="*", metavar="NETWORK", help="print what known kernels save")
    parser.add_argument("--operators", type=int, nargs="+", help="print the times of passes for graphs of this size")
    parser.add_argument("--builds", nargs="*", metavar="PROGRAM", help="print the stages of whole builds")
    parser.add_argument("--model", type=Path, nargs="?", const=MODEL, help="compile this model instead")
    arguments = parser.parse_args()
    if arguments.model is not None:
        print_model(arguments.model)
        return
    if arguments.builds is not None:
        print(f"{'build':24}{stages.TITLES}")
        for name in arguments.builds or BUILDS:
            print(stages.measured(name), flush=True)
        return
    for names, is_cache in ((arguments.passes, False), (arguments.cache, True)):
        if names is None:
            continue
        networks = {name: example(file) for name, file in EXAMPLES.items()}
        networks |= {name: light_network(name) for name in names}
        if is_cache:
            print_cache(networks)
            continue
        print_passes("ms, and share of all", networks, lambda _, t, total: f"{1e3 * t:.0f} {t / total:6.1%}")
    for is_fan in (False, True) if arguments.operators else ():
        title = f"{'fan' if is_fan else 'chain'}, us per operator"
        graphs = {str(count): graph(count, is_fan) for count in arguments.operators}
        print_passes(title, graphs, lambda name, t, _: f"{1e6 * t / int(name):.0f}")
    if arguments.passes is not None or arguments.cache is not None or arguments.operators:
        return
    sizes = arguments.sizes
    for name, program in PROGRAMS.items():
        print_table(name, program, sizes)


if __name__ == "__main__":
    main()
