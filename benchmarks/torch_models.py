"""Runs a folder of PyTorch models by relex, compares results and times with eager PyTorch, and prints a table.

    python -m benchmarks.torch_models FOLDER                        # each model: right, or the reason why not
    python -m benchmarks.torch_models FOLDER --only Conv --again    # some of them, once more
    python -m benchmarks.torch_models FOLDER --imports              # only whether they become verified modules
    python -m benchmarks.torch_models FOLDER --torch-compile        # its times, too

A model is a Python file as KernelBench has them: a class `Model`, `get_init_inputs()`, which returns the arguments of
its constructor, and `get_inputs()`, which returns the arguments of a call. It runs in eval mode, in a separate process
with a time limit.

The sizes are reduced, so that each takes seconds. Integers that the file assigns to names at its top level are halved
until they are at most 8, those whose names contain "batch" until they are at most 2. Where eager PyTorch does not run
such a model, larger limits are tried: 32 and 2, 128 and 2, 32 for both, and none. Integers inside functions and classes
stay as they are.

A result is right if the largest difference from the result of eager PyTorch is at most a thousandth of its largest
element, or of 0.1 where all are smaller: results that should be zero may have rounding errors.
What was found is in a file, and not done once more, unless `--again` is given: an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import Any, cast

import numpy as np

from benchmarks.contenders import limit_threads
from benchmarks.examining import Found, Stage, examined

TOLERANCE = 1e-3
LIMITS = ((8, 2), (32, 2), (128, 2), (32, 32))
"""Limits of sizes, and of batch sizes."""
SAMPLE_SECONDS = 0.1
"""The time for the calls of one contender, of which there is always one."""


class _Cut(ast.NodeTransformer):
    """Cuts the integers that a module assigns to names at its top level."""

    def __init__(self, limits: tuple[int, int]):
        self.limits = limits
        self.is_batch = False

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            if isinstance(statement, ast.Assign):
                names = [
                    name.id for target in statement.targets for name in ast.walk(target) if isinstance(name, ast.Name)
                ]
                self.is_batch = any("batch" in name.lower() for name in names)
                statement.value = self.visit(statement.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        try:
            value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
        except NameError:
            return node  # Computed from names that are cut already.
        return ast.copy_location(ast.Constant(self._cut(value)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(self._cut(node.value)), node)

    def _cut(self, value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        while value > self.limits[self.is_batch]:
            value //= 2
        return value


def load(file: Path, limits: tuple[int, int] | None) -> ModuleType:
    """Return the module of a file, with its sizes cut."""
    tree = ast.parse(file.read_text())
    if limits is not None:
        tree = ast.fix_missing_locations(_Cut(limits).visit(tree))
    module = ModuleType(file.stem)
    exec(compile(tree, str(file), "exec"), module.__dict__)
    return module


def make(file: Path, limits: tuple[int, int] | None) -> tuple[Any, list[Any], list[Any]]:
    """Return a model, the arguments of a call, and its results by eager PyTorch."""
    torch: Any = import_module("torch")
    module = load(file, limits)
    torch.manual_seed(0)
    given = module.get_init_inputs()
    model = module.Model(**given) if isinstance(given, dict) else module.Model(*given)
    model.eval()
    inputs = list(module.get_inputs())
    return model, inputs, leaves(model(*inputs))


def leaves(value: Any) -> list[Any]:
    """Return the tensors in a result."""
    if isinstance(value, list | tuple):
        return [leaf for part in cast("Sequence[Any]", value) for leaf in leaves(part)]
    return [value]


def shrunk(file: Path) -> tuple[Any, list[Any], list[Any], str]:
    """Return a model at the smallest sizes that eager PyTorch runs, with arguments, results and the limits of sizes."""
    for limits in LIMITS:
        try:
            return *make(file, limits), " and ".join(map(str, limits))
        except Exception:
            continue
    return *make(file, None), "none"


def difference(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the largest difference of results, relative to the largest element; infinity for other shapes."""
    worst = 0.0 if len(found) == len(wanted) else np.inf
    for x, y in zip(found, wanted, strict=False):
        a, b = np.asarray(x), np.asarray(y.detach())
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf
        if not b.size or np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
            continue
        a, b = a.astype(np.float64), b.astype(np.float64)
        scale = max(float(np.abs(b[np.isfinite(b)]).max(initial=0.0)), 0.1)
        error = np.abs(a - b)[~((a == b) | (np.isnan(a) & np.isnan(b)))].max(initial=0.0)
        worst = max(worst, float(error) / scale) if error == error else np.inf
    return worst


def timed(call: Callable[[], Any]) -> float:
    """Return the median time of a call, after a first one."""
    call()
    start, times = perf_counter(), list[float]()
    while not times or perf_counter() - start < SAMPLE_SECONDS:
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return median(times)


def examine(file: Path, imports: bool, torch_compile: bool, stage: Stage) -> None:
    """Run a model, and report what is found so far, step by step."""
    torch: Any = import_module("torch")
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    seconds: dict[str, float] = {}

    def measured(what: str, name: str, run: Callable[[], Any]) -> Any:
        stage(f"{what} takes too long")
        start = perf_counter()
        result = run()
        seconds[name] = perf_counter() - start
        return result

    stage("eager PyTorch takes too long", name=file.stem, seconds=seconds)
    with torch.no_grad():
        model, inputs, wanted, limits = shrunk(file)
        program = measured("torch.export", "export", lambda: torch.export.export(model, tuple(inputs)))
        module = measured("the import", "import", lambda: from_exported(program))
        if imports:
            return stage("imported", limits=limits)
        main = measured("the compilation", "compile", lambda: build(module, cache=False)["main"])
        stage("the call takes too long", limits=limits)
        tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
        results = leaves(main(*tensors))
        apart = difference(results, wanted)
        if not apart <= TOLERANCE:
            return stage(f"wrong: a difference of {apart:.1e}", difference=apart)
        stage("right", difference=apart)
        seconds["relex"] = timed(lambda: main(*tensors))
        seconds["eager"] = timed(lambda: model(*inputs))
        stage("right")
        if torch_compile:
            compiled = torch.compile(model)
            seconds["torch.compile"] = timed(lambda: compiled(*inputs))
            stage("right")


def _blame(verdict: str, message: str) -> str:
    """Return who is to blame for an exception: what is under way says it."""
    where = {"eager": "eager PyTorch", "torch.": "torch.export"}
    return f"{next((name for start, name in where.items() if verdict.startswith(start)), 'relex')}: {message}"


def run(file: Path, options: argparse.Namespace) -> Found:
    """Return what is found for a model within the time limit."""
    given = file, options.imports, options.torch_compile
    found = examined(examine, *given, seconds=options.seconds, blame=_blame, method="forkserver")
    return {"name": file.stem, "seconds": {}, **found}


def line(found: Found) -> str:
    """Return the line of a model in the table."""
    times = found.get("seconds", {})
    shown = [f"{name} {times[name] * 1e3:.2f} ms" for name in ("relex", "eager", "torch.compile") if name in times]
    return f"{found['name']}: {'; '.join([found['verdict'], *shown])}"


def read(path: Path) -> dict[str, Found]:
    """Return what a file has, by the names of models."""
    if not path.exists():
        return {}
    return {entry["name"]: entry for entry in map(json.loads, path.read_text().splitlines())}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the models of a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torch_models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="a folder of models, each a Python file")
    parser.add_argument("--seconds", type=float, default=60, help="the time limit of a model (60)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only models with this in their names")
    parser.add_argument("--imports", action="store_true", help="do not compile and run them")
    parser.add_argument("--torch-compile", action="store_true", help="measure torch.compile as well")
    parser.add_argument("--again", action="store_true", help="run those that were not right once more")
    parser.add_argument("--results", type=Path, help="the file of results (build/torch_models/FOLDER.jsonl)")
    options = parser.parse_args(arguments)
    files = sorted((file for file in options.folder.glob("*.py") if options.only in file.name), key=_number)
    if not files:
        parser.error(f"expected models, *.py, in {options.folder}")
    kind = "-imports" if options.imports else ""
    path: Path = options.results or Path("build", "torch_models", f"{options.folder.name}{kind}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    known = read(path)
    limit_threads(1)
    get_context("forkserver").set_forkserver_preload(["torch", "relex.frontend.torch.program", "relex.runtime"])
    for file in files:
        if file.stem not in known or (options.again and known[file.stem]["verdict"] not in ("right", "imported")):
            known[file.stem] = run(file, options)
            path.write_text("".join(json.dumps(entry) + "\n" for entry in known.values()))
        print(line(known[file.stem]), flush=True)
    right = sum(known[file.stem]["verdict"] in ("right", "imported") for file in files)
    print(f"{right} of {len(files)} are right" if not options.imports else f"{right} of {len(files)} are imported")
    return 0


def _number(file: Path) -> tuple[int, str]:
    """Return a key by which `10_x` comes after `9_y`."""
    head = file.stem.partition("_")[0]
    return (int(head) if head.isdigit() else 0, file.stem)


if __name__ == "__main__":
    sys.exit(main())
