"""Proofs: passes that keep what a function computes are proved, others are not, and wrong ones are refuted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from wrong_rewrites import CASES
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.dialects.relex import SubtractOp
from relex.lowering import RelexPipelinePass
from relex.passes import RelexPass, placed
from relex.reference import check_pass
from relex.reference.equivalence.check import NotEquivalentError, Report
from relex.reference.proof.verdicts import Kind
from relex.runtime import build

MLP = """
func.func @main(%x: tensor<2x32xf32>, %w0: tensor<48x32xf32>, %b0: tensor<48xf32>, %w1: tensor<5x48xf32>,
                %b1: tensor<5xf32>) -> tensor<2x5xf32> {
  %0 = relex.dense %x, %w0 : (tensor<2x32xf32>, tensor<48x32xf32>) -> tensor<2x48xf32>
  %1 = relex.add %0, %b0 : (tensor<2x48xf32>, tensor<48xf32>) -> tensor<2x48xf32>
  %2 = relex.relu %1 : (tensor<2x48xf32>) -> tensor<2x48xf32>
  %3 = relex.dense %2, %w1 : (tensor<2x48xf32>, tensor<5x48xf32>) -> tensor<2x5xf32>
  %4 = relex.add %3, %b1 : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %5 = relex.softmax %4 : (tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %5 : tensor<2x5xf32>
}
"""


def kinds(report: Report) -> dict[str, Kind]:
    """Return the kind of the verdict on @main after each pass."""
    return {found.pass_name: found.verdict.kind for found in report.findings if found.function == "main"}


def test_pipeline():
    found = kinds(check_pass(RelexPipelinePass(to="core"), parse_module(MLP), proof=True))
    assert found["expand-math"] is Kind.CHECKED
    others = {p: kind for p, kind in found.items() if p not in ("expand-math", "legalize-ops")}
    assert set(others.values()) <= {Kind.PROVED, Kind.UNCHANGED}
    changed = ("fuse-ops", "schedule-cpu", "plan-memory", "vectorize-loops", "convert-tir-to-scf")
    assert {others[p] for p in changed} == {Kind.PROVED}


@pytest.mark.parametrize("name", CASES)
def test_wrong_rewrites(name: str):
    """A wrong rewrite is refuted by terms, or by a run that stops; its right form is not."""
    case = CASES[name]
    with pytest.raises(NotEquivalentError) as e:
        check_pass(case.wrong, case.module, proof=True)
    assert e.value.difference.sample is not None
    if case.right is not None:
        found = kinds(check_pass(case.right, case.module, proof=True))
        assert found[case.right.name] in (Kind.PROVED, Kind.CHECKED)


def test_build():
    x = np.array([[1, 2], [3, 4]], np.float32)
    text = """
    func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = relex.matmul %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      func.return %0 : tensor<2x2xf32>
    }
    """
    np.testing.assert_array_equal(build(text, proof=True)["main"](x), x @ x)


def test_build_refuses():
    """A library function that is not there when the program is built cannot be run."""
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = relex.call_dps_packed "test.proof_of_nothing"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    """
    with pytest.raises(
        CompileError, match="expected every pass to be proved or checked, found @main, which is neither"
    ):
        build(text, proof=True)


@dataclass(frozen=True)
class SwapsPass(RelexPass):
    """Swaps the operands of differences."""

    name = "swaps"
    works_on = "graph"

    def apply(self, ctx: Context, op: ModuleOp):
        for inner in list(op.walk()):
            if isinstance(inner, SubtractOp):
                inner.operands = inner.operands[::-1]


def test_build_with_wrong_pass():
    text = """
    func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %0 = relex.subtract %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %0 : tensor<2xf32>
    }
    """
    with pytest.raises(CompileError, match="pass 'swaps' changes what @main computes") as e:
        build(text, passes=[placed(SwapsPass(), before="legalize-ops")], proof=True)
    assert "result[0] is arith.addf(%x[0], arith.negf(%y[0])) before and arith.addf(%y[0]," in str(e.value)
