"""What holds for every op of both dialects: its documentation parses, its effects are declared, its place is kept."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, TensorType, f32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition
from xdsl.printer import Printer
from xdsl.traits import MemoryEffect, SymbolOpInterface
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import make_context, parse_module
from relex.dialects.errors import Diagnostic, diagnose, locate
from relex.dialects.function_arguments import argument_names
from relex.dialects.relex import AddOp, Relex, UnaryFunction
from relex.dialects.schedule import Schedule, SequenceOp
from relex.dialects.tir import Tir
from relex.dialects.upstream.parser import RelexParser

PRIMITIVES = [op for op in Schedule.operations if op is not SequenceOp]
OPS = [*Relex.operations, *Tir.operations, *Schedule.operations]

EXAMPLES = [
    pytest.param(op, example, id=op.name)
    for op in OPS
    for example in re.findall(r"```mlir\n(.*?)```", inspect.getdoc(op) or "", re.DOTALL)
]

# The functions that examples call.
CALLEES = {
    "relex.call_tir": """
        tir.prim_func private @linear0(%X: memref<1x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
            outs(%Y: memref<1x128xf32>) {}
        tir.prim_func private @relu(%X: memref<?x128xf32>) outs(%Y: memref<?x128xf32>) {}
    """,
    "relex.call": """
        func.func private @fused_dense_add0(%x: tensor<1x784xf32>, %w: tensor<128x784xf32>, %b: tensor<128xf32>)
            -> tensor<1x128xf32> attributes {relex.primitive} {
          %d = relex.dense %x, %w : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
          %y = relex.add %d, %b : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
          func.return %y : tensor<1x128xf32>
        }
    """,
    **{
        op.name: "tir.prim_func private @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {}"
        for op in Schedule.operations
    },
    "tir.call": "tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {}",
}

# The op that an example must be in.
PARENTS = {
    "tir.init": "tir.for %i, %k in (8, 16) {{ tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<16> = %k) {{ {} }} }}",
    **{op.name: "schedule.sequence for @relu {{ {} }}" for op in PRIMITIVES},
}


def undefined_values(ctx: Context, text: str) -> dict[str, str]:
    """The values that some ops use but do not define, with their types."""
    parser = RelexParser(ctx, text)
    while parser.parse_optional_operation() is not None:
        pass
    return {name: str(values[0].type) for name, values in parser.forward_ssa_references.items()}


@pytest.mark.parametrize(("op", "example"), EXAMPLES)
def test_examples_of_the_documentation_parse(op: type[Operation], example: str) -> None:
    text = PARENTS.get(op.name, "{}").format(example)
    if not op.has_trait(SymbolOpInterface):
        values = undefined_values(make_context(), text)
        arguments = ", ".join(f"%{name}: {type}" for name, type in values.items())
        text = f"func.func @example({arguments}) {{ {text} func.return }}"
    module = parse_module(CALLEES.get(op.name, "") + text)
    assert any(isinstance(inner, op) for inner in module.walk())
    again = parse_module(str(module))
    assert module.is_structurally_equivalent(again)
    assert str(again) == str(module)


def test_every_op_has_an_example() -> None:
    assert {param.values[0] for param in EXAMPLES} == set(OPS)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_declares_its_effects(op: type[Operation]) -> None:
    # Like `func.func`, a function has none that anybody asks for.
    if not op.has_trait(SymbolOpInterface):
        assert op.get_traits_of_type(MemoryEffect)


PROGRAM = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.dataflow -> tensor<4xf32> {
    %1 = "relex.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 =
      relex.add %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
\trelex.output %2 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

tir.prim_func @loops() {
  tir.for %i, parallel %j @j in (8, 4) { tir.block @a () {} }
}
"""

PLACES = {
    "func.func": [(1, 1)],
    "relex.dataflow": [(2, 8)],
    "relex.relu": [(3, 10)],
    "relex.add": [(5, 7)],
    "relex.output": [(6, 2)],
    "func.return": [(8, 3)],
    "tir.prim_func": [(11, 1)],
    # The loops of one head stand at its parts.
    "tir.for": [(12, 3), (12, 15)],
    "tir.block": [(12, 42)],
}


@pytest.mark.parametrize("offset", [0, 41])
def test_every_op_keeps_its_place(offset: int) -> None:
    module = parse_module(PROGRAM, "program.mlir", line_offset=offset)
    found: dict[str, list[tuple[int, int]]] = {}
    for op in module.walk():
        if op is module:
            continue
        assert isinstance(op.location, FileLineColLoc)
        assert op.location.filename.data == "program.mlir"
        found.setdefault(op.name, []).append((op.location.line.data - offset, op.location.column.data))
    assert found == PLACES


HERE = FileLineColLoc(StringAttr("other.mlir"), IntAttr(7), IntAttr(9))


@pytest.mark.parametrize(
    "location",
    [
        'loc("other.mlir":7:9)',
        'loc("name"("other.mlir":7:9))',
        'loc(callsite("other.mlir":7:9 at "caller.mlir":1:2))',
        'loc(fused[unknown, "other.mlir":7:9])',
    ],
)
def test_a_place_that_the_text_states_counts(location: str) -> None:
    (op,) = parse_module(f'"test.op"() : () -> () {location}').ops
    assert locate(op.location) == HERE
    assert diagnose(op, "is wrong") == Diagnostic("'test.op' op is wrong", "other.mlir", 7, 9)


@pytest.mark.parametrize(
    "function",
    [
        "func.func @f({}) {{ func.return }}",
        "tir.prim_func @f({}) {{}}",
    ],
)
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ("%w_1: f32", ["w_1"]),
        ("%w_1: f32, %w: f32, %w_2: f32", ["w_1", "w", "w_2"]),
        ("%a.b: f32, %_0: f32, %x$: f32", ["a.b", "_0", "x$"]),
        ("%0: f32, %1: f32", ["arg0", "arg1"]),
        ('%x_1: f32 {relex.name = "bias"}, %y: f32 {other.note}', ["bias", "y"]),
    ],
)
def test_argument_names_outlive_text(function: str, arguments: str, names: list[str]) -> None:
    module = parse_module(function.format(arguments))
    again = parse_module(str(module))
    assert module.is_structurally_equivalent(again)
    assert str(again) == str(module)
    for m in (module, again):
        (op,) = m.ops
        assert argument_names(op) == names


def test_functions_without_argument_attributes_are_left_alone() -> None:
    parse_module("riscv_func.func @f(%a_1: !riscv.reg) { riscv_func.return }")


def test_xdsl_opt_knows_the_dialects(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    tool = Path(sys.executable).parent / "xdsl-opt"
    run = subprocess.run([tool, file], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(parse_module(PROGRAM))


def test_operators_may_have_a_syntax_of_their_own() -> None:
    """It follows from operands and properties only where the class says nothing."""

    @irdl_op_definition
    class ShownOp(UnaryFunction):
        name = "other.shown"

        def print(self, printer: Printer) -> None:
            printer.print_string(" anything")

    shown = str(ShownOp(create_ssa_value(TensorType(f32, (2,)))))
    assert shown == "%0 = other.shown anything"
    assert AddOp.syntax() == "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"
