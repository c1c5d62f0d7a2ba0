"""`if`, `while` and recursion in graph functions."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
from test_script_roundtrip import read_back

from relex.dialects import CompileError, parse_module
from relex.frontend.script import parse_script
from relex.reference import interpret
from relex.runtime import build

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), limit: R.Tensor((), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((4,), "float32")
    ):
        if R.less(R.sum(x), limit):
            a = R.exp(x)
            y = R.add(a, x)
        else:
            y = x
        s = y
        t = x
        while R.less(R.max(s), limit):
            u = R.add(s, s)
            t = s
            s = u
        return s, t

    @R.function
    def halved(x: R.Tensor((4,), "float32"), limit: R.Tensor((), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        if R.less(R.max(x), limit):
            y = x
        else:
            y = cls.halved(R.multiply(x, R.const(0.5, "float32")), limit)
        return y
"""


def test_programs_run():
    module, x = parse_script(PROGRAM), np.array([1, 2, 3, 4], np.float32)
    for program in (module, read_back(module)):
        for functions in (interpret(program), build(program)):
            last, one_before = functions["main"](x, np.float32(50).reshape(()))
            np.testing.assert_allclose(last, np.exp(x) + x if np.exp(4) + 4 >= 50 else 0, rtol=1e-5)
            np.testing.assert_array_equal(one_before, x)
            last, one_before = functions["main"](x, np.float32(9).reshape(()))
            np.testing.assert_array_equal([last, one_before], [4 * x, 2 * x])
            np.testing.assert_array_equal(functions["halved"](x, np.float32(1).reshape(())), x / 8)


def test_names_that_one_branch_assigns_keep_their_values_in_the_other():
    program = """
    @R.function
    def main(x: R.Tensor((4,), "float32"), p: R.Tensor((), "bool")):
        i = R.const(0, "int64")
        y = x
        while R.less(i, R.const(3, "int64")):
            y = R.add(y, x)
            if p:
                y = R.negative(y)
            else:
                i = R.add(i, R.const(1, "int64"))
            i = R.add(i, R.const(1, "int64"))
        return y, i
    """
    x = np.arange(4, dtype=np.float32)
    module = parse_script(dedent(program))
    for functions in (interpret(module), build(module), interpret(read_back(module))):
        for holds, expected, trips in ((True, -2 * x, 3), (False, 3 * x, 4)):
            y, i = functions["main"](x, np.array(holds))
            np.testing.assert_array_equal(y, expected)
            assert i == trips


def test_a_branch_may_do_nothing():
    program = """
    @R.function
    def main(x: R.Tensor((4,), "float32"), p: R.Tensor((), "bool")):
        y = x
        if p:
            y = R.negative(y)
            z = y
        return y
    """
    x = np.arange(4, dtype=np.float32)
    main = interpret(parse_script(dedent(program)))["main"]
    np.testing.assert_array_equal([main(x, np.array(p)) for p in (True, False)], [-x, x])
    with pytest.raises(CompileError, match="not known outside of its branch"):
        parse_script(dedent(program).replace("return y", "return z"))


def test_swapped_values_come_back():
    program = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0:2 = scf.while (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %most = relex.max %a : (tensor<4xf32>) -> tensor<f32>
        %least = relex.min %b : (tensor<4xf32>) -> tensor<f32>
        %less = relex.less %most, %least : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %c = tensor.extract %less[] : tensor<i1>
        scf.condition(%c) %a, %b : tensor<4xf32>, tensor<4xf32>
      } do {
      ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
        scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
      }
      %q = tensor.extract %p[] : tensor<i1>
      %1 = scf.if %q -> (tensor<4xf32>) {
        scf.yield %0#0 : tensor<4xf32>
      } else {
        %2 = relex.negative %0#0 : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %2 : tensor<4xf32>
      }
      func.return %1, %0#1 : tensor<4xf32>, tensor<4xf32>
    }
    """
    again = read_back(parse_module(program))
    x, y = np.ones(4, np.float32), np.full(4, 2, np.float32)
    for holds in (False, True):
        for main in (interpret(program)["main"], interpret(again)["main"]):
            np.testing.assert_array_equal(main(x, y, np.array(holds)), [y if holds else -y, x])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "            y = x\n        s",
            "            z = x\n        s",
            "the value is not known outside of its branch",
        ),
        ("            y = x\n        s", "            y = R.sum(x)\n        s", "expected y to be .* on all ways"),
        ("R.less(R.sum(x), limit)", "x", "expected a condition that is a boolean tensor without dimensions"),
        ("            s = u", "            s = R.sum(u)", "expected .* on all ways, found"),
        ("            s = u", "            return u", "expected 'return' at the end of the function"),
        ("        return s, t", "        return s, u", "the value is not known outside of its loop"),
        (') -> R.Tensor((4,), "float32"):', "):", "calls itself: expected a graph function that states its type"),
    ],
)
def test_refusals(old: str, new: str, message: str):
    old, new = old.replace("\\\n", "\n"), new.replace("\\\n", "\n")
    assert old in PROGRAM
    with pytest.raises(CompileError, match=message):
        parse_script(PROGRAM.replace(old, new))
