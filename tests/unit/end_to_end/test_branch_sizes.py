"""What a branch requires of sizes is checked where it runs, at every level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.passes import InferSizesPass, RelexPass, RemoveUnusedPass, SimplifyRegionsPass
from relex.reference import interpret
from relex.runtime import build

BRANCH = """
func.func @main(%p: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {{
  %r = scf.if %p -> (tensor<?xf32>) {{
    {body}
    scf.yield %0 : tensor<?xf32>
  }} else {{
    %1 = relex.negative %x : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1 : tensor<?xf32>
  }}
  func.return %r : tensor<?xf32>
}}
"""
ADDED = "%0 = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
CALLED = """%0 = func.call @sum(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"""
SUM = """
func.func private @sum(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
"""
NESTED = """%q = relex.constant dense<true> : tensor<i1>
    %t = tensor.extract %q[] : tensor<i1>
    %0 = scf.if %t -> (tensor<?xf32>) {
      %n = relex.add %y, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %m = relex.subtract %n, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %o = relex.add %y, %m : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      scf.yield %o : tensor<?xf32>
    } else {
      scf.yield %x : tensor<?xf32>
    }"""
LOOPED = """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x) -> (tensor<?xf32>) {
      %n = relex.add %s, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      scf.yield %n : tensor<?xf32>
    }"""

PROGRAMS = {
    "an operator": BRANCH.format(body=ADDED),
    "a call": BRANCH.format(body=CALLED) + SUM,
    "a branch": BRANCH.format(body=NESTED),
    "a loop": BRANCH.format(body=LOOPED),
}


def at_every_level(program: str) -> list[Callable[..., Any]]:
    compiled = build(program)
    inferred = str(InferSizesPass()(parse_module(program)))
    levels = [compiled.ir(level) for level in ("graph", "loops", "core")]
    functions = [interpret(module)["main"] for module in (program, inferred, *levels)]
    return [compiled["main"], build(inferred)["main"], build(program, strict=True)["main"], *functions]


def numbers(size: int) -> Any:
    return np.arange(size, dtype=np.float32)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_equal_sizes(program: str):
    for function in at_every_level(program):
        for size in (0, 1, 3, 17):
            np.testing.assert_array_equal(function(True, numbers(size), numbers(size)), 2 * numbers(size))
        for size, other in ((3, 4), (3, 1), (1, 3), (3, 0), (0, 3)):
            np.testing.assert_array_equal(function(False, numbers(size), numbers(other)), -numbers(size))
            with pytest.raises(ValueError, match=r"expected \w+ == \w+, found \d"):
                function(True, numbers(size), numbers(other))


UNUSED_LATE = """
func.func @main(%p: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %c = relex.greater %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
    %n = relex.compress %a, %c axis = 0 : (tensor<?xf32>, tensor<?xi1>) -> tensor<?xf32>
    %z = relex.add %n, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %e : tensor<?xf32>
  }
  func.return %y : tensor<?xf32>
}
"""


@pytest.mark.parametrize("pass_", [RemoveUnusedPass(), SimplifyRegionsPass()], ids=lambda pass_: pass_.name)
def test_what_unused_ops_require(pass_: RelexPass):
    """An op that nobody uses counts, in a branch or where sizes depend on elements too."""
    unused = PROGRAMS["an operator"].replace("scf.yield %0", "scf.yield %x")
    for program, given in ((unused, (True, numbers(3), numbers(2))), (UNUSED_LATE, (True, numbers(3), numbers(2)))):
        simplified = pass_(parse_module(program))
        for function in (interpret(program)["main"], interpret(simplified)["main"], build(program)["main"]):
            with pytest.raises(ValueError, match=r"'relex.add' expected"):
                function(*given)
        function = interpret(simplified)["main"]
        np.testing.assert_array_equal(function(False, numbers(0), numbers(0)), -numbers(0))


def test_sizes_are_stated_once():
    inferred = InferSizesPass()(parse_module(PROGRAMS["an operator"]))
    assert str(inferred).count("cf.assert") == 1
    assert "relex.requires" not in str(inferred)
    assert InferSizesPass()(inferred).is_structurally_equivalent(inferred)


def test_branches_of_sizes_that_one_requires_to_be_equal():
    program = PROGRAMS["an operator"].replace("relex.negative %x", "relex.negative %y")
    for function in at_every_level(program):
        for size in (0, 1, 3):
            np.testing.assert_array_equal(function(False, numbers(3), numbers(size)), -numbers(size))
        with pytest.raises(ValueError, match="expected"):
            function(True, numbers(3), numbers(4))


def test_other_requirements():
    """A kernel larger than the image is refused where the branch runs."""
    program = """
    func.func @main(%p: i1, %x: tensor<1x1x?xf32>) -> tensor<1x1xf32> {
      %w = relex.constant dense<1.0> : tensor<1x1x3xf32>
      %r = scf.if %p -> (tensor<1x1xf32>) {
        %0 = relex.conv1d %x, %w padding = [1] : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
        %1 = relex.squeeze %0 axis = [2] : (tensor<1x1x?xf32>) -> tensor<1x1xf32>
        scf.yield %1 : tensor<1x1xf32>
      } else {
        %2 = relex.strided_slice %x axes = [2] begin = [0] end = [2] : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
        %3 = relex.conv1d %x, %w : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
        %4 = relex.max %3 axis = [2] : (tensor<1x1x?xf32>) -> tensor<1x1xf32>
        scf.yield %4 : tensor<1x1xf32>
      }
      func.return %r : tensor<1x1xf32>
    }
    """
    for function in at_every_level(program):
        for size in range(2, 6):
            x = np.ones((1, 1, size), np.float32)
            with pytest.raises(ValueError, match=r"'relex.squeeze' expected"):
                function(True, x)
            if size >= 3:
                assert function(False, x) == 3
        for size in range(3):
            with pytest.raises(ValueError, match=r"'relex.conv1d' expected 3 <= x_d2, found \d"):
                function(False, np.ones((1, 1, size), np.float32))
        assert function(True, np.ones((1, 1, 1), np.float32)) == 1
        with pytest.raises(ValueError, match=r"'relex.\w+' expected"):
            function(True, np.ones((1, 1, 0), np.float32))


NEGATIVE = """
func.func @main(%p: i1, %n: index, %x: tensor<1x1x?xf32>) -> (tensor<1x1x?xf32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = relex.constant dense<0.0> : tensor<f32>
  %w = relex.constant dense<1.0> : tensor<1x1x3xf32>
  %a = relex.softmax %x : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
  %r = scf.if %p -> (tensor<1x1x?xf32>) {
    %0 = relex.conv1d %x, %w : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
    %1 = relex.softmax %0 : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
    %2 = relex.conv1d %1, %w : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
    %3 = scf.if %p -> (tensor<1x1x?xf32>) {
      scf.yield %2 : tensor<1x1x?xf32>
    } else {
      %4 = relex.softmax %2 : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
      scf.yield %4 : tensor<1x1x?xf32>
    }
    scf.yield %3 : tensor<1x1x?xf32>
  } else {
    scf.yield %a : tensor<1x1x?xf32>
  }
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<f32>) {
    %5 = relex.conv1d %x, %w : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
    %6 = relex.add %5, %sum : (tensor<1x1x?xf32>, tensor<f32>) -> tensor<1x1x?xf32>
    %7 = relex.softmax %6 : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
    %8 = relex.max %7 : (tensor<1x1x?xf32>) -> tensor<f32>
    scf.yield %8 : tensor<f32>
  }
  %b = relex.sum %a : (tensor<1x1x?xf32>) -> tensor<f32>
  %t = relex.add %b, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %r, %t : tensor<1x1x?xf32>, tensor<f32>
}
"""


def test_sizes_of_what_does_not_run_may_be_negative():
    """They take no memory in the plan, and are an error where the branch or the loop runs."""
    for function in at_every_level(NEGATIVE):
        for size in range(7):
            x = np.ones((1, 1, size), np.float32)
            whole, total = function(False, 0, x)
            np.testing.assert_allclose(whole, np.full_like(x, 1 / max(size, 1)), 1e-6)
            np.testing.assert_allclose(total, size > 0, 1e-6)
            if size < 3:
                for p, n in ((True, 0), (False, 1)):
                    with pytest.raises(ValueError, match=r"'relex.conv1d' expected \d <= x_d2, found \d"):
                        function(p, n, x)
            elif size < 5:
                with pytest.raises(ValueError, match=r"'relex.conv1d' expected 5 <= x_d2, found \d"):
                    function(True, 0, x)
            else:
                np.testing.assert_allclose(function(True, 1, x)[0], np.full((1, 1, size - 4), 3 / (size - 2)), 1e-6)


def test_memory_is_planned_for_all_branches():
    """Tensors of a branch that does not run take no place of others, whatever their sizes would be."""
    program = """
    func.func @main(%p: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %a = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
      %r = scf.if %p -> (tensor<?xf32>) {
        %0 = relex.strided_slice %y axes = [0] begin = [0] end = [-5] : (tensor<?xf32>) -> tensor<?xf32>
        %1 = relex.softmax %0 : (tensor<?xf32>) -> tensor<?xf32>
        %2 = relex.concat %1, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        %3 = relex.softmax %2 : (tensor<?xf32>) -> tensor<?xf32>
        %4 = relex.add %3, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        scf.yield %4 : tensor<?xf32>
      } else {
        %5 = relex.softmax %a : (tensor<?xf32>) -> tensor<?xf32>
        %6 = relex.add %5, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
        scf.yield %6 : tensor<?xf32>
      }
      func.return %r : tensor<?xf32>
    }
    """
    function, wanted = build(program)["main"], interpret(program)["main"]
    for size in (1, 3, 17):
        for other in (0, 1, 4, 5, 6, 100):
            given = False, numbers(size) / 10, numbers(other)
            np.testing.assert_allclose(function(*given), wanted(*given), 1e-5)
    given = True, numbers(15), numbers(10)
    np.testing.assert_allclose(function(*given), wanted(*given), 1e-5)


FILLED = """%s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
    %t = relex.broadcast_to %x like(%s) shape = [-1, -1] sizes = ["like0_d1", "like0_d2"]
        : (tensor<{type}>, tensor<0x?x?xi1>) -> tensor<?x?x{type}>
    %m = relex.max %t : (tensor<?x?x{type}>) -> tensor<{type}>"""
LATE_BRANCH = """
func.func @main(%p: i1, %n: tensor<2xi64>, %x: tensor<{type}>) -> tensor<{type}> {{
  %r = scf.if %p -> (tensor<{type}>) {{
    {body}
    scf.yield %m : tensor<{type}>
  }} else {{
    scf.yield %x : tensor<{type}>
  }}
  func.return %r : tensor<{type}>
}}
"""
CALLED_LATE = """%s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
    %m = func.call @filled(%s, %x) : (tensor<0x?x?xi1>, tensor<{type}>) -> tensor<{type}>"""
FILLED_FUNCTION = """
func.func private @filled(%s: tensor<0x?x?xi1>, %x: tensor<{type}>) -> tensor<{type}> {{
  {body}
  func.return %m : tensor<{type}>
}}
""".replace("{body}", FILLED.partition("\n")[2])


@pytest.mark.parametrize("kind", ["i8", "f32"])
@pytest.mark.parametrize("text", [FILLED, CALLED_LATE], ids=["an operator", "a call"])
def test_late_sizes_of_branches_fit_an_index(text: str, kind: str):
    """A number of bytes that is as large as an index may be has wrapped around, or is larger."""
    program = (LATE_BRANCH.replace("{body}", text) + FILLED_FUNCTION).format(type=kind)
    one = np.ones((), np.int8 if kind == "i8" else np.float32)
    function, inferred = build(program)["main"], build(InferSizesPass()(parse_module(program)))["main"]
    interpreted = interpret(build(program).ir("graph"))["main"]
    for f in (function, inferred, interpreted):
        assert f(True, np.array([3, 2]), one) == one
        assert f(False, np.array([2**40, 2**40]), one) == one
    for f in (function, inferred):
        with pytest.raises(ValueError, match=r"expected s_d0 \* s_d1 <= \d+, found 9223372036854775807"):
            f(True, np.array([2**40, 2**40]), one)
