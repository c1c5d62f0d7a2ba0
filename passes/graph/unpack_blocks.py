"""Unpack weights in blocks that many rows are multiplied with."""

from __future__ import annotations

from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.arrays import np
from relex.dialects.op_edits import insert_before
from relex.dialects.relex import AddOp, DenseBlocksOp, MatmulOp, StridedSliceOp, UnpackNumbersOp, array_of
from relex.dialects.relex.block_quantized import layout_of
from relex.dialects.relex.types import shape_of
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.walks import walk_of
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.block_panels import unpacked
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.numerics import reassociates


class UnpackBlocksPass(RelexPass):
    """
    Unpacks weights in blocks of a few bits in each call, if they are multiplied with many rows: to floats of 32 bits,
    panel by panel, right before all rows use them. With fewer rows, `relex.dense_blocks` unpacks them in registers.
    Scales are unpacked before. The bytes are in panels of 32 columns, and as many as before.

    Sums of many terms are done in parts. Digits are scaled before they are added up, so that results change by
    rounding.

    ```mlir
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
      func.func @main(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
        %s = relex.constant dense<60> : tensor<32x2xui8>
        %d = relex.constant dense<1> : tensor<32x16xui8>
        %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0"
            : (tensor<64x32xf32>, tensor<32x2xui8>, tensor<32x16xui8>) -> tensor<64x32xf32>
        func.return %0 : tensor<64x32xf32>
      }
    }
    // unpack-blocks
    builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
      func.func @main(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
        %0 = relex.constant dense<60> : tensor<1x2x32xui8>
        %1 = relex.constant dense<1> : tensor<1x16x32xui8>
        %2 = relex.unpack_scales %0 layout = "Q4_0" : (tensor<1x2x32xui8>) -> tensor<1x1x1x32xf32>
        %3 = relex.unpack_numbers %2, %1 layout = "Q4_0" columns = 32
            : (tensor<1x1x1x32xf32>, tensor<1x16x32xui8>) -> tensor<32x32xf32>
        %4 = relex.matmul %x, %3 : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
        func.return %4 : tensor<64x32xf32>
      }
    }
    ```
    """

    name = "unpack-blocks"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if processor_in(op) is None:
            return
        for found in walk_of(op, DenseBlocksOp):
            if _has_many_rows(found):
                _unpack(found)


def _has_many_rows(op: DenseBlocksOp) -> bool:
    """Return whether the rows of a product make up for unpacking its weight, and its columns for packing panels."""
    *rows, _ = shape_of(op.data)
    are_many = DYNAMIC_INDEX not in rows and prod(rows) >= cost.MIN_ROWS_TO_UNPACK_NUMBERS
    return are_many and shape_of(op.digits)[0] >= cost.MIN_SCATTERED_COLUMNS


def _unpack(op: DenseBlocksOp) -> None:
    scales, digits = array_of(op.scales), array_of(op.digits)
    if scales is None or digits is None:
        return
    owners, count = (op.scales.owner, op.digits.owner), _parts_of_terms(op)
    axis, terms = len(shape_of(op.data)) - 1, op.terms // count
    found: SSAValue | None = None
    for n, parts in enumerate(zip(np.split(scales, count, 1), np.split(digits, count, 1), strict=True)):
        weight = unpacked(UnpackNumbersOp, op, op.layout.data, *map(np.ascontiguousarray, parts))
        data = op.data
        if count > 1:
            data = insert_before(op, StridedSliceOp(data, [axis], [n * terms], [(n + 1) * terms])).result
        product = insert_before(op, MatmulOp(data, weight)).result
        found = product if found is None else insert_before(op, AddOp(found, product)).result
    assert found is not None
    found.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], [found])
    erase_unused_constants(owners)


def _parts_of_terms(op: DenseBlocksOp) -> int:
    """Return the number of parts of the sums, of which each is added to the ones before: the second-level cache would
    not hold a panel of all terms. Blocks stay together."""
    blocks, least = op.terms // layout_of(op.properties).size, -(-op.terms // cost.MAX_TERMS_OF_A_PANEL)
    return next((n for n in range(max(least, 1), blocks + 1) if blocks % n == 0), 1)
