"""Compile time per operator of the passes on graphs and loops, for graphs of 250, 500, 1000 and 2000 operators.

A pass is linear if its time per operator is the same in all columns. `--sizes` sets other numbers of operators.
"""

from __future__ import annotations

import argparse
import gc
import random
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from benchmarks.compile_time import print_columns
from relex.dialects import make_context, parse_module
from relex.dialects.upstream.verifier import verify_module
from relex.lowering.relex_pipeline import pipeline

T = "tensor<4x4xf32>"
BINARY, UNARY = ("add", "multiply", "dense"), ("relu", "permute_dims", "softmax")


def chain(count: int) -> Iterator[str]:
    """Yield operators that each use the result of the previous one."""
    for i in range(1, count + 1):
        yield f"  %v{i} = relex.relu %v{i - 1} : ({T}) -> {T}"


def layers(count: int) -> Iterator[str]:
    """Yield dense layers with a bias, where every few layers a value is used again."""
    for i in range(1, count + 1):
        operator, other = [("dense", "w"), ("add", "w"), ("maximum", f"v{max(0, i - 6)}")][i % 3]
        yield f"  %v{i} = relex.{operator} %v{i - 1}, %{other} : ({T}, {T}) -> {T}"


def tangle(count: int) -> Iterator[str]:
    """Yield random operators on random earlier values."""
    rng = random.Random(0)
    for i in range(1, count + 1):
        name, a, b = rng.choice(BINARY + UNARY), rng.randrange(i), rng.randrange(i)
        operands, types = (f"%v{a}, %v{b}", f"{T}, {T}") if name in BINARY else (f"%v{a}", T)
        yield f"  %v{i} = relex.{name} {operands} : ({types}) -> {T}"


GRAPHS: dict[str, Callable[[int], Iterator[str]]] = {"chain": chain, "layers": layers, "tangle": tangle}


def program(graph: Callable[[int], Iterator[str]], count: int) -> str:
    """Return the text of a graph."""
    lines = [f"func.func @main(%v0: {T}, %w: {T}) -> {T} {{", *graph(count), f"  func.return %v{count} : {T}", "}"]
    return "\n".join(lines)


def pass_times(text: str) -> dict[str, float]:
    """Return the seconds of each pass down to the loop level, and of the final verification."""
    times: dict[str, float] = {}
    context, module = make_context(), parse_module(text)
    for p in (p for _, passes in pipeline("loops") for p in passes):
        # Do not charge this pass for garbage of earlier ones.
        gc.collect()
        start = perf_counter()
        p.apply(context, module)
        times[p.name] = perf_counter() - start
    start = perf_counter()
    verify_module(module)
    times["verify"] = perf_counter() - start
    return times


def print_table(name: str, graph: Callable[[int], Iterator[str]], sizes: Sequence[int]) -> None:
    """Print one column per size: microseconds per operator of the graph."""
    columns: list[dict[str, float]] = []
    for size in sizes:
        runs = [pass_times(program(graph, size)) for _ in range(2)]
        columns.append({p: 1e6 * min(times[p] for times in runs) / size for p in runs[0]})
    print_columns(f"{name}, us per operator", sizes, columns)


def main() -> None:
    """Print a table for each kind of graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000, 2000], help="numbers of operators")
    sizes = parser.parse_args().sizes
    for name, graph in GRAPHS.items():
        print_table(name, graph, sizes)


if __name__ == "__main__":
    main()
