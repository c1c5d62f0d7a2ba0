"""Outline dense layers with their bias."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX

from relex.dialects.relex import AddOp, DenseOp
from relex.dialects.relex.types import shape_of
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import Match, op, wildcard


def _is_bias(match: Match) -> bool:
    """Return whether `b` has one element for each column of `dense`, and is the same for all rows."""
    columns = shape_of(match["dense"])
    *rows, size = shape_of(match["b"]) or (1,)
    fits = size == columns[-1] or (DYNAMIC_INDEX in (size, columns[-1]) and 1 not in (size, columns[-1]))
    return fits and all(row == 1 for row in rows) and len(rows) < len(columns)


class FuseDenseAddPass(OutliningPass):
    """
    Moves each `relex.dense` and the bias that is added to it into a separate function. A bias has one element for
    each column: shape `[N]` or `[1, N]`, where the product is `[..., N]`. Other additions, and products with other
    uses, are left unchanged.

    ```mlir
    func.func @main(%x: tensor<1x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<1x4xf32> {
      %0 = relex.dense %x, %w : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
      %1 = relex.add %0, %b : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
      func.return %1 : tensor<1x4xf32>
    }
    // fuse-dense-add
    func.func @main(%x: tensor<1x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<1x4xf32> {
      %0 = relex.call @fused_dense_add0(%x, %w, %b)
          : (tensor<1x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<1x4xf32>
      func.return %0 : tensor<1x4xf32>
    }
    func.func private @fused_dense_add0(%x: tensor<1x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>)
        -> tensor<1x4xf32> attributes {relex.primitive} {
      %0 = relex.dense %x, %w : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
      %1 = relex.add %0, %b : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
      func.return %1 : tensor<1x4xf32>
    }
    ```
    """

    name = "fuse-dense-add"
    function_name = "fused_dense_add"
    pattern = (
        op(AddOp, op(DenseOp, wildcard("x"), wildcard("w")).single_use().named("dense"), wildcard("b"))
        .commutative()
        .where(_is_bias)
    )
