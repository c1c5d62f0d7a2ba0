"""Loops over dimensions of dynamic sizes: how many there are, what they divide, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from programs import Array
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.index.domains import constant_value
from relex.dialects.tir import BlockOp
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes import CheckTirPass, run_pass
from relex.passes.analysis.loop_tree import loops_of
from relex.reference import interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
TARGET = 'module attributes {relex.target = {triple = "x86_64-linux-gnu", cpu = "x86-64-v4", features = "+avx512f"}}'


@dataclass(frozen=True)
class Case:
    """A program, what it is in NumPy, and how many loops of more than one iteration its block with most of them has."""

    text: str
    in_numpy: Callable[..., Array]
    loops: int
    least: int = 0
    """The smallest size of an image."""


def unary(operator: str, kind: str, result: str, properties: str = "") -> str:
    return f"""
    func.func @main(%x: {kind}) -> {result} {{
      %y = relex.{operator} %x {properties} : ({kind}) -> {result}
      func.return %y : {result}
    }}
    """


IMAGE = "tensor<?x8x?x?xf32>"

SUM_BY_ROW = f"""
func.func @main(%x: {IMAGE}) -> {IMAGE} {{
  %m = relex.mean %x axis = [2, 3] keepdims : ({IMAGE}) -> tensor<?x8x1x1xf32>
  %y = relex.subtract %x, %m : ({IMAGE}, tensor<?x8x1x1xf32>) -> {IMAGE}
  func.return %y : {IMAGE}
}}
"""

POINTWISE = f"""
func.func @main(%x: {IMAGE}) -> tensor<?x3x?x?xf32> {{
  %w = relex.constant dense<{np.arange(24, dtype=np.float32).reshape(3, 8, 1, 1).tolist()}> : tensor<3x8x1x1xf32>
  %y = relex.conv2d %x, %w : ({IMAGE}, tensor<3x8x1x1xf32>) -> tensor<?x3x?x?xf32>
  func.return %y : tensor<?x3x?x?xf32>
}}
"""

TILES = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = relex.reshape %x shape = [1, -1, 1, -1] sizes = ["d0", "d1"] : (tensor<?x?xf32>) -> tensor<1x?x1x?xf32>
  %b = relex.broadcast_to %a shape = [2, -1, 3, -1] sizes = ["d1", "d3"] : (tensor<1x?x1x?xf32>) -> tensor<2x?x3x?xf32>
  %c = relex.reshape %b shape = [-1, -1] sizes = ["2 * d1", "3 * d3"] : (tensor<2x?x3x?xf32>) -> tensor<?x?xf32>
  func.return %c : tensor<?x?xf32>
}
"""

BLOCKS = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<4x?x?xf32> {
  %a = relex.reshape %x shape = [-1, 2, -1, 2] sizes = ["d0 // 2", "d1 // 2"] : (tensor<?x?xf32>) -> tensor<?x2x?x2xf32>
  %b = relex.permute_dims %a axes = [1, 3, 0, 2] : (tensor<?x2x?x2xf32>) -> tensor<2x2x?x?xf32>
  %c = relex.reshape %b shape = [4, -1, -1] sizes = ["d2", "d3"] : (tensor<2x2x?x?xf32>) -> tensor<4x?x?xf32>
  func.return %c : tensor<4x?x?xf32>
}
"""


def blocks(x: Array) -> Array:
    height, width = (size // 2 for size in x.shape)
    return x.reshape(height, 2, width, 2).transpose(1, 3, 0, 2).reshape(4, height, width)


def pointwise(x: Array) -> Array:
    return np.einsum("nchw,oc->nohw", x, np.arange(24, dtype=np.float32).reshape(3, 8))


def sums(x: Array) -> Array:
    return x.sum((2, 3))


def without_mean(x: Array) -> Array:
    return x - x.mean((2, 3), keepdims=True)


def channels_last(x: Array) -> Array:
    return x.transpose(0, 2, 3, 1)


def tiles(x: Array) -> Array:
    return np.tile(x, (2, 3))


CASES = {
    "elementwise": Case(unary("exp", IMAGE, IMAGE), np.exp, 1),
    "sums": Case(unary("sum", IMAGE, "tensor<?x8xf32>", "axis = [2, 3]"), sums, 2),
    "sums and images": Case(SUM_BY_ROW, without_mean, 2, least=1),
    "transpose": Case(unary("permute_dims", IMAGE, "tensor<?x?x?x8xf32>", "axes = [0, 2, 3, 1]"), channels_last, 3),
    "pointwise convolution": Case(POINTWISE, pointwise, 4, least=1),
    "copies": Case(TILES, tiles, 4),
    "blocks of pixels": Case(BLOCKS, blocks, 3),
}

SIZES = [(1, 1), (3, 17), (17, 3), (0, 3), (3, 0), (2, 1000), (32, 34)]


def before_schedule(text: str) -> ModuleOp:
    """The loops of a program before the default schedule changes them."""
    module = parse_module(f"{TARGET} {{{text}}}")
    for step in RelexPipelinePass("loops").steps():
        if step.name == "block-rows":
            return module
        module = run_pass(step, module)
    raise AssertionError


@pytest.mark.parametrize("name", CASES)
def test_how_many_loops_there_are(name: str) -> None:
    module = before_schedule(CASES[name].text)
    found = [[loop for loop in loops_of(op) if loop.extent != 1] for op in module.walk() if isinstance(op, BlockOp)]
    assert max(map(len, found)) == CASES[name].loops


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_divided_by_a_dynamic_size(name: str) -> None:
    divisions = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)
    blocks = [op for op in before_schedule(CASES[name].text).walk() if isinstance(op, BlockOp)]
    found = [op for block in blocks for op in block.walk() if isinstance(op, divisions)]
    assert all(constant_value(op.rhs) is not None for op in found)


@pytest.mark.parametrize("name", CASES)
def test_loops_use_memory_rightly(name: str) -> None:
    CheckTirPass(undecided="error")(RelexPipelinePass("loops")(parse_module(f"{TARGET} {{{CASES[name].text}}}")))


def arguments(case: Case) -> Iterator[Array]:
    is_image, step = "x8x" in case.text, 2 if "//" in case.text else 1
    for size in SIZES:
        if min(size) >= case.least and not any(n % step for n in size):
            yield RNG.standard_normal((2, 8, *size) if is_image else size).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_program(name: str) -> None:
    case = CASES[name]
    functions = [interpret(before_schedule(case.text)), build(case.text), build(case.text, strict=True)]
    for x in arguments(case):
        for function in functions:
            np.testing.assert_allclose(function["main"](x), case.in_numpy(x), rtol=1e-4, atol=1e-3)


def test_strict_sums_keep_their_order() -> None:
    """They are the sums of one row, bit for bit."""
    rows = unary("sum", "tensor<?x?xf32>", "tensor<f32>", "axis = [0, 1]")
    row = unary("sum", "tensor<?xf32>", "tensor<f32>", "axis = [0]")
    x = RNG.standard_normal((37, 23)).astype(np.float32)
    of_rows, of_row = (build(text, strict=True)["main"] for text in (rows, row))
    assert of_rows(x).tobytes() == of_row(x.reshape(-1)).tobytes()


def test_joined_rows_are_written_in_place() -> None:
    """A view of an argument is no other use of it."""
    text = f"""
    func.func @main(%x: {IMAGE}) -> {IMAGE} {{
      %a = relex.cumsum %x axis = 0 : ({IMAGE}) -> {IMAGE}
      %b = relex.exp %a : ({IMAGE}) -> {IMAGE}
      %c = relex.cumsum %b axis = 0 : ({IMAGE}) -> {IMAGE}
      func.return %c : {IMAGE}
    }}
    """
    module = RelexPipelinePass("core")(parse_module(f"{TARGET} {{{text}}}"))
    names = [op.sym_name.data for op in module.ops if isinstance(op, func.FuncOp)]
    assert any("exp" in name and "in_place" in name for name in names)
    x = RNG.standard_normal((3, 8, 5, 7)).astype(np.float32)
    np.testing.assert_allclose(build(text)["main"](x), np.exp(x.cumsum(0)).cumsum(0), rtol=1e-4)
