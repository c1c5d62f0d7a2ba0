"""What --report-unsupported says of a program is what the pipeline would say, all at once."""

from __future__ import annotations

import pytest

from relex.dialects import CompileError, parse_module
from relex.dialects.context import make_context
from relex.dialects.relex import Operator, ReluOp
from relex.dialects.tir import PrimFuncOp
from relex.lowering import LegalizeOpsPass
from relex.lowering.conversion.unsupported import find_unsupported
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.lowering.te import Tensor

STEPS = RelexPipelinePass().steps()

BAD = {
    "users of what is refused": (
        """func.func @f(%x: tensor<?xf32>, %h: tensor<?xf16>) -> (tensor<?xf32>, tensor<?xf16>) {
             %0 = relex.relu %h : (tensor<?xf16>) -> tensor<?xf16>
             %1 = "test.op"(%x) : (tensor<?xf32>) -> tensor<?xf32>
             %2 = "test.op"(%1) : (tensor<?xf32>) -> tensor<?xf32>
             %3 = relex.exp %0 : (tensor<?xf16>) -> tensor<?xf16>
             func.return %x, %3 : tensor<?xf32>, tensor<?xf16>
           }""",
        {3: "no pass", 4: "no pass"},
    ),
    "several passes": (
        """func.func @g(%x: tensor<2xf16>) -> tensor<2xf16> {
             %0 = tensor.empty() : tensor<2xf16>
             func.return %0 : tensor<2xf16>
           }
           func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
             %0 = func.call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
             func.return %0 : tensor<4xf32>
           }
           func.func @f(%x: memref<8xf32>, %v: vector<4xf32>, %n: index) {
             scf.for %i = %n to %n step %n {
               %b = arith.constant 1.0 : bf16
               %s = math.fma %b, %b, %b : bf16
               "test.op"(%s) : (bf16) -> ()
               "vector.print"(%v) : (vector<4xf32>) -> ()
             }
             func.return
           }""",
        {2: "cannot be lowered", 5: "calls @again", 12: "bf16", 13: "no pass", 14: "prints vectors"},
    ),
    "functions without bodies state no signatures": (
        """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
             %0 = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
             %1 = "test.op"(%0) : (tensor<4xf32>) -> tensor<4xf32>
             func.return %1 : tensor<4xf32>
           }""",
        {2: "no pass", 3: "no pass"},
    ),
    "loops": (
        """tir.prim_func @f(%x: memref<8xf32>) outs(%y: memref<8xf32>) {
             tir.for vectorized %i in (8) {
               tir.block @y (%v: spatial<8> = %i) {
                 %0 = memref.load %x[%v] : memref<8xf32>
                 %1 = func.call @g(%0) : (f32) -> f32
                 %2 = "test.op"(%1) : (f32) -> f32
                 memref.store %2, %y[%v] : memref<8xf32>
               }
             }
           }
           func.func private @g(f32) -> f32""",
        {5: "vectorized loop", 6: "vectorized loop"},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_all_errors_are_found_at_once(name: str):
    text, expected = BAD[name]
    module = parse_module(text)
    found = find_unsupported(make_context(), module, STEPS)
    assert module.is_structurally_equivalent(parse_module(text))
    assert [d.line for d in found] == list(expected)
    for d in found:
        assert expected[d.line] in d.message
    with pytest.raises(CompileError):
        RelexPipelinePass()(module)


def test_a_scalar_op_without_a_rule():
    """Only the loops of an operator have it: what passes make is looked at as well."""
    (loops,) = parse_module("""
        tir.prim_func @soft(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
          tir.for %i in (4) {
            tir.block @y (%v: spatial<4> = %i) {
              %0 = memref.load %x[%v] : memref<4xf32>
              %1 = "test.op"(%0) : (f32) -> f32
              memref.store %1, %y[%v] : memref<4xf32>
            }
          }
        }""").ops
    assert isinstance(loops, PrimFuncOp)
    module = parse_module("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32>
        }""")

    def finished(op: Operator, x: Tensor) -> PrimFuncOp:
        return loops

    legalize = LegalizeOpsPass(overrides={ReluOp: finished})
    passes = [legalize if isinstance(p, LegalizeOpsPass) else p for p in STEPS]
    assert find_unsupported(make_context(), module, STEPS) == []
    (found,) = find_unsupported(make_context(), module, passes)
    assert found.message == "'test.op' op cannot be lowered: no pass of the pipeline takes it"
    assert found.line == 3
