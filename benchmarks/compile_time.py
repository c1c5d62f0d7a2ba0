"""Compile time per op of each stage, for programs of 100, 1000 and 10000 ops.

The programs are at the core level: many functions with one loop each, or one function with one long block. A stage is
linear if its time per op is the same in all columns. `--sizes` sets other numbers of ops.

`--model` prints the time of each pass in the default compilation of one model, from text to callable; without a file it
compiles the perceptron of the examples. All times are processor times, so other programs do not count.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects import make_context, parse_module
from relex.dialects.upstream.verifier import verify_module
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.translate import translate
from relex.lowering.relex_pipeline import pipeline
from relex.runtime import build

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


PROGRAMS: dict[str, Callable[[int], str]] = {"loops": loops, "one block": one_block}


def stage_times(text: str) -> tuple[int, dict[str, float]]:
    """Return the number of ops of a program, and the seconds of each stage of its compilation."""
    times: dict[str, float] = {}
    context = make_context()

    def timed(stage: str, run: Callable[[], object]) -> object:
        # Do not charge this stage for garbage of earlier ones.
        gc.collect()
        start = process_time()
        result = run()
        times[stage] = process_time() - start
        return result

    module = timed("parse", lambda: parse_module(text, verify=False))
    assert isinstance(module, ModuleOp)
    count = sum(1 for _ in module.walk()) - 1
    timed("verify", lambda: verify_module(module))
    machine_level: Sequence[ModulePass] = next(passes for level, passes in pipeline("llvm") if level == "llvm")
    for p in machine_level:
        timed(p.name, lambda p=p: p.apply(context, module))
    timed("verify again", lambda: verify_module(module))
    timed("translate", lambda: translate(module))
    timed("LLVM", lambda: compile_module(module))
    # `compile_module` translates again.
    times["LLVM"] -= times["translate"]
    return count, times


MODEL = Path(__file__).parents[1] / "examples" / "digits" / "mlp.mlir"


def model_times(text: str) -> dict[str, float]:
    """Return the seconds of each pass and of the stages before and after; `build` then does all of it once more."""
    times: dict[str, float] = {}
    context = make_context()

    def timed(stage: str, run: Callable[[], object]) -> object:
        start = process_time()
        result = run()
        times[stage] = times.get(stage, 0) + process_time() - start
        return result

    gc.collect()
    module = timed("parse", lambda: parse_module(text))
    assert isinstance(module, ModuleOp)
    for level, passes in pipeline():
        for p in passes:
            timed(p.name, lambda p=p: p.apply(context, module))
        if level != "llvm":
            timed(f"verify {level}", lambda: verify_module(module))
    timed("translate", lambda: translate(module))
    timed("LLVM", lambda: compile_module(module))
    times["LLVM"] -= times["translate"]
    gc.collect()
    timed("build, all in all", lambda: build(text))
    return times


def print_model(path: Path, runs: int = 7) -> None:
    """Print the milliseconds of each stage, the minimum over several runs."""
    found = [model_times(path.read_text()) for _ in range(runs)]
    print(f"{path.name + ', ms':32}")
    for stage in found[0]:
        print(f"{stage:32}{1e3 * min(times[stage] for times in found):10.1f}")


def print_table(name: str, program: Callable[[int], str], sizes: Sequence[int]) -> None:
    """Print one column per size: microseconds per op of the program."""
    columns: list[dict[str, float]] = []
    for size in sizes:
        # A small program is measured several times; the first time warms up.
        runs = [stage_times(program(size)) for _ in range(max(3, 2000 // size))][1:]
        best = {stage: min(times[stage] for _, times in runs) for stage in runs[0][1]}
        columns.append({stage: 1e6 * seconds / runs[0][0] for stage, seconds in best.items()})
    print(f"{name + ', us per op':32}" + "".join(f"{size:>10}" for size in sizes))
    for stage in columns[0]:
        print(f"{stage:32}" + "".join(f"{column[stage]:10.1f}" for column in columns))
    print(f"{'all':32}" + "".join(f"{sum(column.values()):10.1f}" for column in columns), flush=True)
    print()


def main() -> None:
    """Print the tables, or the times for a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000], help="numbers of ops")
    parser.add_argument("--model", type=Path, nargs="?", const=MODEL, help="compile this model instead")
    arguments = parser.parse_args()
    if arguments.model is not None:
        print_model(arguments.model)
        return
    sizes = arguments.sizes
    for name, program in PROGRAMS.items():
        print_table(name, program, sizes)


if __name__ == "__main__":
    main()
