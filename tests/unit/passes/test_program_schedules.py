"""Schedules in a program: the default compilation applies them, and prints its own in the same form."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.lowering import RelexPipelinePass
from relex.passes import AnnotateFastMathPass, ApplySchedulePass
from relex.reference import interpret
from relex.runtime import build
from relex.tools.opt import relex_opt
from relex.tools.run import relex_run

LINEAR = """
tir.prim_func @linear(%X: memref<4x16xf32>, %W: memref<20x16xf32>) outs(%Y: memref<4x20xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (4, 20, 16) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<20> = %j, %vk: reduce<16> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<4x20xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<4x20xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x16xf32>
      %w = memref.load %W[%vj, %vk] : memref<20x16xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<4x20xf32>
    }
  }
}
"""

STEPS = """
schedule.sequence for @linear {
  schedule.split @j by [?, 4] into [@tile, @lane]
  schedule.reorder [@tile, @k, @lane]
  schedule.vectorize @lane
}
"""

MLP = """
func.func @main(%x: tensor<64x100xf32>, %w: tensor<48x100xf32>, %b: tensor<48xf32>) -> tensor<64xf32> {
  %0 = relex.dense %x, %w : (tensor<64x100xf32>, tensor<48x100xf32>) -> tensor<64x48xf32>
  %1 = relex.add %0, %b : (tensor<64x48xf32>, tensor<48xf32>) -> tensor<64x48xf32>
  %2 = relex.relu %1 : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %3 = relex.max %2 axis = [1] : (tensor<64x48xf32>) -> tensor<64xf32>
  func.return %3 : tensor<64xf32>
}
"""


def loops_of(program: str) -> str:
    return str(RelexPipelinePass("loops")(parse_module(program)))


def test_the_pipeline_applies_them() -> None:
    shown = loops_of(LINEAR + STEPS)
    assert "schedule.sequence" not in shown
    assert "tir.for %i @i, %tile @tile, %k @k, vectorized %lane @lane in (4, 5, 16, 4)" in shown


@pytest.mark.parametrize("steps", [STEPS, "schedule.sequence for @linear {\n}\n"], ids=["some", "none"])
def test_a_function_with_a_schedule_is_left_as_it_is(steps: str) -> None:
    """It has the loops that the schedule gives it: nothing is fused into it, split or tiled."""
    user = "func.func @main(%x: tensor<4x16xf32>, %w: tensor<20x16xf32>) -> tensor<4x20xf32> {\n"
    user += "  %0 = relex.call_tir @linear(%x, %w) : (tensor<4x16xf32>, tensor<20x16xf32>) -> tensor<4x20xf32>\n"
    user += "  %1 = relex.exp %0 : (tensor<4x20xf32>) -> tensor<4x20xf32>\n  func.return %1 : tensor<4x20xf32>\n}\n"
    private = LINEAR.replace("@linear", "private @linear", 1)
    shown = parse_module(loops_of(user + private + steps))
    (function,) = [op for op in shown.ops if "@linear(" in str(op).split("\n")[0]]
    applied = parse_module(str(ApplySchedulePass()(AnnotateFastMathPass()(parse_module(private + steps)))))
    (expected,) = applied.ops
    assert str(function).split("\n")[1:] == str(expected).split("\n")[1:]


def test_build_runs_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(4, 16)).astype(np.float32), rng.normal(size=(20, 16)).astype(np.float32)
    plain, scheduled = build(LINEAR, strict=True)["linear"](x, w), build(LINEAR + STEPS)["linear"](x, w)
    # Each element is added up in the order of @k, as it is written.
    np.testing.assert_allclose(scheduled, plain, rtol=1e-5)
    assert (interpret(LINEAR + STEPS)["linear"](x, w) == plain).all()
    file = tmp_path / "linear.mlir"
    file.write_text(LINEAR + STEPS)
    assert relex_run.main([str(file), "--entry", "linear", "--random", "--remarks"]) == 0
    captured = capsys.readouterr()
    assert "linear.mlir:19:1: remark: @linear: 3 steps applied [apply-schedule]" in captured.err
    assert captured.out.startswith("[[")


def test_wrong_ones_are_errors() -> None:
    with pytest.raises(CompileError, match=r":20:3:.*expected a loop @jj, found @i, @j, @k"):
        build(LINEAR + STEPS.replace("split @j", "split @jj"))
    missing = "schedule.sequence for @other {\n}\n"
    with pytest.raises(CompileError, match="expected @other to be a loop function, found @linear"):
        build(LINEAR + missing)
    with pytest.raises(CompileError, match="expected @other to be a loop function, found @linear"):
        ApplySchedulePass()(parse_module(LINEAR + missing))
    with pytest.raises(CompileError, match=r"expected @main to be a 'tir.prim_func', found a 'func.func'"):
        parse_module(MLP + missing.replace("other", "main"))


def test_of_functions_that_the_compilation_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found when they are there, although their kernels were compiled before."""
    monkeypatch.delenv("RELEX_VERIFY")
    steps = "schedule.sequence for @fused_dense_add_relu {\n  schedule.unroll @i0\n}\n"
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(np.float32) for shape in ((64, 100), (48, 100), (48,))]
    expected = build(MLP)["main"](*args)
    (plain, scheduled) = (build(MLP + more).ir("loops") for more in ("", steps))
    assert "tir.for unrolled %i0 @i0, %i1 @i1, %k @k in (64, 48, 100)" not in str(plain)
    assert "tir.for unrolled %i0 @i0, %i1 @i1, %k @k in (64, 48, 100)" in str(scheduled)
    np.testing.assert_allclose(build(MLP + steps)["main"](*args), expected, rtol=1e-5)


def explained(program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> tuple[str, str]:
    """The loops of a program after the default compilation, and the sequences that are printed."""
    file = tmp_path / "program.mlir"
    file.write_text(program)
    assert relex_opt.main([str(file), "--relex-pipeline=to=loops", "--explain-schedule"]) == 0
    captured = capsys.readouterr()
    found = re.findall(r"^schedule\.sequence final for @\w+ \{\n(?:  .*\n)*\}$", captured.err, re.MULTILINE)
    return captured.out, "\n".join(found)


OPEN = MLP.replace("tensor<64", "tensor<?")
CONVOLUTION = """
func.func @main(%x: tensor<1x16x20x20xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<1x32x20x20xf32> {
  %0 = relex.conv2d %x, %w padding = [1, 1, 1, 1]
      : (tensor<1x16x20x20xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x20x20xf32>
  %1 = relex.softmax %0 : (tensor<1x32x20x20xf32>) -> tensor<1x32x20x20xf32>
  func.return %1 : tensor<1x32x20x20xf32>
}
"""
TRANSPOSE = """
func.func @main(%x: tensor<200x300xf32>) -> tensor<300x200xf32> {
  %0 = relex.permute_dims %x : (tensor<200x300xf32>) -> tensor<300x200xf32>
  %1 = relex.cumsum %0 axis = 1 : (tensor<300x200xf32>) -> tensor<300x200xf32>
  func.return %1 : tensor<300x200xf32>
}
"""


WRITTEN = """
tir.prim_func @main(%X: memref<60x50xf32>, %W: memref<50x40xf32>) outs(%Y: memref<60x40xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (60, 40) {
    tir.block @zero (%vi: spatial<60> = %i, %vj: spatial<40> = %j) {
      memref.store %zero, %Y[%vi, %vj] : memref<60x40xf32>
    }
  }
  tir.for %k, %i, %j in (50, 60, 40) {
    tir.block @Y (%vi: spatial<60> = %i, %vj: spatial<40> = %j, %vk: reduce<50> = %k) {
      %y = memref.load %Y[%vi, %vj] : memref<60x40xf32>
      %x = memref.load %X[%vi, %vk] : memref<60x50xf32>
      %w = memref.load %W[%vk, %vj] : memref<50x40xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<60x40xf32>
    }
  }
}
"""
"""Loops that passes change before they are scheduled."""

PROGRAMS = {"mlp": MLP, "open": OPEN, "convolution": CONVOLUTION, "transpose": TRANSPOSE, "written": WRITTEN}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_printed_gives_the_same_loops(program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    loops, sequences = explained(program, capsys, tmp_path)
    assert sequences
    again, none = explained(f"{program}\n{sequences}", capsys, tmp_path)
    assert again == loops
    assert "schedule.sequence" not in none


def test_passes_run_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "linear.mlir"
    file.write_text(LINEAR + STEPS)
    assert relex_run.main([str(file), "--entry", "linear", "-p", "apply-schedule,check-tir", "--emit", "loops"]) == 0
    assert "vectorized %lane @lane" in capsys.readouterr().out
    assert relex_run.main([str(file), "--entry", "linear", "-p", "aply-schedule", "--random"]) == 1
    assert "did you mean 'apply-schedule'?" in capsys.readouterr().err
