"""One small model through every level, the first test to run after a change: it takes seconds, and breaks where much is
broken. What each step does in full has separate tests."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import LEVELS, interpreted

import relex
from relex.frontend.script import parse_script, print_script
from relex.lowering import LegalizeOpsPass, RelexPipelinePass
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.llvm.translate import translate
from relex.lowering.relex_pipeline import Level, pipeline
from relex.passes import FuseOpsPass, run_pass
from relex.passes.schedule import Schedule
from relex.runtime import Executable

MODEL = """
func.func @main(%x: tensor<3x5xf32>, %b: tensor<7xf32>) -> tensor<3x7xf32> {{
  %w = relex.constant {weights} : tensor<7x5xf32>
  %h = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %s = relex.add %h, %b : (tensor<3x7xf32>, tensor<7xf32>) -> tensor<3x7xf32>
  %y = relex.relu %s : (tensor<3x7xf32>) -> tensor<3x7xf32>
  func.return %y : tensor<3x7xf32>
}}
"""
# Small integers: every order of a sum gives the same bits.
X, W, B = (np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32) for shape in ((3, 5), (7, 5), (7,)))
Y = np.maximum(X @ W.T + B, 0)
TEXT = MODEL.format(weights=f"dense<{W.tolist()}>")

SCRIPT = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((3, 5), "float32"), Y: T.Buffer((3, 5), "float32")):
        for i, j in T.grid(3, 5):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] + X[vi, vj]

    @R.function
    def main(x: R.Tensor((3, 5), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((3, 5), "float32"))
            z = R.nn.relu(y)
            R.output(z)
        return z
"""


@pytest.fixture(scope="module")
def executable() -> Executable:
    return relex.build(TEXT, cache=False)


def assert_same(found: Any, expected: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("level", LEVELS)
def test_interpreted(level: Level) -> None:
    assert_same(interpreted(TEXT, level, strict=False)["main"](X, B), Y)


def test_levels_are_text() -> None:
    """What each level prints is taken on to the next, and ends in the same object code as all passes at once."""
    text = TEXT
    for _, passes in pipeline():
        text = str(reduce(lambda module, p: run_pass(p, module), passes, relex.parse(text)))
    whole = RelexPipelinePass()(relex.parse(TEXT))
    assert 'define void @"main"(' in translate(relex.parse(text)).text
    assert compile_module(relex.parse(text)).code == compile_module(whole).code


def test_native(executable: Executable) -> None:
    assert_same(executable["main"](X, B), Y)
    with pytest.raises(ValueError, match=r"argument 'b': expected shape \(7,\)"):
        executable["main"](X, B[:-1])


def test_saved(executable: Executable, tmp_path: Path) -> None:
    executable.save(tmp_path / "model.relex")
    assert_same(relex.load(tmp_path / "model.relex")["main"](X, B), Y)


def test_pass() -> None:
    module = LegalizeOpsPass()(relex.parse(TEXT))
    fused = FuseOpsPass()(module)
    assert "@fused_dense_add_relu" in str(fused)
    assert "@fused_dense_add_relu" not in str(module)
    assert_same(relex.interpret(fused)["main"](X, B), Y)


def test_schedule() -> None:
    """A tile that does not divide the loop, and a reduction whose init stands apart."""
    schedule = Schedule(LegalizeOpsPass()(relex.parse(TEXT)))
    block = schedule.get_block("dense", "dense")
    i, j, k = schedule.get_loops(block)
    outer, inner = schedule.split(j, [None, 4])
    schedule.reorder(outer, i, k, inner)
    schedule.decompose_reduction(block, k)
    schedule.vectorize(inner)
    assert_same(relex.interpret(schedule.module)["main"](X, B), Y)
    assert_same(relex.build(schedule.module, cache=False)["main"](X, B), Y)


def test_script() -> None:
    module = parse_script(SCRIPT)
    assert parse_script(print_script(module)).is_structurally_equivalent(module)
    assert_same(relex.interpret(module)["main"](X), np.maximum(X + X, 0))
    assert_same(relex.build(module, cache=False)["main"](X), np.maximum(X + X, 0))
