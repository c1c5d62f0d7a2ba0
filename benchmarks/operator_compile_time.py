"""Compile time of each operator where one axis of its operands has 16, 256 and 4096 elements.

The operators and their axes come from the tests, `tests/unit/support/operator_sizes.py`. For each size the columns are
the operations of the core level, counted once for each copy that LLVM is told to make by unrolling loops; the kilobytes
of object code; and the processor time in milliseconds from the module to object code. None of them should grow with
large sizes; operators for which one does are marked `grows`. `--operators` selects some by a pattern, `--sizes` sets
other sizes, `--element` another dtype than f32, and `--cpu` and `--features` another x86-64 processor than this
machine's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from relex.dialects.dtypes import element_type_of
from relex.dialects.target.machine import Target
from relex.lowering.llvm.object_code import compile_module
from relex.runtime.compilation import lower_program

if TYPE_CHECKING:
    from operator_sizes import Growth
    from xdsl.ir import Attribute

TESTS = Path(__file__).parents[1] / "tests" / "unit" / "support"

GROWS = 1.5
"""Largest permitted ratio of operations and of object code between the two largest sizes."""

FOR_THREADS = 4
"""Additional kilobytes permitted for sharing loop nests among threads."""


@dataclass(frozen=True)
class Cost:
    """The cost of one compilation."""

    operations: int
    kilobytes: float
    milliseconds: float

    def __str__(self) -> str:
        return f"{self.operations:8d}{self.kilobytes:8.1f}{self.milliseconds:8.0f}"


def cost(growth: Growth, size: int, element: Attribute, target: Target) -> Cost:
    """Compile an operator for one size."""
    from operator_sizes import code_size

    program = growth.program(size, element)
    start = process_time()
    code = compile_module(lower_program(program, target=target).module).code
    seconds = process_time() - start
    return Cost(code_size(program, target), len(code) / 1024, 1e3 * seconds)


def grows(costs: list[Cost]) -> bool:
    """Return whether the code still grows at the largest size."""
    *_, before, last = costs
    return last.operations > GROWS * before.operations or last.kilobytes > GROWS * before.kilobytes + FOR_THREADS


def main() -> None:
    """Print the table."""
    sys.path.append(str(TESTS))
    from operator_sizes import OPERATORS, growths

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", default="*", help="a pattern such as '*softmax*'")
    parser.add_argument("--sizes", type=int, nargs="+", default=[16, 256, 4096], help="of what grows, two or more")
    parser.add_argument("--element", type=np.dtype, default="float32", help="a NumPy dtype for f32")
    parser.add_argument("--cpu", help="such as haswell")
    parser.add_argument("--features", default="", help="such as +avx2,+fma")
    arguments = parser.parse_args()
    sizes: list[int] = arguments.sizes
    if len(sizes) < 2:
        parser.error(f"expected two sizes or more, found {len(sizes)}")
    every = (growth for make, types in OPERATORS for growth in growths(make, types))
    found = [growth for growth in every if fnmatch(str(growth), arguments.operators)]
    if not found:
        parser.error(f"no operator has a name like {arguments.operators!r}")
    host = Target.host()
    element = element_type_of(arguments.element)
    target = Target(host.triple, arguments.cpu, arguments.features) if arguments.cpu else host
    print(f"{'operations, kB, ms for N =':72}" + "".join(f"{size:>24}" for size in sizes))
    for growth in found:
        costs = [cost(growth, size, element, target) for size in sizes]
        print(f"{growth!s:72}", *costs, "  grows" if grows(costs) else "", sep="", flush=True)


if __name__ == "__main__":
    main()
