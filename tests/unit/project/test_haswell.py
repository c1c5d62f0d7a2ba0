"""Compiled programs on a processor with AVX2 and nothing wider, which `qemu-x86_64` plays."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.target.target_attribute import Target
from relex.passes import BindParamsPass
from relex.runtime import build
from relex.runtime.compilation import read_program

Arrays = tuple[npt.NDArray[Any], ...]

QEMU = shutil.which("qemu-x86_64")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
HASWELL = Target(Target.host().triple, "haswell")

pytestmark = pytest.mark.skipif(
    QEMU is None or platform.machine() != "x86_64", reason="needs qemu-x86_64 and a Python for x86-64"
)

CHAIN = """
func.func @main(%x: tensor<?x37xf32>, %y: tensor<37xf32>) -> tensor<?x37xf32> {
  %0 = relex.multiply %x, %y : (tensor<?x37xf32>, tensor<37xf32>) -> tensor<?x37xf32>
  %1 = relex.add %0, %y : (tensor<?x37xf32>, tensor<37xf32>) -> tensor<?x37xf32>
  %2 = relex.relu %1 : (tensor<?x37xf32>) -> tensor<?x37xf32>
  %3 = relex.exp %2 : (tensor<?x37xf32>) -> tensor<?x37xf32>
  func.return %3 : tensor<?x37xf32>
}
"""
ADD = """
func.func @main(%x: tensor<2x37xf32>, %y: tensor<2x37xf32>) -> tensor<2x37xf32> {
  %0 = relex.add %x, %y : (tensor<2x37xf32>, tensor<2x37xf32>) -> tensor<2x37xf32>
  func.return %0 : tensor<2x37xf32>
}
"""
ROWS = """
tir.prim_func @main(%X: memref<500x40xf32>) outs(%Y: memref<500x40xf32>) {
  tir.for parallel %i in (500) {
    tir.for %j in (40) {
      tir.block @Y (%vi: spatial<500> = %i, %vj: spatial<40> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<500x40xf32>
        %y = arith.mulf %x, %x : f32
        memref.store %y, %Y[%vi, %vj] : memref<500x40xf32>
      }
    }
  }
}
"""

RUN = """
import sys
import numpy as np
import llvmlite.binding as llvm
from relex.dialects import RelexError
from relex.dialects.target.machine import Target
from relex.runtime import load, set_threads

assert "avx512f" not in Target.host().enabled
assert "avx512f" not in [name for name, on in llvm.get_host_cpu_features().items() if on]
set_threads(3)
*names, last = sys.argv[1:]
if last.endswith(".relex"):
    try:
        load(last)
    except RelexError as error:
        assert "needs what this machine lacks: " in str(error) and "avx512f" in str(error), error
    else:
        raise SystemExit("it was loaded")
else:
    names.append(last)
for name in names:
    with np.load(f"{name}.npz") as arrays:
        *inputs, expected = arrays.values()
        found = load(f"{name}.relex")["main"](*inputs)
        assert found.any(), name
        np.testing.assert_array_equal(found, expected, name)
"""
"""Runs saved executables. The same code on the same numbers gives the same bits."""

BUILD = """
import sys
import numpy as np
from relex.runtime import build

x, y = np.arange(74, dtype=np.float32).reshape(2, 37), np.ones((2, 37), np.float32)
np.testing.assert_array_equal(build(sys.argv[1])["main"](x, y), x + 1)
"""
"""Compiles for the processor that it finds itself on."""


def on_haswell(code: str, *arguments: str | Path) -> None:
    assert QEMU is not None
    environment = {name: value for name, value in os.environ.items() if name != "RELEX_CPU"}
    command = [QEMU, "-cpu", "Haswell", sys.executable, "-c", code, *map(str, arguments)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert found.returncode == 0, found.stderr


def example(program: str, weights: str, shape: tuple[int, ...]) -> tuple[Any, Arrays]:
    module = BindParamsPass("main", load_arrays(EXAMPLES / weights))(read_program(EXAMPLES / program)[0])
    return module, (numbers(*shape),)


def numbers(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


PROGRAMS: dict[str, Callable[[], tuple[Any, Arrays]]] = {
    "mlp": lambda: example("digits/mlp.mlir", "digits/weights.npz", (1, 784)),
    "lenet": lambda: example("lenet/lenet.mlir", "lenet/weights.npz", (1, 1, 8, 8)),
    "chain": lambda: (CHAIN, (numbers(13, 37), numbers(37))),
    "threads": lambda: (ROWS, (numbers(500, 40),)),
}


def test_saved_programs(tmp_path: Path):
    """Right code runs there, and code for a wider processor is refused."""
    wider = [tmp_path / "wider.relex"] if "avx512f" in Target.host().enabled else []
    for file in wider:
        build(ADD, target=Target.host()).save(file)
    for name, make in PROGRAMS.items():
        program, inputs = make()
        executable = build(program, target=HASWELL)
        executable.save(tmp_path / f"{name}.relex")
        np.savez(tmp_path / f"{name}.npz", *inputs, executable["main"](*inputs))
    on_haswell(RUN, *(tmp_path / name for name in PROGRAMS), *wider)


@pytest.mark.full
def test_a_program_is_compiled_there():
    """`test_saved_programs` shows that the processor is known there, and that code for it is right."""
    on_haswell(BUILD, ADD)
