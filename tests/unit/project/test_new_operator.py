"""An elementwise operator of four lines in a separate module: interpreted, compiled, printed, and in scripts."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from programs import operator_module, tensor_of
from xdsl.context import Context

from relex.dialects import parse_module
from relex.dialects.context import make_context
from relex.dialects.relex import Operator
from relex.frontend.script import parse_script, print_script
from relex.reference import interpret
from relex.runtime import build

HEAD = """
from relex.dialects.relex.declared import declared
from relex.dialects.relex.elementwise import BinaryFunction, FloatFunction

"""
UNARY = '''
@declared
class HardSignOp(FloatFunction, formula=lambda f, x: x / (1 + f.abs(x))):
    """Each element divided by one more than its absolute value."""
'''
BINARY = '''
@declared
class SumOfSquaresOp(BinaryFunction, formula=lambda f, x, y: x * x + y * y):
    """The sum of the squares of two elements."""
'''
X, Y = np.array([[1, -3, 0], [np.inf, 0.5, -0.0]], np.float32), np.array([2, 0.25, -1], np.float32)


def declare(folder: Path, text: str) -> type[Operator]:
    assert len(text.strip().splitlines()) <= 4
    file = folder / "operators.py"
    file.write_text(HEAD + text)
    (kind,) = (value for name, value in runpy.run_path(str(file)).items() if name.endswith("Op"))
    return kind


def context_with(kind: type[Operator]) -> Context:
    context = make_context()
    context.load_op(kind)
    return context


@pytest.mark.parametrize(
    ("text", "name", "operands"),
    [(UNARY, "relex.hard_sign", [X]), (BINARY, "relex.sum_of_squares", [X, Y])],
)
def test_it_is_declared_and_nothing_else(text: str, name: str, operands: list[np.ndarray], tmp_path: Path) -> None:
    kind = declare(tmp_path, text)
    module = operator_module(kind, [tensor_of(x) for x in operands])
    printed = str(module)
    assert f"{name} %x0" in printed
    assert parse_module(printed, context=context_with(kind)).is_structurally_equivalent(module)
    script = print_script(module)
    assert f"R.{name.removeprefix('relex.')}(x0" in script
    assert parse_script(script, context=context_with(kind)).is_structurally_equivalent(module)
    with np.errstate(all="ignore"):
        x, *others = operands
        expected = x / (1 + abs(x)) if not others else x * x + others[0] * others[0]
    for main in (interpret(module)["main"], build(module)["main"]):
        np.testing.assert_allclose(main(*operands), expected, rtol=1e-6)


def test_its_example_is_that_of_its_family(tmp_path: Path) -> None:
    assert "%z = relex.sum_of_squares %x, %y : (tensor<3x4xf32>, tensor<4xf32>)" in (
        declare(tmp_path, BINARY).__doc__ or ""
    )
