"""Lowering operators otherwise than by the table."""

from __future__ import annotations

import numpy as np
import pytest

from relex.dialects import CompileError, parse_module, verify_module
from relex.dialects.relex import DenseOp, Operator, ReluOp, UnaryFunction
from relex.dialects.tir import PrimFuncOp
from relex.lowering import LegalizeOpsPass
from relex.lowering.legalizations import LEGALIZATIONS
from relex.lowering.te import Tensor, compute, reduce_axis, select, sum
from relex.passes import FuseDenseAddPass
from relex.reference import interpret
from relex.runtime import build

PROGRAM = """
func.func @main(%x: tensor<3x5xf32>, %w: tensor<7x5xf32>, %b: tensor<7xf32>) -> tensor<3x7xf32> {
  %y = relex.dataflow -> tensor<3x7xf32> {
    %0 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
    %1 = relex.add %0, %b : (tensor<3x7xf32>, tensor<7xf32>) -> tensor<3x7xf32>
    %2 = relex.relu %1 : (tensor<3x7xf32>) -> tensor<3x7xf32>
    relex.output %2 : tensor<3x7xf32>
  }
  func.return %y : tensor<3x7xf32>
}
"""


def doubled_dense(op: Operator, x: Tensor, w: Tensor) -> Tensor:
    k = reduce_axis(x.shape[1])
    return compute((x.shape[0], w.shape[0]), lambda i, j: sum(x[i, k] * w[j, k] * 2, axis=k), name="doubled")


def leaky(op: Operator, x: Tensor) -> Tensor:
    return compute(x.shape, lambda *i: select(x[*i] > 0, x[*i], x[*i] * 0.5), name="leaky")


def test_overrides_of_the_table() -> None:
    """As the seeds' `op_map`, inside of fused groups too; what has no override is lowered by the table."""
    before = dict(LEGALIZATIONS)
    module = FuseDenseAddPass()(parse_module(PROGRAM))
    lowered = LegalizeOpsPass(overrides={DenseOp: doubled_dense, ReluOp: leaky})(module)
    assert before == LEGALIZATIONS
    assert "outs(%doubled" in str(lowered)
    x, w, b = (np.random.default_rng(0).integers(-4, 4, s).astype(np.float32) for s in ((3, 5), (7, 5), (7,)))
    y = 2 * x @ w.T + b
    expected = np.where(y > 0, y, y / 2)
    np.testing.assert_array_equal(interpret(lowered)["main"](x, w, b), expected)
    np.testing.assert_array_equal(build(lowered)["main"](x, w, b), expected)


def test_a_finished_loop_function() -> None:
    (function,) = parse_module("""
        tir.prim_func @zeros(%x: memref<3x7xf32>) outs(%y: memref<3x7xf32>) {
          %zero = arith.constant 0.0 : f32
          tir.for %i, %j in (3, 7) {
            tir.block @y (%vi: spatial<3> = %i, %vj: spatial<7> = %j) {
              memref.store %zero, %y[%vi, %vj] : memref<3x7xf32>
            }
          }
        }""").ops
    assert isinstance(function, PrimFuncOp)

    def zeros(op: Operator, x: Tensor) -> PrimFuncOp:
        return function

    lowered = LegalizeOpsPass(overrides={ReluOp: zeros})(parse_module(PROGRAM))
    verify_module(lowered)
    assert "tir.prim_func private @zeros(" in str(lowered)
    assert function.sym_visibility is None
    x, w, b = (np.ones(s, np.float32) for s in ((3, 5), (7, 5), (7,)))
    assert not build(lowered)["main"](x, w, b).any()


def test_an_override_is_as_good_as_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LEGALIZATIONS, DenseOp)
    monkeypatch.delitem(LEGALIZATIONS, UnaryFunction)
    with pytest.raises(CompileError) as caught:
        LegalizeOpsPass(overrides={ReluOp: leaky})(parse_module(PROGRAM))
    (problem,) = caught.value.diagnostics
    assert "'relex.dense' op has no entry in the legalization table" in problem.message
    LegalizeOpsPass(overrides={DenseOp: doubled_dense, ReluOp: leaky})(parse_module(PROGRAM))
