"""Lines of assembly, and the ops that they come from."""

from __future__ import annotations

import re

import pytest
from xdsl.ir import Operation

from relex.dialects import parse_module
from relex.lowering.llvm.assembly import lines_of_assembly, split_assembly
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import SetTargetPass

PROGRAM = """\
func.func @main(%x: tensor<64x256xf32>, %w: tensor<128x256xf32>) -> tensor<64x128xf32> {
  %y = relex.dense %x, %w : (tensor<64x256xf32>, tensor<128x256xf32>) -> tensor<64x128xf32>
  %z = relex.exp %y : (tensor<64x128xf32>) -> tensor<64x128xf32>
  func.return %z : tensor<64x128xf32>
}
"""


def line_of(op: Operation) -> int:
    """The line in the program, 0 if it is unknown."""
    found = re.search(r'":(\d+):', str(op.location))
    return int(found[1]) if found else 0


@pytest.mark.parametrize(
    ("triple", "cpu", "multiply"),
    [
        ("x86_64-unknown-linux-gnu", "haswell", "vfmadd231ps"),
        ("aarch64-unknown-linux-gnu", "cortex-a72", "fmla"),
    ],
)
def test_instructions_have_the_lines_of_their_ops(triple: str, cpu: str, multiply: str) -> None:
    module = RelexPipelinePass()(SetTargetPass(triple, cpu)(parse_module(PROGRAM, "program.mlir")))
    text = compile_to_assembly(module, line_of=line_of)
    found = lines_of_assembly(text)
    # Debug locations change no instruction.
    assert split_assembly(text) == split_assembly(compile_to_assembly(module))
    everything = [line for lines in found.values() for line in lines]
    assert {number for line, number in everything if line.split()[0] == multiply} >= {2}
    assert {number for _, number in everything} <= {0, 1, 2, 3, 4}
    assert sum(number == 3 for _, number in everything) > 10
    assert not any(re.match(r"\s*\.loc|\.Ltmp", line) for line, _ in everything)


def test_assembly_without_lines() -> None:
    text = compile_to_assembly(RelexPipelinePass()(parse_module(PROGRAM)))
    assert ".loc" not in text
    assert {number for lines in lines_of_assembly(text).values() for _, number in lines} == {0}
