"""The programs of docs/control-flow.md are the same as MLIR and as scripts, and at every level."""

from __future__ import annotations

import contextlib
import io
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_script_roundtrip import read_back
from xdsl.dialects.builtin import ModuleOp

import relex.runtime
from relex.dialects import CompileError, parse_module
from relex.dialects.errors import PassError
from relex.frontend import BlockBuilder, Expr, Var, op
from relex.frontend.script import parse_script, print_script
from relex.reference import interpret
from relex.runtime import build

PAGE = Path(__file__).parents[3] / "docs" / "control-flow.md"

BOXES = np.array([[0, 0, 2, 2], [0, 0.1, 2, 2], [5, 5, 6, 6], [3, 3, 4, 4]], np.float32)

RUNS = np.array([5, 5, 5, 7, 7, 5])
STEP = np.ones((1, 4), np.float32), np.array([[3]]), np.zeros((1000, 4), np.float32)
CALLS: list[dict[str, tuple[Any, ...]]] = [
    {"main": (np.array([4, 9, 2], np.float32),)},
    {"main": (np.array([4, 9], np.float32),)},
    {"main": (np.array(3),)},
    {"main": (np.array(1),)},
    {"encode": (RUNS,), "decode": (RUNS, RUNS % 4)},
    {"main": (BOXES, np.array([0.8, 0.9, 0.05, 0.4], np.float32))},
    {"main": (True, np.ones(3, np.float32), np.ones(3, np.float32))},
    {"main": (np.ones(3, np.float32), 2)},
    {"main": (STEP[0], 3, STEP[2])},
    {"main": STEP},
    {"main": STEP},
]
"""Arguments for the functions of each program of the page."""

NO_SCRIPT = (0, 6, 7, 8)
"""Relax has no parameters that are numbers, and no results: these programs have one."""


@pytest.fixture(scope="module")
def programs() -> list[ModuleOp]:
    """What the page builds."""
    found: list[ModuleOp] = []

    def recorded(program: ModuleOp | str) -> Any:
        executable = build(program)
        found.append(parse_module(program) if isinstance(program, str) else program)
        return executable

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setattr(relex.runtime, "build", recorded)
        names: dict[str, Any] = {}
        for code in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
            exec(code, names)
    return found


def after(function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """What a call returns, and what it leaves in its arguments."""
    own: list[Any] = [deepcopy(argument) for argument in arguments]
    result = function(*own)
    return [*(result if isinstance(result, tuple) else (result,)), *own]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_every_form_of_a_program(programs: list[ModuleOp], number: int):
    assert len(programs) == len(CALLS)
    program = programs[number]
    compiled = build(program)
    forms = {"MLIR": parse_module(str(program)), **{level: compiled.ir(level) for level in ("loops", "core")}}
    if number not in NO_SCRIPT:
        forms["a script"] = parse_script(print_script(program))
    for name, arguments in CALLS[number].items():
        expected = after(interpret(program)[name], arguments)
        functions = {"native code": compiled[name], **{form: interpret(module)[name] for form, module in forms.items()}}
        for form, function in functions.items():
            for result, wanted in zip(after(function, arguments), expected, strict=True):
                np.testing.assert_allclose(result, wanted, 1e-5, 1e-5, err_msg=form)


OPEN = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("m",), "float32")):
    n = T.int64()
    m = T.int64()
    rows = R.strided_slice(x, axes=[0], begin=[1], end=[T.min(n - 1, m)])
    row = R.reshape(rows, R.shape([T.min(n - 1, m) * WIDTH - 4]))
    both = R.broadcast_to(y, R.shape([n, m]))
    halves = R.reshape(R.exp(x), (2, n * 2))
    return row, both, halves
"""


def test_options_are_expressions_of_sizes():
    module = parse_script(f"WIDTH = 4\n{OPEN}")
    again = read_back(module)
    assert again.is_structurally_equivalent(module)
    assert "R.broadcast_to(y, shape=[n, m])" in print_script(module)
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    for size in (1, 3, 17):
        y, end = np.arange(size, dtype=np.float32), min(4, size)
        for program in (build(module), interpret(again)):
            row, both, halves = program["main"](x, y)
            np.testing.assert_array_equal(row, x[1:end].reshape(-1))
            np.testing.assert_array_equal(both, np.broadcast_to(y, (5, size)))
            np.testing.assert_allclose(halves, np.exp(x).reshape(2, 10), 1e-5)


def test_sizes_of_intermediate_tensors():
    bb = BlockBuilder()
    x = Var("x", ("n", 3), "float32")
    with bb.function("main", [x]):
        twice = bb.emit(op.concat(x, x))
        bb.emit_func_output(op.broadcast_to(op.sum(twice, axis=[0]), ["2 * n", 3]))
    module = bb.get()
    assert "shape=[2 * n, 3]" in print_script(module)
    result = build(read_back(module))["main"](np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(result, np.full((4, 3), 4, np.float32))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("[n / 2]", "'R.reshape' expected a size made of names, numbers, + - * // % min max, found 'n / 2'"),
        ("[k, 4]", "'R.reshape' expected a size of a tensor, found 'k'"),
        ("[n - 1.5]", "expected a size, found 1.5"),
    ],
)
def test_wrong_sizes(shape: str, message: str):
    script = f"""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    return R.reshape(x, R.shape({shape}))
"""
    with pytest.raises(CompileError, match=re.escape(message)):
        parse_script(script)


def test_sizes_that_depend_on_elements_are_not_written():
    module = parse_module("""
    func.func @main(%x: tensor<?xf32>) -> tensor<?x1xf32> {
      %places = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
      %one = relex.constant dense<1.0> : tensor<f32>
      %y = relex.broadcast_to %one like(%places) shape = [-1, 1] sizes = ["like0_d0"]
          : (tensor<f32>, tensor<?x1xi64>) -> tensor<?x1xf32>
      func.return %y : tensor<?x1xf32>
    }
    """)
    with pytest.raises(PassError, match="expected sizes that follow from sizes of arguments"):
        print_script(module)


def test_loops_are_counted():
    bb = BlockBuilder()
    x, n = Var("x", (2,), "float32"), Var("n", (), "int64")
    with bb.function("main", [x, n]):

        def trip(i: Expr, s: Expr) -> Expr:
            return op.add(s, op.multiply(x, op.astype(i, "float32")))

        bb.emit_func_output(bb.for_(n, trip, x))
    again = parse_script(print_script(bb.get()))
    for count in (-1, 0, 1, 4):
        result = build(again)["main"](np.ones(2, np.float32), np.array(count))
        np.testing.assert_array_equal(result, np.full(2, 1 + sum(range(count)), np.float32))


def test_loops_with_a_step_of_the_run_are_not_written():
    module = parse_module("""
    func.func @main(%x: tensor<2xf32>, %n: tensor<i64>) -> tensor<2xf32> {
      %c0 = arith.constant 0 : index
      %number = tensor.extract %n[] : tensor<i64>
      %step = arith.index_cast %number : i64 to index
      %c9 = arith.constant 9 : index
      %y = scf.for %i = %c0 to %c9 step %step iter_args(%s = %x) -> (tensor<2xf32>) {
        %t = relex.add %s, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        scf.yield %t : tensor<2xf32>
      }
      func.return %y : tensor<2xf32>
    }
    """)
    with pytest.raises(PassError, match="expected a step that is constant"):
        print_script(module)
