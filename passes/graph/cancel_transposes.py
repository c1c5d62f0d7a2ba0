"""Cancel transposes in pairs, and move them into weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from relex.dialects.relex import ConstantOp, DenseOp, MatmulOp, PermuteDimsOp, ReshapeOp
from relex.dialects.relex.tensor_ops import array_of
from relex.dialects.relex.types import rank_of, shape_of
from relex.dialects.walks import walk_of
from relex.passes.driver.base import RelexPass
from relex.passes.graph.canonicalization.canonicalization_table import Simplify
from relex.passes.graph.canonicalization.shape import permutation
from relex.passes.graph.layout.permutations import Order, Region, inverse


@dataclass(frozen=True)
class CancelTransposesPass(RelexPass):
    """
    Removes `relex.permute_dims`, the transposes of a graph, where the program needs fewer of them without changing what
    it computes. Two in a row become one, or none. Elementwise operators, `concat`, `batch_norm` and `softmax` between
    transposes are computed with their dimensions in the other order, where that leaves fewer transposes; constants
    there are transposed at compile time. `dense` of a transposed weight is `matmul`, and the reverse. A transpose and a
    reshape before a dense layer with a constant weight move into the weight: sums then add up in another order, which
    `strict` forbids.

    ```mlir
    func.func @main(%x: tensor<2x8x8x3xf32>) -> tensor<2x8x8x3xf32> {
      %c = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %0 = relex.permute_dims %x axes = [0, 3, 1, 2] : (tensor<2x8x8x3xf32>) -> tensor<2x3x8x8xf32>
      %1 = relex.relu %0 : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
      %2 = relex.permute_dims %1 axes = [0, 2, 3, 1] : (tensor<2x3x8x8xf32>) -> tensor<2x8x8x3xf32>
      %3 = relex.add %2, %c : (tensor<2x8x8x3xf32>, tensor<3xf32>) -> tensor<2x8x8x3xf32>
      func.return %3 : tensor<2x8x8x3xf32>
    }
    // cancel-transposes
    func.func @main(%x: tensor<2x8x8x3xf32>) -> tensor<2x8x8x3xf32> {
      %c = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %1 = relex.relu %x : (tensor<2x8x8x3xf32>) -> tensor<2x8x8x3xf32>
      %3 = relex.add %1, %c : (tensor<2x8x8x3xf32>, tensor<3xf32>) -> tensor<2x8x8x3xf32>
      func.return %3 : tensor<2x8x8x3xf32>
    }
    ```
    """

    name = "cancel-transposes"

    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not _transposes(op):
            return
        patterns: list[RewritePattern] = [MergeTransposes(), DenseOfTranspose(), MatmulOfTranspose()]
        rules = PatternRewriteWalker(
            GreedyRewritePatternApplier(patterns if self.strict else [*patterns, IntoWeight()])
        )
        rules.rewrite_module(op)
        while _reordered_somewhere(op):
            rules.rewrite_module(op)


def _transposes(module: ModuleOp) -> list[PermuteDimsOp]:
    return walk_of(module, PermuteDimsOp)


def _reordered_somewhere(module: ModuleOp) -> bool:
    """Compute regions between transposes in another order, where that leaves fewer transposes."""
    found = False
    for transpose in _transposes(module):
        # One that has been cancelled together with another is gone.
        if transpose.parent is None:
            continue
        for neighbour, order in _neighbours(transpose):
            region = Region.around(neighbour, order)
            if region.members and region.gain > 0:
                region.reorder()
                found = True
                break
    return found


def _neighbours(transpose: PermuteDimsOp) -> Iterator[tuple[Operation, Order]]:
    """Yield the operators next to a transpose, and the order in which it permutes those after it."""
    for use in transpose.result.uses:
        yield use.operation, transpose.order
    if isinstance(before := transpose.operand.owner, Operation):
        yield before, inverse(transpose.order)


def _untransposed(value: SSAValue) -> SSAValue | None:
    """Return the matrix that a value is the transpose of."""
    transpose = value.owner
    return transpose.operand if isinstance(transpose, PermuteDimsOp) and transpose.order == (1, 0) else None


class MergeTransposes(RewritePattern):
    """Merge two transposes in a row, as `canonicalize` does."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PermuteDimsOp, rewriter: PatternRewriter) -> None:
        Simplify(permutation).match_and_rewrite(op, rewriter)


class DenseOfTranspose(RewritePattern):
    """Compute `dense` with a transposed weight as `matmul` with the weight."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseOp, rewriter: PatternRewriter) -> None:
        if (weight := _untransposed(op.weight)) is not None:
            rewriter.replace(op, MatmulOp(op.data, weight))


class MatmulOfTranspose(RewritePattern):
    """Compute `matmul` with a transposed matrix as `dense` with the matrix."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        if (weight := _untransposed(op.rhs)) is not None:
            rewriter.replace(op, DenseOp(op.lhs, weight))


class IntoWeight(RewritePattern):
    """Move a transpose of dimensions that are then joined and summed over into the constant weight."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DenseOp | MatmulOp, rewriter: PatternRewriter) -> None:
        data, weight = op.operands
        reshape, array = data.owner, array_of(weight)
        if not isinstance(reshape, ReshapeOp) or reshape.sizes is not None or array is None or array.ndim != 2:
            return
        transpose = reshape.operand.owner
        if not isinstance(transpose, PermuteDimsOp) or (kept := _kept(transpose, reshape)) is None:
            return
        shape = shape_of(transpose.result)[kept:]
        order = [i - kept for i in inverse(transpose.order)[kept:]]
        if isinstance(op, DenseOp):
            moved = array.reshape(len(array), *shape).transpose(0, *(1 + i for i in order))
        else:
            moved = array.reshape(*shape, -1).transpose(*order, len(order))
        constant = ConstantOp(moved.reshape(array.shape))
        constant.result.name_hint = weight.name_hint
        joined = ReshapeOp.create(
            operands=[transpose.operand], properties=reshape.properties, result_types=[reshape.result.type]
        )
        joined.location = reshape.location
        new = type(op)(joined.result, constant.result)
        rewriter.replace(op, [constant, joined, new], [new.result])


def _kept(transpose: PermuteDimsOp, reshape: ReshapeOp) -> int | None:
    """Return how many dimensions both a transpose and a reshape leave as they are, if the reshape joins all others into
    one."""
    old, new = (shape_of(value) for value in (transpose.result, reshape.result))
    kept = rank_of(reshape.result) - 1
    joined = old[kept:]
    if DYNAMIC_INDEX in joined or old[:kept] != new[:-1] or prod(joined) != new[-1] or not all(joined):
        return None
    # Of several unknown sizes, it is not known that they are the same.
    is_first = transpose.order[:kept] == tuple(range(kept))
    return kept if is_first and old[:kept].count(DYNAMIC_INDEX) <= 1 else None
