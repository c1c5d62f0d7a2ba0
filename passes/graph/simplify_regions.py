"""Simplification of branches and loops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
from xdsl.transforms.canonicalization_patterns.scf import IfPropagateConstantCondition, SimplifyTrivialLoops

from relex.dialects.sizes.modules import is_static
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.graph.canonicalization import control_flow
from relex.passes.rewriting.lost_sizes import LostSizes


class SimplifyRegionsPass(RelexPass):
    """
    Simplifies the branches and loops of graph functions: a branch or case that is known is taken, a loop of no or one
    trip is gone, what no trip changes is computed before the loop or not carried by it, and what nobody uses is not
    given. Conditions on dynamic sizes that only removed ops have are stated, as by `remove-unused`.

    ```mlir
    func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<4xf32>, tensor<4xf32>) {
        %0 = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
        %1 = relex.add %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %2 = relex.negative %b : (tensor<4xf32>) -> tensor<4xf32>
        scf.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
      }
      func.return %y#0 : tensor<4xf32>
    }
    // simplify-regions
    func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %0 = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
        %1 = relex.add %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        scf.yield %1 : tensor<4xf32>
      }
      func.return %y : tensor<4xf32>
    }
    ```
    """

    name = "simplify-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, FuncOp) and has_regions(f) and is_on_tensors(f)]
        lost = LostSizes(op)
        if not all(map(is_static, functions)):
            lost.check_late()
            lost.note_any()
        for function in functions:
            applier = GreedyRewritePatternApplier([*_PATTERNS], dce_enabled=False)
            PatternRewriteWalker(applier).rewrite_region(function.body)
        lost.state()


_PATTERNS = (
    control_flow.ExtractOfConstant(),
    IfPropagateConstantCondition(),
    control_flow.ChooseKnownCase(),
    SimplifyTrivialLoops(),
    control_flow.EnterOnce(),
    control_flow.ForwardInvariants(),
    control_flow.MoveInvariantsOut(),
    control_flow.DropUnusedResults(),
)


def has_regions(function: FuncOp) -> bool:
    """Return whether a function has branches or loops."""
    return any(isinstance(op, scf.IfOp | scf.IndexSwitchOp | scf.ForOp | scf.WhileOp) for op in walk(function))


def is_on_tensors(function: FuncOp) -> bool:
    """Return whether a function is one of graphs: whether there are tensors in it."""
    types = [*function.function_type.inputs, *function.function_type.outputs]
    return any(isinstance(t, TensorType) for t in (*types, *(t for op in walk(function) for t in op.result_types)))
