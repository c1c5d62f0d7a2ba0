"""Slices, gathering and scattering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i64

from relex.dialects.relex.types import broadcast
from relex.dialects.sizes import IndexExpr, Size, count, larger, never_negative
from relex.frontend import op
from relex.frontend.compositions.indexing import (
    LAST,
    along,
    expect_in_range,
    from_front,
    numbers_below,
    part_at,
    position,
)
from relex.frontend.graph_expressions import Expr
from relex.frontend.importing.values import size_argument
from relex.frontend.torch import Known, Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.node import Value
from relex.frontend.torch.operators.data_sizes import compressed, positions
from relex.passes.graph.layout.permutations import inverse


@imports("aten.slice.Tensor", "aten.slice_copy")
def part(node: TorchNode, x: Tensor, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Operand:
    """A part of a tensor along a dimension."""
    axis = node.dimension(axis, x)
    size = node.shape(x)[axis]
    first = position(0 if start is None else start, size)
    last = LAST if end is None else position(end, size)
    return x if (first, last, step) == (0, LAST, 1) else op.strided_slice(x, [axis], [first], [last], [step])


@imports("aten.select.int", "aten.select_copy")
def select(node: TorchNode, x: Tensor, axis: int, place: Any) -> Operand:
    """The part at a position along a dimension, without it."""
    axis = node.dimension(axis, x)
    if isinstance(place, Expr) or not (_is_known(place) or isinstance(place - node.shape(x)[axis], int)):
        # Whether it counts from the end depends on the call.
        index = node.tensor(place if isinstance(place, Expr) else Known(place))
        expect_in_range(node, index, node.shape(x)[axis], from_end=True)
        return op.take(x, from_front(node, index, node.shape(x)[axis]), axis)
    end: Any = LAST if place == -1 else place + 1
    return op.squeeze(part(node, x, axis, place, end), axis)


def _is_known(place: Size) -> bool:
    """Return whether it is known from which end a position counts."""
    return isinstance(place, int) or never_negative(place)


@imports("aten.slice_scatter")
def slice_scatter(
    node: TorchNode, x: Tensor, y: Tensor, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Operand:
    """A tensor in which a part along a dimension is another one."""
    axis = node.dimension(axis, x)
    size = node.shape(x)[axis]
    if isinstance(size, IndexExpr) or isinstance(start, IndexExpr) or isinstance(end, IndexExpr):
        if (start in (None, 0)) and (end is None or end == size or end == LAST) and step == 1:
            return node.broadcast_to(node.typed(y), node.shape(x))
        return _stored_from(node, x, _from_start(0 if start is None else start, size), step, node.typed(y), axis)
    places = np.arange(size)[slice(start, end, step)]
    shape = [*node.shape(x)]
    shape[axis] = len(places)
    return _stored(node, x, places, node.broadcast_to(node.typed(y), shape), axis)


def _from_start(place: Size, size: Size) -> Size:
    """Return a position along a dynamic dimension, counted from its start."""
    if isinstance(place, int):
        return larger(size + place, 0) if place < 0 else place
    if not never_negative(place):
        refuse(f"a position that may count from the end: {place}; fix its sizes with `shapes=`")
    return place


def _stored_from(node: TorchNode, x: Tensor, begin: Size, step: int, y: Tensor, axis: int) -> Operand:
    """Return a tensor with parts at every few positions along a dimension, as many as another tensor has."""
    places = op.add(op.multiply(numbers_below(node.shape(y)[axis]), step), Known(begin))
    others = [d for d in range(node.rank(x)) if d != axis]
    column = op.expand_dims(places, others) if others else places
    return op.scatter_elements(x, node.broadcast_to(column, node.shape(y)), y, axis)


def _stored(node: TorchNode, x: Tensor, places: np.ndarray[Any, Any], y: Operand, axis: int) -> Operand:
    """Return a tensor with other parts at known positions along a dimension."""
    size = node.shape(x)[axis]
    if len(places) == size and (places == np.arange(len(places))).all():
        return y
    if len(places) and (np.diff(places) == 1).all():
        before = op.strided_slice(x, [axis], [0], [int(places[0])])
        after = op.strided_slice(x, [axis], [int(places[-1]) + 1], [LAST])
        parts = [*([before] if places[0] else []), y, *([after] if places[-1] + 1 < size else [])]
        return op.concat(*parts, axis=axis)
    column = along(places, axis, node.rank(x))
    return op.scatter_elements(x, node.broadcast_to(Known(column), node.shape(y)), y, axis)


@imports("aten.select_scatter")
def select_scatter(node: TorchNode, x: Tensor, y: Tensor, axis: int, place: Size) -> Operand:
    """A tensor in which the part at a position along a dimension is another one."""
    axis = node.dimension(axis, x)
    shape = [*node.shape(x)]
    size = shape[axis]
    shape[axis] = 1
    new = node.broadcast_to(op.expand_dims(node.typed(y), axis), shape)
    if isinstance(size, IndexExpr) or isinstance(place, IndexExpr):
        return _stored_from(node, x, _from_start(place, size), 1, node.tensor(new), axis)
    return _stored(node, x, np.array([place % size]), new, axis)


def _expect_indices(node: TorchNode, x: Tensor, axis: int, indices: Tensor) -> None:
    """Check indices along a dimension, which must not count from the end."""
    size = node.shape(x)[node.dimension(axis, x)] if node.rank(x) else 1
    expect_in_range(node, indices, size, from_end=False)


def _expect_all(node: TorchNode, x: Tensor, indices: Sequence[Tensor], axes: Sequence[int]) -> None:
    """Check indices along several dimensions, which may count from the end, unless torch leaves them unchecked."""
    if not node.name.startswith("_unsafe"):
        for places, axis in zip(indices, axes, strict=False):
            expect_in_range(node, places, node.shape(x)[axis], from_end=True)


@imports("aten.index_select")
def index_select(node: TorchNode, x: Tensor, axis: int, indices: Tensor) -> Operand:
    """The parts at positions along a dimension."""
    axis = node.dimension(axis, x)
    _expect_indices(node, x, axis, indices)
    return op.take(x, indices, axis)


@imports("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(node: TorchNode, x: Tensor, indices: Sequence[Tensor | None]) -> Operand:
    """The elements at indices along some dimensions, as NumPy indexes."""
    given, order, first = _indexed(node, x, indices)
    if len(given) == 1 and given[0].element_type == i1:
        return compressed(node, x, given[0], first)
    given, order, first = _indexed(node, x, _without_masks(node, indices))
    _expect_all(node, x, given, order)
    if len(given) == 1:
        return op.take(x, from_front(node, node.tensor(given[0]), node.shape(x)[first]), first)
    taken = op.gather_nd(_permuted(x, order), _lists(node, given))
    return _permuted(taken, inverse(_to_start(first, len(_common_shape(node, given)), node.rank(taken))))


def _without_masks(node: TorchNode, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return indices with the positions at which it is true in place of each mask."""
    found: list[Tensor | None] = []
    for places in indices:
        if places is None or places.element_type != i1:
            found.append(places)
            continue
        rows = node.tensor(positions(node, places))
        found += [node.tensor(part_at(rows, 1, d)) for d in range(node.rank(places))]
    return found


def _indexed(
    node: TorchNode, x: Tensor, indices: Sequence[Tensor | None]
) -> tuple[Sequence[Tensor], tuple[int, ...], int]:
    """Return the indices that are given, and the dimensions of a tensor, those that they index first. The number
    is how many of the others come before the dimensions of the indices in what is chosen: adjacent ones stay in their
    place, and others are at the start."""
    axes = [axis for axis, places in enumerate(indices) if places is not None]
    others = [axis for axis in range(node.rank(x)) if axis not in axes]
    are_adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    return [places for places in indices if places is not None], (*axes, *others), axes[0] if are_adjacent else 0


def _to_start(first: int, count: int, rank: int) -> tuple[int, ...]:
    """Return the order in which `count` dimensions from `first` on come before all others."""
    return (*range(first, first + count), *range(first), *range(first + count, rank))


def _permuted(x: Operand, order: tuple[int, ...]) -> Operand:
    """Return a tensor with the dimensions of `x` in another order."""
    return x if [*order] == sorted(order) else op.permute_dims(x, [*order])


def _common_shape(node: TorchNode, tensors: Sequence[Tensor]) -> list[Size]:
    shape: Sequence[Size] = ()
    for x in tensors:
        shape = broadcast(shape, node.shape(x))
    return list(shape)


def _lists(node: TorchNode, indices: Sequence[Tensor]) -> Operand:
    """Return lists of indices, as the last dimension."""
    shape = _common_shape(node, indices)
    columns = [op.expand_dims(node.broadcast_to(node.typed(x, i64), shape), len(shape)) for x in indices]
    return op.concat(*columns, axis=len(shape))


@imports("aten.index_put", "aten._unsafe_index_put", "aten._index_put_impl")
def index_put(
    node: TorchNode,
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    *options: bool,
) -> Operand:
    """A tensor with other elements at indices along some dimensions, or where a mask is true."""
    given, order, first = _indexed(node, x, indices)
    if len(given) == 1 and given[0].element_type == i1 and not accumulate and not node.rank(values):
        mask = node.reshape(given[0], [*node.shape(given[0]), *([1] * (node.rank(x) - node.rank(given[0])))])
        return op.where(mask, node.typed(values), x)
    if any(places.element_type == i1 for places in given):
        given, order, first = _indexed(node, x, _without_masks(node, indices))
    if options != (True,):
        _expect_all(node, x, given, order)
    shape, common = node.shape(x), _common_shape(node, given)
    sizes = [shape[axis] for axis in order[len(given) :]]
    updates = node.broadcast_to(node.typed(values), [*sizes[:first], *common, *sizes[first:]])
    reduction = "add" if accumulate else "update"
    if order[len(given) - 1] == first + len(given) - 1:
        return op.scatter_nd(x, _lists(node, given), updates, reduction, first)
    # Indices along dimensions that are not adjacent come first in the updates.
    return _permuted(op.scatter_nd(_permuted(x, order), _lists(node, given), updates, reduction), inverse(order))


@imports("aten.gather")
def gather(node: TorchNode, x: Tensor, axis: int, indices: Tensor, *options: bool) -> Operand:
    """For each position, the element there with another index along one dimension."""
    if 0 in (sizes := node.shape(indices)):
        return node.full(sizes, 0, node.result_type)  # Such indices may have any rank.
    axis = node.dimension(axis, x)
    _expect_indices(node, x, axis, indices)
    return op.gather_elements(x, indices, axis)


REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


@imports("aten.scatter", "aten.scatter_add", "aten.scatter_reduce")
def scatter(
    node: TorchNode,
    x: Tensor,
    axis: int,
    indices: Tensor,
    updates: Value,
    reduce: str = "update",
    include_self: bool = True,
) -> Operand:
    """A tensor with other elements at positions along one dimension."""
    reduction = "add" if node.name == "scatter_add" else REDUCTIONS.get(reduce, reduce)
    new: Operand = node.typed(updates)
    if node.rank(new) != node.rank(indices):
        new = node.broadcast_to(new, node.shape(indices))
    sizes = [size_argument(size) for size in node.shape(indices)]
    if node.shape(new) != node.shape(indices):
        new = op.strided_slice(new, list(range(len(sizes))), [0] * len(sizes), sizes)
    axis = node.dimension(axis, x)
    _expect_indices(node, x, axis, indices)
    return _combined(
        node, x, new, reduction, include_self, lambda y, parts, how: op.scatter_elements(y, indices, parts, axis, how)
    )


Store = Callable[[Operand, Operand, str], Operand]
"""Stores updates in a tensor, by a reduction."""


def _combined(node: TorchNode, x: Tensor, new: Operand, reduction: str, include_self: bool, store: Store) -> Operand:
    """Return a tensor combined with updates by a reduction, without its own elements on request."""
    if not include_self:
        x = node.tensor(store(x, node.full(node.shape(new), _neutral(x, reduction), x.element_type), "update"))
    if reduction != "mean":
        return store(x, new, reduction)
    totals = node.tensor(store(x, new, "add"))
    ones, zeros = (node.full(node.shape(new), number, x.element_type) for number in (1, 0))
    numbers: Operand = node.full(node.shape(x), 1, x.element_type)
    if not include_self:
        numbers = store(numbers, zeros, "update")
    return (op.divide if node.is_float(x) else op.floor_divide)(totals, store(numbers, ones, "add"))


def _neutral(x: Tensor, reduction: str) -> float:
    """Return the number that changes none in a reduction."""
    if reduction not in ("max", "min"):
        return int(reduction == "mul")
    if x.dtype.kind in "fV":
        return -inf if reduction == "max" else inf
    if x.dtype.kind == "b":
        return int(reduction == "min")
    limits = np.iinfo(x.dtype)
    return int(limits.min if reduction == "max" else limits.max)


@imports("aten.index_add")
def index_add(node: TorchNode, x: Tensor, axis: int, indices: Tensor, updates: Tensor, alpha: float = 1) -> Operand:
    """A tensor with parts added at positions along a dimension."""
    _expect_indices(node, x, axis, indices)
    new: Operand = updates if alpha == 1 else op.multiply(updates, node.like(alpha, updates))
    return _with_parts(node, x, axis, indices, new, "add")


@imports("aten.index_reduce")
def index_reduce(
    node: TorchNode, x: Tensor, axis: int, indices: Tensor, updates: Tensor, reduce: str, include_self: bool = True
) -> Operand:
    """A tensor combined with parts at positions along a dimension."""
    _expect_indices(node, x, axis, indices)
    return _combined(
        node,
        x,
        updates,
        REDUCTIONS.get(reduce, reduce),
        include_self,
        lambda y, parts, how: _with_parts(node, node.tensor(y), axis, indices, node.tensor(parts), how),
    )


@imports("aten.index_copy")
def index_copy(node: TorchNode, x: Tensor, axis: int, indices: Tensor, updates: Tensor) -> Operand:
    """A tensor with other parts at positions along a dimension."""
    _expect_indices(node, x, axis, indices)
    return _with_parts(node, x, axis, indices, updates, "update")


@imports("aten.index_fill")
def index_fill(node: TorchNode, x: Tensor, axis: int, indices: Tensor, value: Value) -> Operand:
    """A tensor with a number at positions along a dimension, which may count from the end."""
    shape, axis = list(node.shape(x)) or [1], node.dimension(axis, x)
    expect_in_range(node, indices, shape[axis], from_end=True)
    places = from_front(node, indices, shape[axis])
    shape[axis] = count(node.shape(indices))
    return _with_parts(node, x, axis, places, node.broadcast_to(node.typed(value), shape), "update")


@imports("aten.put")
def put(node: TorchNode, x: Tensor, indices: Tensor, values: Tensor, accumulate: bool = False) -> Operand:
    """A tensor with other elements at positions in row-major order, which may count from the end."""
    size, total = count(node.shape(x)), count(node.shape(indices))
    expect_in_range(node, indices, size, from_end=True)
    flat, new = node.tensor(node.reshape(x, [size])), node.reshape(values, [total])
    stored = _with_parts(node, flat, 0, from_front(node, indices, size), new, "add" if accumulate else "update")
    return node.reshape(stored, node.shape(x))


def _with_parts(node: TorchNode, x: Tensor, axis: int, indices: Operand, parts: Operand, reduction: str) -> Operand:
    """Return a tensor with parts at positions along a dimension; a scalar is like a tensor of one element."""
    axis, shape = node.dimension(axis, x), node.shape(parts) or (1,)
    data, column = node.reshape(x, node.shape(x) or (1,)), node.reshape(indices, [shape[axis], 1])
    return node.reshape(op.scatter_nd(data, column, node.reshape(parts, shape), reduction, axis), node.shape(x))


@imports("aten.one_hot")
def one_hot(node: TorchNode, indices: Tensor, classes: int = -1) -> Operand:
    """1 at the position that each index gives, else 0."""
    if classes < 0:
        refuse("a number of classes that depends on data")
    expect_in_range(node, indices, classes, from_end=False)
    return op.astype(op.equal(op.expand_dims(indices, -1), Known(np.arange(classes))), i64)
