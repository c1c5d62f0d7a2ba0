"""Dead code elimination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriterListener, PatternRewriteWalker

from relex.dialects.symbols import erase_unused
from relex.passes.driver.base import ModuleT, RelexPass
from relex.passes.graph.canonicalization.dataflow import RemoveUnusedOutputs
from relex.passes.rewriting.lost_sizes import LostSizes


@dataclass(frozen=True)
class RemoveUnusedPass(RelexPass):
    """
    Removes ops whose results are unused, unused results of dataflow blocks and blocks that are left without any, and
    private functions that no public one needs. Ops with effects stay: allocations, `func.call`, library calls with
    `side_effects`. Conditions on dynamic sizes that only removed ops have are stated at the public functions, as
    `infer-sizes` states them. What depends on late sizes, or on the branch that is taken, is checked as it does.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0:2 = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
        %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        %2 = relex.call @group(%1) : (tensor<4xf32>) -> tensor<4xf32>
        relex.output %1, %2 : tensor<4xf32>, tensor<4xf32>
      }
      func.return %0#0 : tensor<4xf32>
    }
    func.func private @group(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
      func.return %x : tensor<4xf32>
    }
    // remove-unused
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = relex.dataflow -> tensor<4xf32> {
        %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
        relex.output %1 : tensor<4xf32>
      }
      func.return %0 : tensor<4xf32>
    }
    ```
    """

    name = "remove-unused"

    keep_functions: bool = False
    """Whether to keep private functions that no public one needs."""

    @overload
    def __call__(self, module: ModuleT) -> ModuleT: ...

    @overload
    def __call__(self, module: FuncOp) -> FuncOp: ...

    def __call__(self, module: ModuleT | FuncOp) -> ModuleT | FuncOp:
        """Return a copy of a module, or of a single graph function, without unused ops."""
        if not isinstance(module, FuncOp):
            return super().__call__(module)
        function = module.clone()
        _remove_unused_ops(ModuleOp([function]))
        function.detach()
        return function

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        LostSizes(op).check_late()
        _remove_unused_ops(op)
        if not self.keep_functions:
            erase_unused(op, op.ops)


def _remove_unused_ops(module: ModuleOp) -> None:
    # The applier erases unused ops by itself. Users are visited before their operands, so one walk does nearly all.
    applier, lost = GreedyRewritePatternApplier([RemoveUnusedOutputs()]), LostSizes(module)
    listener = PatternRewriterListener(operation_removal_handler=[lost.note_removal])
    PatternRewriteWalker(applier, walk_reverse=True, listener=listener).rewrite_module(module)
    lost.state()
