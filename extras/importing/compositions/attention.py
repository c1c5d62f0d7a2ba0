"""Attention: heads of queries, keys and values, in tensors of batch, heads, places and width."""

from __future__ import annotations

from typing import Any

import numpy as np

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import LAST, numbers_below
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, refuse


def in_heads(site: ImportedNode, x: Operand, heads: int) -> Operand:
    """Return a tensor of batch, places and all heads' elements with a dimension of heads."""
    batch, places, width = site.shape(x)
    if heads < 1:
        refuse(f"expected one head or more, found {heads}")
    return op.permute_dims(site.reshape(x, [batch, places, heads, width // heads]), [0, 2, 1, 3])


def joined_heads(site: ImportedNode, x: Operand) -> Operand:
    """Return a tensor without its dimension of heads, the inverse of `in_heads`."""
    batch, heads, places, width = site.shape(x)
    return site.reshape(op.permute_dims(x, [0, 2, 1, 3]), [batch, places, heads * width])


def repeated_heads(site: ImportedNode, x: Operand, times: int) -> Operand:
    """Return a tensor with each head several times, one after another."""
    batch, heads, places, width = site.shape(x)
    wide = site.broadcast_to(op.expand_dims(x, 2), [batch, heads, times, places, width])
    return x if times == 1 else site.reshape(wide, [batch, heads * times, places, width])


def attended(
    site: ImportedNode,
    q: Operand,
    k: Operand,
    v: Operand,
    scale: float | None,
    bias: Operand | None = None,
    *,
    cap: float = 0.0,
    safe: bool = False,
    sink: Operand | None = None,
) -> Operand:
    """Return the values of all places, weighted by how much each query is like their keys: by default, scaled by the
    root of the width. `cap` limits the likeness before the bias is added. If `safe`, queries from which the bias hides
    all keys have a result of 0. The `sink` of each head is the likeness of one more key, whose value is 0."""
    width = site.closed(site.shape(q)[-1], "heads of dynamic width: {}")
    scores = op.multiply(op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])), scale or float(1 / np.sqrt(width)))
    if cap:
        scores = op.multiply(op.tanh(op.multiply(scores, 1 / cap)), cap)
    scores = scores if bias is None else op.add(scores, bias)
    if sink is None:
        return op.matmul(op.softmax(scores, 3, safe), v)
    batch, heads, queries, _ = site.shape(scores)
    column = site.broadcast_to(op.reshape(sink, [-1, 1, 1]), [batch, heads, queries, 1])
    shares = op.softmax(op.concat(scores, column, axis=3), 3)
    return op.matmul(op.strided_slice(shares, [3], [0], [-1]), v)


def is_hidden_later(queries: Size, keys: Size, before: Operand) -> Operand:
    """Return whether each key comes after a query, of which there are as many as `before` before the first."""
    last = op.add(op.expand_dims(numbers_below(queries), 1), before)
    return op.greater(op.expand_dims(numbers_below(keys), 0), last)


def rotated(site: ImportedNode, x: Operand, angles: tuple[Operand, Operand], is_interleaved: bool) -> Operand:
    """Return heads whose first elements are turned in pairs, by angles for each place: neighbours, or the first half
    with the second half. Of the angles, there are the cosines and the sines, half as many as elements to turn."""
    cos, sin = angles
    half = site.closed(site.shape(cos)[-1], "angles of dynamic number: {}")
    *rest, width = site.shape(x)
    whole = site.closed(width, "heads of dynamic width: {}")
    if whole < 2 * half:
        refuse(f"expected heads of width {2 * half} or more, found {whole}")
    left = [op.strided_slice(x, [-1], [2 * half], [LAST])] if 2 * half < whole else []
    part = op.strided_slice(x, [-1], [0], [2 * half]) if left else x
    pairs = site.reshape(part, [*rest, half, 2] if is_interleaved else [*rest, 2, half])
    axis = -1 if is_interleaved else -2
    a, b = (op.squeeze(op.strided_slice(pairs, [axis], [i], [i + 1]), axis) for i in (0, 1))
    turned: list[Any] = [
        op.subtract(op.multiply(a, cos), op.multiply(b, sin)),
        op.add(op.multiply(b, cos), op.multiply(a, sin)),
    ]
    if is_interleaved:
        turned = [site.reshape(op.concat(*(op.expand_dims(y, -1) for y in turned), axis=-1), [*rest, 2 * half])]
    return op.concat(*turned, *left, axis=-1)


def joined_places(past: Operand | None, new: Operand) -> Operand:
    """Return heads of places from before and of new ones."""
    return new if past is None else op.concat(past, new, axis=2)


def penalty(hidden: Operand, amount: float) -> Operand:
    """Return what is added to likeness: an amount where keys are hidden, else 0."""
    return op.where(hidden, Known(np.array(amount, np.float32)), Known(np.array(0, np.float32)))
