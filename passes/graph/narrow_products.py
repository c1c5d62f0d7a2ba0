"""Multiply with operands that are rounded to bf16."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, bf16, f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.op_edits import insert_before, replace_by
from relex.dialects.relex import (
    AstypeOp,
    ConstantOp,
    Convolution,
    DenseBlocksOp,
    DenseOp,
    DequantizeBlocksOp,
    MatmulOp,
    array_of,
)
from relex.dialects.relex.block_quantized import joined, layout_of
from relex.dialects.relex.types import shape_of, tensor_type
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.walks import walk
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.driver.extension import extends_pipeline
from relex.passes.graph.layout.pairs import multiplies_pairs
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.evaluation import evaluated
from relex.passes.rewriting.numerics import rounds_operands


@extends_pipeline(after="fold-batch-norm")
class NarrowProductsPass(RelexPass):
    """
    Rounds both operands of matrix products and convolutions in f32 with a constant weight to bf16: to the nearest
    number, of two that are equally near to the even one. Products are computed and added up in f32, as before:
    `sum_k f32(bf16(x_k)) * f32(bf16(w_k))`. Each operand is off by `2**-8` of its size at most, so that a result is off
    by `2**-7 + 2**-16` times the sum of `|x_k * w_k|` at most, besides the rounding of the sum.

    Weights of matrix products become constants of bf16, which take half of the memory, and become floats of 32 bits in
    registers. Weights of convolutions, which are read from caches, stay f32 with the rounded numbers, and so do those
    that many rows are multiplied with, if the target has no instructions for pairs of such numbers, in tiles or in
    vectors: each tile of rows would widen them again. Where it has, weights in blocks that some rows are multiplied
    with are unpacked once, and rounded.

    ```mlir
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
      %w = relex.constant dense<[[1.0, 0.1]]> : tensor<1x2xf32>
      %0 = relex.dense %x, %w : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
      func.return %0 : tensor<1x1xf32>
    }
    // narrow-products
    func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> {
      %0 = relex.astype %x dtype = bf16 : (tensor<1x2xf32>) -> tensor<1x2xbf16>
      %1 = relex.astype %0 dtype = f32 : (tensor<1x2xbf16>) -> tensor<1x2xf32>
      %2 = relex.constant dense<[[1.0, 0.1]]> : tensor<1x2xbf16>
      %3 = relex.astype %2 dtype = f32 : (tensor<1x2xbf16>) -> tensor<1x2xf32>
      %4 = relex.dense %1, %3 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
      func.return %4 : tensor<1x1xf32>
    }
    ```
    """

    name = "narrow-products"
    numerics = rounds_operands(2**-8)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        in_pairs = multiplies_pairs(processor_in(op))
        for found in list(walk(op)):
            if isinstance(found, DenseOp | MatmulOp | Convolution):
                _round_operands(found, in_pairs=in_pairs)
            if isinstance(found, DenseBlocksOp) and in_pairs:
                _round_blocks(found)


def _round_operands(op: DenseOp | MatmulOp | Convolution, *, in_pairs: bool) -> None:
    data, weight = op.operands
    if array_of(weight) is None or tensor_type(weight.type).element_type != f32 or array_of(data) is not None:
        return
    op.operands[0] = _rounded(data, op)
    stays_wide = isinstance(op, Convolution) or not (in_pairs or _has_few_rows(op))
    op.operands[1] = _rounded_weight(weight, op, stays_wide=stays_wide)
    erase_unused_constants([weight.owner])


def _has_few_rows(op: DenseOp | MatmulOp) -> bool:
    """Return whether a product takes as long as its weight takes to come from memory, or may do so."""
    rows = shape_of(op.operands[0])[:-1]
    return DYNAMIC_INDEX in rows or prod(rows) < cost.MIN_ROWS_OF_WIDE_WEIGHTS


def _round_blocks(op: DenseBlocksOp) -> None:
    """Unpack a weight in blocks whose rows make up for it, and round it and the data."""
    *rows, _ = shape_of(op.data)
    scales, digits = array_of(op.scales), array_of(op.digits)
    if scales is None or digits is None or DYNAMIC_INDEX in rows or prod(rows) < cost.MIN_ROWS_TO_UNPACK_BLOCKS:
        return
    weight = ConstantOp(joined(layout_of(op.properties), scales, digits))
    weight.location = op.location
    numbers = DequantizeBlocksOp(weight, op.layout.data)
    insert_before(op, weight, numbers)
    parts, data, wide = (op.scales.owner, op.digits.owner), _rounded(op.data, op), _rounded(numbers.result, op)
    replace_by(op, DenseOp(data, wide))
    erase_unused_constants(parts)


def _rounded(value: SSAValue, op: DenseOp | MatmulOp | Convolution | DenseBlocksOp) -> SSAValue:
    """Return a value rounded to bf16, which another product before this one may read as well."""
    for user in (use.operation for use in value.uses):
        if not isinstance(user, AstypeOp) or user.parent is not op.parent or not user.is_before_in_block(op):
            continue
        if tensor_type(user.result.type).element_type == bf16:
            return insert_before(op, AstypeOp(user.result, f32)).result
    narrow = AstypeOp(value, bf16)
    return insert_before(op, narrow, AstypeOp(narrow.result, f32)).result


def _rounded_weight(weight: SSAValue, op: DenseOp | MatmulOp | Convolution, *, stays_wide: bool) -> SSAValue:
    narrow = _evaluated(AstypeOp(weight, bf16))
    Rewriter.insert_op(narrow, InsertPoint.before(op))
    wide = AstypeOp(narrow.result, f32)
    if not stays_wide:
        Rewriter.insert_op(wide, InsertPoint.before(op))
        return wide.result
    constant = _evaluated(wide)
    Rewriter.insert_op(constant, InsertPoint.before(op))
    Rewriter.erase_op(narrow)
    return constant.result


def _evaluated(op: AstypeOp) -> ConstantOp:
    """Return the result of a conversion of a constant, which takes the place of the op."""
    found = evaluated(op, same_bits=False)
    assert found is not None
    (value,) = found
    constant = ConstantOp(value)
    constant.location = op.operand.owner.location if isinstance(op.operand.owner, ConstantOp) else op.location
    op.drop_all_references()
    return constant
