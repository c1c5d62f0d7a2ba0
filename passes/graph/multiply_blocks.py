"""Multiply with weights in blocks as they are stored."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.op_edits import replace_by
from relex.dialects.relex import (
    ConstantOp,
    DenseBlockRowsOp,
    DenseBlocksOp,
    DenseOp,
    DequantizeBlocksOp,
    MatmulOp,
    PermuteDimsOp,
)
from relex.dialects.relex.block_quantized import layout_of, parts_of
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import rank_of, shape_of
from relex.dialects.walks import walk
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.byte_factors import erase_unused
from relex.passes.rewriting.numerics import reassociates


class MultiplyBlocksPass(RelexPass):
    """
    Multiplies with weights in blocks of a few bits as they are stored: `relex.dense`, or `relex.matmul` with a
    transpose, of `relex.dequantize_blocks` becomes `relex.dense_blocks`, which unpacks the weights in registers. Bytes
    of scales and bytes of digits become separate constants. Weights that are no constants are read row by row, without
    a copy, by `relex.dense_block_rows`, unless many rows of data make up for unpacking them once.

    Digits are multiplied and added up before their scales are, so that results change by rounding, and by overflow
    where data is near the largest number; so `strict` compilation leaves out this pass.

    ```mlir
    func.func @main(%x: tensor<4x32xf32>) -> tensor<4x1xf32> {
      %w = relex.constant dense<"0x003C0102030405060708090A0B0C0D0E0F10"> : tensor<1x18xui8>
      %0 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
      %1 = relex.dense %x, %0 : (tensor<4x32xf32>, tensor<1x32xf32>) -> tensor<4x1xf32>
      func.return %1 : tensor<4x1xf32>
    }
    // multiply-blocks
    func.func @main(%x: tensor<4x32xf32>) -> tensor<4x1xf32> {
      %0 = relex.constant dense<[[0, 60]]> : tensor<1x2xui8>
      %1 = relex.constant dense<[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]]> : tensor<1x16xui8>
      %2 = relex.dense_blocks %x, %0, %1 layout = "Q4_0"
          : (tensor<4x32xf32>, tensor<1x2xui8>, tensor<1x16xui8>) -> tensor<4x1xf32>
      func.return %2 : tensor<4x1xf32>
    }
    ```
    """

    name = "multiply-blocks"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for found in list(walk(op)):
            if isinstance(found, DenseOp | MatmulOp):
                _multiply_blocks(found)


def weight_in_blocks(op: DenseOp | MatmulOp) -> DequantizeBlocksOp | None:
    """Return what unpacks the weight of a product whose columns are rows of blocks; None if it is another weight."""
    weight, is_transposed = op.operands[1], isinstance(op, MatmulOp)
    while isinstance(transpose := weight.owner, PermuteDimsOp) and list(transpose.order) == [1, 0]:
        weight, is_transposed = transpose.operand, not is_transposed
    blocks = weight.owner
    return blocks if isinstance(blocks, DequantizeBlocksOp) and not is_transposed and rank_of(weight) == 2 else None


def _multiply_blocks(op: DenseOp | MatmulOp) -> None:
    if (blocks := weight_in_blocks(op)) is None:
        return
    data, layout, unused = op.operands[0], blocks.layout.data, tuple(op.operands)
    bytes_of_blocks = array_of(blocks.data)
    if bytes_of_blocks is None:
        if not _has_many_rows(data):
            replace_by(op, DenseBlockRowsOp(data, blocks.data, layout))
            erase_unused(unused)
        return
    parts: list[SSAValue] = []
    for part in parts_of(layout_of(blocks.properties), bytes_of_blocks):
        constant = ConstantOp(part)
        constant.location = blocks.location
        Rewriter.insert_op(constant, InsertPoint.before(op))
        parts.append(constant.result)
    replace_by(op, DenseBlocksOp(data, *parts, layout=layout))
    erase_unused(unused)


def _has_many_rows(data: SSAValue) -> bool:
    """Return whether the rows of a product make up for unpacking its weight once for all of them."""
    rows = shape_of(data)[:-1]
    return DYNAMIC_INDEX not in rows and prod(rows) >= cost.MIN_ROWS_TO_UNPACK_ARGUMENTS
