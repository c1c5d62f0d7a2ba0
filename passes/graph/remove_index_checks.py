"""Removal of checks of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.relex import AssertOp
from relex.dialects.walks import walk_of
from relex.passes.driver.base import RelexPass
from relex.passes.driver.extension import extends_pipeline
from relex.passes.graph.remove_unused import RemoveUnusedPass


@extends_pipeline(after="set-target")
class RemoveIndexChecksPass(RelexPass):
    """
    Removes the assertions about indices, and what only they need. Imported models check indices as their frameworks do;
    without checks, an index that is out of range is clipped, or its element left out.

    ```mlir
    func.func @main(%x: tensor<4xf32>, %i: tensor<i64>) -> tensor<f32> {
      %n = relex.constant dense<4> : tensor<i64>
      %c = relex.less %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      relex.assert %c, "expected indices below 4" index %i : tensor<i1>, tensor<i64>
      %y = relex.take %x, %i axis = 0 : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
      func.return %y : tensor<f32>
    }
    // remove-index-checks
    func.func @main(%x: tensor<4xf32>, %i: tensor<i64>) -> tensor<f32> {
      %y = relex.take %x, %i axis = 0 : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
      func.return %y : tensor<f32>
    }
    ```

    It runs first in `build(model, passes=[RemoveIndexChecksPass()])`.
    """

    name = "remove-index-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for check in [inner for inner in walk_of(op, AssertOp) if inner.index is not None]:
            check.detach()
            check.erase()
        RemoveUnusedPass(keep_functions=True).apply(ctx, op)

    def same_call(self, function: Operation, arguments: Sequence[Any]) -> None:
        # Calls that failed do not any more.
        return None
