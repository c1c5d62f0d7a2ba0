"""Operators whose results have sizes that depend on elements, and numbers that sizes are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i1, i64

from relex.dialects.sizes import Size, count
from relex.frontend import op
from relex.frontend.compositions.indexing import expect_in_range, numbers_below
from relex.frontend.importing.values import size_argument
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports
from relex.frontend.torch.library import torch


@imports("aten.nonzero")
def nonzero(node: TorchNode, x: Tensor) -> Operand:
    """The positions of elements other than zero, a row for each."""
    return positions(node, x)


@imports("aten.nonzero_static")
def nonzero_static(node: TorchNode, x: Tensor, size: Size, fill: int = -1) -> Operand:
    """As many positions of elements other than zero as are asked for, or rows of a number behind the last one."""
    found = node.tensor(positions(node, x))
    rows = op.concat(found, node.full([size, node.rank(x)], fill, i64), axis=0)
    return op.strided_slice(rows, [0], [0], [size_argument(size)])


def positions(node: TorchNode, x: Tensor) -> Operand:
    """Return the positions of elements other than zero, a row for each."""
    if isinstance(x, Known) and not x.is_symbolic:
        return Known(np.stack(np.nonzero(x.array), -1).astype(np.int64) if node.rank(x) else _of_number(x))
    if node.rank(x):
        return op.nonzero(x)
    # A number is at no position or at one, which has no indices.
    return op.strided_slice(op.nonzero(node.reshape(x, [1])), [1], [0], [0])


def _of_number(x: Known) -> Any:
    return np.zeros((int(bool(x.array)), 0), np.int64)


@imports("aten.masked_select")
def masked_select(node: TorchNode, x: Tensor, mask: Tensor) -> Operand:
    """The elements where a mask is true, in row-major order."""
    sizes = node.shape(op.where(mask, x, x))
    flat, chosen = (node.reshape(node.broadcast_to(t, sizes), [count(sizes)]) for t in (x, mask))
    return op.compress(flat, chosen, 0)


def compressed(node: TorchNode, x: Tensor, mask: Tensor, first: int) -> Operand:
    """Return the parts of a tensor where a mask of its dimensions from `first` on is true, along one dimension."""
    shape, rank = node.shape(x), node.rank(mask)
    if rank == 0:
        x, mask = node.tensor(op.expand_dims(x, first)), node.tensor(node.reshape(mask, [1]))
    elif rank > 1:
        merged = [*shape[:first], count(shape[first : first + rank]), *shape[first + rank :]]
        x, mask = node.tensor(node.reshape(x, merged)), node.tensor(node.reshape(mask, [count(node.shape(mask))]))
    return op.compress(x, mask, first)


@imports("aten.repeat_interleave.Tensor")
def repeat_interleave(node: TorchNode, times: Tensor, length: Size | None = None) -> Operand:
    """Each place of a tensor of counts, as often as it says."""
    repeated = op.repeat(numbers_below(node.shape(times)[0]), op.astype(times, i64), 0)
    return node.typed(_of_length(node, repeated, length))


def _of_length(node: TorchNode, x: Operand, length: Size | None) -> Operand:
    """Return a row, of which the program checks that it has a given length."""
    if length is None:
        return x
    found = node.tensor(op.equal(Known([node.shape(x)[0]]), Known([length])))
    node.expect(op.reshape(found, []), f"expected {length} elements")
    return op.strided_slice(x, [0], [0], [size_argument(length)])


@imports("aten.masked_scatter")
def masked_scatter(node: TorchNode, x: Tensor, mask: Tensor, source: Tensor) -> Operand:
    """A tensor with the elements of another one, in their order, where a mask is true."""
    sizes, available = node.shape(op.where(mask, x, x)), count(node.shape(source))
    chosen = node.reshape(node.broadcast_to(mask, sizes), [count(sizes)])
    numbers = node.tensor(op.cumsum(op.astype(chosen, i64), 0))
    needed = node.tensor(op.sum(op.astype(chosen, i64)))
    node.expect(op.less_equal(needed, Known(available)), "expected as many elements as the mask has places")
    # Places before the first true one, and those that a call refuses, take the number behind the last element.
    behind = op.concat(node.reshape(source, [available]), node.like([0], source), axis=0)
    places = op.where(op.equal(numbers, 0), Known(available), op.minimum(op.subtract(numbers, 1), Known(available)))
    return op.where(mask, node.reshape(op.take(behind, places, 0), sizes), x)


@imports("aten.bincount")
def bincount(node: TorchNode, x: Tensor, weights: Tensor | None = None, least: int = 0) -> Operand:
    """How often each number from 0 on occurs, or the sums of their weights."""
    numbers = node.tensor(op.astype(x, i64))
    length = as_size(node, op.add(op.max(op.concat(numbers, Known([least - 1]), axis=0)), 1))
    expect_in_range(node, numbers, length, from_end=False)
    one = node.full(node.shape(x), 1, node.result_type) if weights is None else node.typed(weights)
    zeros = node.full([length], 0, node.result_type)
    return op.scatter_nd(zeros, op.expand_dims(numbers, 1), one, "add")


@imports("aten._local_scalar_dense", "aten.item")
def number(node: TorchNode, x: Tensor) -> Any:
    """The only element: a number that is known at import, a size if torch knows that it is never negative, or else a
    tensor without dimensions."""
    if isinstance(x, Known) and count(x.sizes) == 1:
        return x.array.reshape(-1)[0].item()
    found = node.results[0]
    if isinstance(found, torch.SymInt) and never_negative(found):
        return as_size(node, op.astype(x, i64))
    kind = i64 if isinstance(found, torch.SymInt) else f64 if isinstance(found, torch.SymFloat) else i1
    return node.reshape(op.astype(x, kind), [])


def as_size(node: TorchNode, number: Operand) -> Size:
    """Return a number of the program as a size. A negative number is an error of the call."""
    # A tensor of that many rows, without elements, has the size.
    rows = op.repeat(Known(np.zeros((1, 0), np.int8)), node.reshape(number, [1]), 0)
    return node.shape(rows)[0]


def never_negative(size: Any) -> bool:
    """Return whether torch knows of a number that depends on data that it is 0 or more."""
    expression, env = size.node.expr, size.node.shape_env
    lower = env.bound_sympy(expression).lower
    return bool(lower >= 0) and not math.isinf(lower)
