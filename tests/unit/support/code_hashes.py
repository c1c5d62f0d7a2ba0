"""Hashes of the object code of many programs, to see what a change does to generated code.

The programs are the examples, every operator on the operands of its case, with static and with dynamic sizes, and the
rows of the benchmarks; the targets are AVX2, AVX-512 and AArch64 processors, each with and without `strict`.

    export PYTHONPATH=.
    python tests/unit/support/code_hashes.py > before.txt
    python tests/unit/support/code_hashes.py --against before.txt

The second prints the programs whose code differs, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
from dynamic_programs import opened
from dynamic_programs import program as dynamic_program
from operator_cases import CASES
from programs import operator_program
from xdsl.dialects.builtin import ModuleOp

from benchmarks.contenders.in_relex import write
from benchmarks.rows import ROWS
from relex.dialects import make_context, parse_module
from relex.dialects.target.machine import Target
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.pool_allocations import PoolAllocationsPass
from relex.passes import BindParamsPass
from relex.runtime.compilation import lower_program

ROOT = Path(__file__).resolve().parents[3]

TARGETS = {
    "avx2": Target("x86_64-unknown-linux-gnu", "haswell", "+sse4.2,+avx,+avx2,+fma,+f16c"),
    "avx512": Target(
        "x86_64-unknown-linux-gnu",
        "skylake-avx512",
        "+sse4.2,+avx,+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512bw,+avx512dq",
    ),
    "neon": Target("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon"),
}
"""The targets by the names that lines carry."""


def example(folder: str, file: str) -> ModuleOp:
    """A model of the examples with its weights bound in both of its functions."""
    path = ROOT / "examples" / folder
    weights: Mapping[str, np.ndarray] = dict(np.load(path / "weights.npz"))
    module = parse_module((path / file).read_text(), file)
    for function in ("main", "batch"):
        module = BindParamsPass(function, weights)(module)
    return module


def row(name: str) -> ModuleOp:
    """A row of the benchmarks, with weights that only depend on their shapes."""
    rng = np.random.default_rng(0)
    described = ROWS[name]
    weights = {key: rng.standard_normal(shape).astype(described.dtype) for key, shape in described.weights.items()}
    text, bound = write(described, weights)
    return BindParamsPass("main", bound)(parse_module(text))


def operator(index: int) -> ModuleOp:
    return parse_module(operator_program(*CASES[index]))


def open_operator(index: int) -> ModuleOp:
    make, operands = CASES[index]
    return parse_module(dynamic_program(make, opened(make, operands)))


def programs() -> Iterator[tuple[str, Callable[..., ModuleOp], tuple[str | int, ...]]]:
    """The name of each program, a function that makes it, and that function's arguments."""
    for folder, file in (("digits", "mlp.mlir"), ("digits", "mlp_tir.mlir"), ("lenet", "lenet.mlir")):
        yield f"example {file}", example, (folder, file)
    for i, (make, _) in enumerate(CASES):
        name = make.func.__name__ if isinstance(make, partial) else make.__name__
        yield f"operator {i} {name}", operator, (i,)
        yield f"operator {i} {name}, open sizes", open_operator, (i,)
    for name in (name for name, row in ROWS.items() if not row.model):
        yield f"row {name}", row, (name,)


def hashes(name: str, make: Callable[..., ModuleOp], arguments: tuple[str | int, ...]) -> list[tuple[str, str]]:
    """A line and a hash for each way to compile a program."""
    module = make(*arguments)
    found: list[tuple[str, str]] = []
    for target_name, target in TARGETS.items():
        for strict in (False, True):
            lowered = lower_program(module, strict=strict, target=target)
            PoolAllocationsPass().apply(make_context(), lowered.module)
            code = compile_module(lowered.module, names={s.symbol: s.symbol for s in lowered.signatures.values()})
            digest = sha256(code.code)
            for symbol in sorted(code.constants):
                digest.update(symbol.encode())
                digest.update(code.constants[symbol])
            found.append((f"{target_name}{' strict' if strict else ''}: {name}", digest.hexdigest()[:16]))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with what an earlier run printed")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name contains this")
    parser.add_argument("--jobs", type=int, help="processes at the same time; all cores if not given")
    options = parser.parse_args()
    before: dict[str, str] = {}
    if options.against:
        for line in options.against.read_text().splitlines():
            digest, _, name = line.partition("  ")
            before[name] = digest
    changed = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(hashes, *program) for program in programs() if options.only in program[0]]
        for job in jobs:
            for name, digest in job.result():
                if not options.against:
                    print(f"{digest}  {name}", flush=True)
                elif before.get(name) != digest:
                    changed += 1
                    print(f"{'differs' if name in before else 'new'}  {name}", flush=True)
    if options.against:
        print(f"{changed} differ")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
