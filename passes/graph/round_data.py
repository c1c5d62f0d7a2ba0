"""Round data that are multiplied with weights in blocks to bytes."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.op_edits import insert_before
from relex.dialects.relex import DenseBlockRowsOp, DenseBlocksOp, DenseOp, DequantizeBlocksOp, MatmulOp, RoundBlocksOp
from relex.dialects.relex.block_quantized import layout_of
from relex.dialects.relex.types import tensor_type
from relex.dialects.walks import walk
from relex.passes.driver.base import RelexPass
from relex.passes.driver.extension import extends_pipeline
from relex.passes.graph.multiply_blocks import weight_in_blocks
from relex.passes.rewriting.numerics import rounds_rows


@extends_pipeline(after="set-target")
class RoundDataPass(RelexPass):
    """
    Rounds the data of products with weights in blocks: each group of numbers, as the weight has them, to multiples of
    its largest number times `1 / 127`. So each is off by `1 / 254` of the largest one. Where the target has
    instructions for products of bytes, `delay-scales` multiplies them as integers then.

    ```mlir
    func.func @main(%x: tensor<4x32xf32>, %w: tensor<1x18xui8>) -> tensor<4x1xf32> {
      %0 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
      %1 = relex.dense %x, %0 : (tensor<4x32xf32>, tensor<1x32xf32>) -> tensor<4x1xf32>
      func.return %1 : tensor<4x1xf32>
    }
    // round-data
    func.func @main(%x: tensor<4x32xf32>, %w: tensor<1x18xui8>) -> tensor<4x1xf32> {
      %0 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
      %1 = relex.round_blocks %x size = 32 : (tensor<4x32xf32>) -> tensor<4x32xf32>
      %2 = relex.dense %1, %0 : (tensor<4x32xf32>, tensor<1x32xf32>) -> tensor<4x1xf32>
      func.return %2 : tensor<4x1xf32>
    }
    ```
    """

    name = "round-data"
    numerics = rounds_rows(1 / 253)  # And the rounding of the scale and of the quotient.

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known: dict[tuple[SSAValue, int, Block | None], SSAValue] = {}
        for found in list(walk(op)):
            blocks, data = _in_blocks(found), found.operands[0] if found.operands else None
            if blocks is None or data is None or tensor_type(data.type).element_type != f32:
                continue
            if isinstance(data.owner, RoundBlocksOp):
                continue
            key = data, prod(layout_of(blocks.properties).numbers), found.parent
            if key not in known:
                known[key] = insert_before(found, RoundBlocksOp(*key[:2])).result
            found.operands[0] = known[key]


def _in_blocks(op: Operation) -> DenseBlocksOp | DenseBlockRowsOp | DequantizeBlocksOp | None:
    """Return the operator of a product that has the layout of its weight; None for other operators."""
    if isinstance(op, DenseBlocksOp | DenseBlockRowsOp):
        return op
    return weight_in_blocks(op) if isinstance(op, DenseOp | MatmulOp) else None
