"""Where the time of a build goes: a row for each program, which is built in a separate process, without the cache.

`python -m benchmarks.stages PROGRAM` prints the row of one as JSON. A program is the path of a file, the name of a
network of `benchmarks.models` or of the examples, or a graph with a number of operators: `chain:300`, `fan:300`,
`equal:300` (layers that are alike) or `distinct:300`. Networks of `benchmarks.dynamic_models` have fixed sizes, or
dynamic ones if a question mark follows the name: `detector` and `detector?`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.first_call import forget_peak, peak_memory

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

STAGES = ("import", "graph", "schedule", "loops", "lowering", "LLVM", "link", "modules", "rest")
"""Parsing or importing the program; passes on graphs; `schedule-cpu`; other passes on loops; those after them; the
import of Python modules that are needed for the first time."""


@dataclass
class Row:
    """The CPU seconds of each stage and of all, wall time, and memory in bytes."""

    program: str
    stages: dict[str, float] = field(default_factory=dict[str, float])
    wall: float = 0.0
    weights: int = 0
    peak: int = 0
    """How much memory the process needed beyond what it had before."""

    def __str__(self) -> str:
        total = sum(self.stages.values())
        shares = "".join(f"{self.stages.get(stage, 0.0) / total:10.1%}" for stage in STAGES)
        memory = f"{self.peak / self.weights:10.2f}" if self.weights >= 2**20 else f"{'':10}"
        return f"{self.program:24}{total:10.2f}{self.wall:10.2f}{shares}{memory}"


TITLES = "".join(f"{title:>10}" for title in ("CPU s", "wall s", *STAGES, "memory"))


def cpu_seconds() -> float:
    """Return the processor time of this process and of those that it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Stages:
    """Charges processor time to the innermost stage that is known, as a watcher."""

    def __init__(self, groups: Mapping[str, str]):
        self.seconds: dict[str, float] = dict.fromkeys(STAGES, 0.0)
        self._groups, self._inside, self._since = groups, ["rest"], cpu_seconds()

    def begin(self, stage: str) -> None:
        """A stage begins."""
        self.charge()
        self._inside.append(self._groups.get(stage, self._inside[-1]))

    def reach(self, name: str, done: int, count: int) -> None:
        """Parts are not told apart."""

    def end(self) -> None:
        """The innermost stage ends."""
        self.charge()
        self._inside.pop()

    def charge(self) -> None:
        """Charge the time since the last event."""
        now = cpu_seconds()
        self.seconds[self._inside[-1]] += now - self._since
        self._since = now


def groups() -> dict[str, str]:
    """Return the stage of the table for each stage of a build, by name."""
    from relex.lowering.relex_pipeline import pipeline

    of_levels = {"graph": "graph", "loops": "loops", "core": "lowering", "llvm": "lowering"}
    found = {p.name: of_levels[level] for level, passes in pipeline() for p in passes}
    return {
        **found,
        "schedule-cpu": "schedule",
        "Parser": "import",
        "LLVM": "LLVM",
        "Link": "link",
        "Imports": "modules",
    }


def layers(count: int, is_distinct: bool) -> ModuleOp:
    """Return a graph of about `count` operators: dense layers, each with its own constants, of equal or other sizes."""
    from relex.frontend import BlockBuilder, Var, const, op

    rng = np.random.default_rng(0)
    # No two layers have the same two widths, up to 2,000 layers.
    distinct = [40 + i // 64 if i % 2 else 8 + i // 2 % 32 for i in range(count // 3 + 1)]
    widths = distinct if is_distinct else [24] * len(distinct)
    bb = BlockBuilder()
    x = Var("x", (8, widths[0]), "float32")
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for before, after in pairwise(widths):
                weight = const(rng.random((after, before), np.float32))
                y = bb.emit(op.add(bb.emit(op.dense(y, weight)), const(rng.random(after, np.float32))))
                y = bb.emit(op.relu(y))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def program(name: str) -> Callable[[], ModuleOp | Path]:
    """Return what makes a program; the time that it takes counts as import."""
    from benchmarks import compile_time, dynamic_models
    from benchmarks.models import MODELS

    kind, _, count = name.partition(":")
    if kind in ("chain", "fan"):
        return lambda: compile_time.graph(int(count), kind == "fan")
    if kind in ("equal", "distinct"):
        return lambda: layers(int(count), kind == "distinct")
    if name.removesuffix("?") in dynamic_models.NETWORKS:
        return lambda: dynamic_models.network(name)
    if name in compile_time.EXAMPLES:
        return lambda: compile_time.example(compile_time.EXAMPLES[name])
    if name in MODELS:
        from relex.frontend.onnx import from_onnx

        model = MODELS[name]()
        return lambda: from_onnx(model)
    return lambda: Path(name)


def bytes_of_constants(module: ModuleOp | Path) -> int:
    """Return the size of the weights of a program; of a file, all of it."""
    from relex.dialects.dtypes import dense_bytes
    from relex.dialects.relex import ConstantOp

    if isinstance(module, Path):
        return module.stat().st_size
    return sum(len(dense_bytes(op.value)) for op in module.walk() if isinstance(op, ConstantOp))


def measure(name: str) -> Row:
    """Build a program."""
    from relex.passes.driver.activity import doing, watched_by
    from relex.runtime import build
    from relex.tools.options.instrumentation import imports_apart

    make, row = program(name), Row(name)
    # Models of ONNX are made with more memory than what is left of them.
    forget_peak()
    stages, before, start = Stages(groups()), peak_memory(), perf_counter()
    with watched_by(stages), imports_apart():
        with doing("Parser"):
            module = make()
        build(module, cache=False)
    stages.charge()
    row.stages, row.wall, row.peak = stages.seconds, perf_counter() - start, peak_memory() - before
    row.weights = bytes_of_constants(module)
    return row


def measured(name: str) -> Row:
    """Build a program in a separate process. Raises `CalledProcessError` if that fails."""
    command = [sys.executable, "-m", "benchmarks.stages", name]
    return Row(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


if __name__ == "__main__":
    print(json.dumps(asdict(measure(sys.argv[1]))))
