"""Outline attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from relex.dialects.relex import DenseOp, MatmulOp, PermuteDimsOp, SoftmaxOp, WhereOp
from relex.dialects.relex.elementwise import Elementwise
from relex.dialects.relex.types import rank_of
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import Examples, Match, Pattern, op, wildcard


@dataclass(frozen=True)
class _Scores(Pattern):
    """A product, or what elementwise operators make of it one after the other, such as a scale and a mask. Their other
    operands may be anything, and numbers that a mask of booleans chooses are part of it; none of these values has other
    uses."""

    product: Pattern

    def extend(self, match: Match) -> Iterator[Match]:
        step = match.value.owner
        if not match.value.has_one_use() or not isinstance(step, Operation):
            return
        yield from self.product.extend(match)
        if isinstance(step, Elementwise):
            found = replace(match, ops=(*match.ops, step, *_masks(step)))
            for operand in dict.fromkeys(step.operands):
                if operand.type == match.value.type:
                    yield from (replace(m, value=match.value) for m in self.extend(replace(found, value=operand)))

    def example(self, examples: Examples) -> SSAValue:
        return self.product.example(examples)

    def __str__(self) -> str:
        return f"elementwise*({self.product})"


def _masks(step: Operation) -> Iterator[Operation]:
    """Yield the operands of a step that are a choice between two numbers, made for this step alone."""
    for operand in dict.fromkeys(step.operands):
        made = operand.owner
        if isinstance(made, WhereOp) and operand.has_one_use() and rank_of(made.x) == rank_of(made.y) == 0:
            yield made


def _is_along_rows(match: Match) -> bool:
    """Return whether a softmax is along the last dimension."""
    softmax = match.value.owner
    return isinstance(softmax, SoftmaxOp) and softmax.normal_axis == rank_of(softmax.data) - 1


_KEYS = op(PermuteDimsOp, wildcard("k")).single_use() | wildcard("kt")
_PRODUCT = op(MatmulOp, wildcard("q"), _KEYS) | op(DenseOp, wildcard("q"), wildcard("k"))
_WEIGHTS = op(SoftmaxOp, _Scores(_PRODUCT)).where(_is_along_rows)


class FuseAttentionPass(OutliningPass):
    """
    Moves attention into separate functions: the product of queries and keys, scaled, masked, or changed by any other
    elementwise operators, its softmax along the keys, and the product of this with the values. The loops of such a
    function become a single nest, in which the scores of a few queries at a time stay in the cache (`block-rows`,
    `merge-loops`).

    ```mlir
    func.func @main(%q: tensor<2x8x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>, %scale: tensor<f32>)
        -> tensor<2x8x4xf32> {
      %0 = relex.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
      %1 = relex.multiply %0, %scale : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8x8xf32>
      %2 = relex.softmax %1 : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
      %3 = relex.matmul %2, %v : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
      func.return %3 : tensor<2x8x4xf32>
    }
    // fuse-attention
    func.func @main(%q: tensor<2x8x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>, %scale: tensor<f32>)
        -> tensor<2x8x4xf32> {
      %0 = relex.call @attention0(%q, %kt, %scale, %v)
          : (tensor<2x8x4xf32>, tensor<2x4x8xf32>, tensor<f32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
      func.return %0 : tensor<2x8x4xf32>
    }
    func.func private @attention0(%q: tensor<2x8x4xf32>, %kt: tensor<2x4x8xf32>, %scale: tensor<f32>,
                                  %v: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> attributes {relex.primitive} {
      %0 = relex.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
      %1 = relex.multiply %0, %scale : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8x8xf32>
      %2 = relex.softmax %1 : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
      %3 = relex.matmul %2, %v : (tensor<2x8x8xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
      func.return %3 : tensor<2x8x4xf32>
    }
    ```
    """

    name = "fuse-attention"
    function_name = "attention"
    pattern = op(MatmulOp, _WEIGHTS.single_use(), wildcard("v"))
