"""Rows of tables by indices, one by one or in bags."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports


@imports("aten.embedding")
def embedding(node: TorchNode, weight: Tensor, indices: Tensor, *options: Any) -> Operand:
    """The rows of a table."""
    expect_in_range(node, indices, node.shape(weight)[0], from_end=False)
    return op.take(weight, indices, 0)


@imports("aten._embedding_bag", "aten._embedding_bag_forward_only")
def embedding_bag(
    node: TorchNode,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_by_frequency: bool = False,
    mode: int = 0,
    sparse: bool = False,
    sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding: int = -1,
) -> list[Operand]:
    """The sums or means of rows of a table, for bags of indices that begin at offsets."""
    length = node.shape(indices)[0]
    if include_last_offset:
        offsets = node.tensor(op.strided_slice(offsets, [0], [0], [-1]))
    bags = node.shape(offsets)[0]
    # An index is in the last bag that begins at it or before.
    begins = op.scatter_nd(node.full([length], 0, i64), op.expand_dims(offsets, 1), node.full([bags], 1, i64), "add")
    bag = op.expand_dims(op.subtract(op.cumsum(begins, 0), Known(np.array(1, np.int64))), 1)
    expect_in_range(node, indices, node.shape(weight)[0], from_end=False)
    rows = op.take(weight, indices, 0)
    if sample_weights is not None:
        rows = op.multiply(rows, op.expand_dims(sample_weights, 1))
    first = -inf if mode == 2 else 0
    ones: Operand = node.full([length, 1], 1, weight.element_type)
    if padding >= 0:
        counts = op.expand_dims(op.not_equal(indices, node.like(padding, indices)), 1)
        rows, ones = op.where(counts, rows, node.like(first, weight)), op.astype(counts, weight.element_type)
    start = node.full([bags, node.shape(weight)[1]], first, weight.element_type)
    y = op.scatter_nd(start, bag, rows, "max" if mode == 2 else "add")
    if mode > 0:
        sizes = op.scatter_nd(node.full([bags, 1], 0, weight.element_type), bag, ones, "add")
        y = op.divide(y, op.maximum(sizes, 1.0)) if mode == 1 else op.where(op.greater(sizes, 0.0), y, 0.0)
    nothing = node.full([bags], 0, i64)
    return [y, nothing, nothing, nothing]
