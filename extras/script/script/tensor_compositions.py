"""TVM's operators that create, order and move elements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i32, i64
from xdsl.ir import Attribute

from relex.dialects.dtypes import FLOATS, numpy_dtype
from relex.dialects.relex import BroadcastToOp, IotaOp, RepeatOp, ReshapeOp, StridedSliceOp
from relex.frontend import op
from relex.frontend.graph_expressions import Operand, call_operator, const
from relex.frontend.script.compositions import (
    DType,
    Given,
    Result,
    ResultOf,
    Shape,
    as_type,
    composed,
    expect_integers,
    read_composition,
)
from relex.frontend.script.graph_calls import CALLS, Value

if TYPE_CHECKING:
    from relex.frontend.script.graph_expressions import GraphExpressions

LAST = 2**63 - 1
"""The end of every dimension."""


def reshaped(x: Operand, sizes: Sequence[int | str]) -> Operand:
    """Return a tensor in another shape, whose texts are expressions of the sizes of `x`."""
    texts = [size for size in sizes if isinstance(size, str)]
    shape = [-1 if isinstance(size, str) else size for size in sizes]
    return call_operator(ReshapeOp, x, shape=shape, **({"sizes": texts} if texts else {}))


def _filled(shape: Shape, value: Operand) -> Operand:
    return op.broadcast_to(value, shape=shape)


def _like(x: Given, value: Operand) -> Operand:
    """Return a tensor of one value, as large as another."""
    texts = [f"like0_d{d}" for d, size in enumerate(x.shape) if size == DYNAMIC_INDEX]
    dynamic: dict[str, Any] = {"sizes": texts, "like": [x.value]} if texts else {}
    shape = [-1 if size == DYNAMIC_INDEX else size for size in x.shape]
    return call_operator(BroadcastToOp, value, shape=shape, **dynamic)


def number(value: float, dtype: Attribute) -> Operand:
    """Return a constant of an element type."""
    return const(np.array(value, numpy_dtype(dtype)))


@composed("R.zeros")
def zeros(shape: Shape, dtype: DType = f32) -> Result:
    return _filled(shape, number(0, dtype))


@composed("R.ones")
def ones(shape: Shape, dtype: DType = f32) -> Result:
    return _filled(shape, number(1, dtype))


@composed("R.full")
def full(shape: Shape, fill_value: Given, dtype: DType | None = None) -> Result:
    return _filled(shape, as_type(fill_value, dtype, fill_value.element_type))


@composed("R.zeros_like")
def zeros_like(x: Given, dtype: DType | None = None) -> Result:
    return _like(x, number(0, dtype or x.element_type))


@composed("R.ones_like")
def ones_like(x: Given, dtype: DType | None = None) -> Result:
    return _like(x, number(1, dtype or x.element_type))


@composed("R.full_like")
def full_like(x: Given, fill_value: Given, dtype: DType | None = None) -> Result:
    return _like(x, as_type(fill_value, dtype or x.element_type, fill_value.element_type))


@composed("R.eye")
def eye(n: int, m: int | None = None, k: int = 0, dtype: DType = f32) -> Result:
    return const(np.eye(n, m, k).astype(numpy_dtype(dtype)))


@composed("R.eye_like")
def eye_like(x: Given, k: int = 0, dtype: DType | None = None) -> Result:
    return eye(x.size(0), x.size(1), k, dtype or x.element_type)


@composed("R.arange")
def arange(start: Given, end: Given | None = None, step: Given | None = None, dtype: DType | None = None) -> Result:
    first, end = (None, start) if end is None else (start, end)
    parts = [part for part in (first, end, step) if part is not None]
    floats = [part for part in parts if part.element_type in FLOATS]
    # Whole numbers count in 64 bits, others in the type of the result.
    kind = (dtype if dtype in FLOATS else f32) if floats else i64
    numbers = [
        number(default, kind) if part is None else as_type(part, kind, part.element_type)
        for part, default in ((first, 0), (end, 0), (step, 1))
    ]
    return as_type(op.arange(*numbers), dtype or kind, kind)


# Order.


@composed("R.argsort")
def argsort(data: Given, axis: int = -1, descending: bool = False, dtype: DType = i32) -> Result:
    return as_type(op.argsort(data, axis, descending), dtype, i64)


@composed("R.topk")
def topk(
    data: Given, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: DType = i32
) -> Result:
    axis = data.axis(axis)
    if 0 <= data.shape[axis] < k:
        raise ValueError(f"expected k of at most {data.shape[axis]}, found {k}")
    places: Operand = op.argsort(data, axis, largest)
    if k > 0:
        places = op.strided_slice(places, [axis], [0], [k])
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"expected ret_type to be both, values or indices, found '{ret_type}'")
    values, indices = op.gather_elements(data, places, axis), as_type(places, dtype, i64)
    return {"both": (values, indices), "values": values, "indices": indices}[ret_type]


@composed("R.unique")
def unique(
    x: Given,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Result:
    if axis is not None and x.rank != 1:
        raise ValueError(f"expected no axis for a tensor of rank {x.rank}")
    found = op.unique(x if x.rank == 1 else op.reshape(x, [-1]))
    wanted = [True, return_index, return_inverse, return_counts]
    parts = [ResultOf(found, i) for i, is_wanted in enumerate(wanted) if is_wanted]
    return parts if len(parts) > 1 else parts[0]


def _running(function: Any, data: Given, axis: int | None, dtype: Attribute | None, **options: bool) -> Result:
    x = as_type(data, dtype, data.element_type)
    return function(op.reshape(x, [-1]) if axis is None and data.rank != 1 else x, axis=axis, **options)


@composed("R.cumsum")
def cumsum(
    data: Given, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False, reverse: bool = False
) -> Result:
    return _running(op.cumsum, data, axis, dtype, exclusive=exclusive, reverse=reverse)


@composed("R.cumprod")
def cumprod(
    data: Given, axis: int | None = None, dtype: DType | None = None, exclusive: bool = False, reverse: bool = False
) -> Result:
    return _running(op.cumprod, data, axis, dtype, exclusive=exclusive, reverse=reverse)


# Moves.


@composed("R.split")
def split(x: Given, indices_or_sections: int | Sequence[int], axis: int = 0) -> Result:
    axis = x.axis(axis)
    if isinstance(indices_or_sections, int):
        return _sections(x, indices_or_sections, axis)
    places = [0, *indices_or_sections, LAST]
    return [op.strided_slice(x, [axis], [begin], [end]) for begin, end in pairwise(places)]


def _sections(x: Given, count: int, axis: int) -> Result:
    """Return parts of equal lengths, of which the last ones may be shorter."""
    if count < 1:
        raise ValueError(f"expected one section or more, found {count}")
    if x.shape[axis] != DYNAMIC_INDEX:
        length = ceil(x.shape[axis] / count)
        return [op.strided_slice(x, [axis], [i * length], [(i + 1) * length]) for i in range(count)]
    texts = [f"min({i} * ((d{axis} + {count - 1}) // {count}), d{axis})" for i in range(count + 1)]
    return [
        call_operator(StridedSliceOp, x, axes=[axis], begin=[0], end=[0], begin_sizes=[begin], end_sizes=[end])
        for begin, end in pairwise(texts)
    ]


@composed("R.stack")
def stack(tensors: Sequence[Given], axis: int = 0) -> Result:
    axis = axis % (tensors[0].rank + 1)
    return op.concat(*(op.expand_dims(tensor, axis) for tensor in tensors), axis=axis)


@composed("R.tile")
def tile(data: Given, repeats: int | Sequence[int]) -> Result:
    times = [repeats] if isinstance(repeats, int) else [*repeats]
    times = [1] * (data.rank - len(times)) + times
    x: Operand = reshaped(data, [*[1] * (len(times) - data.rank), *data.sizes()])
    for axis, count in enumerate(times):
        if count < 0:
            raise ValueError(f"expected numbers of 0 or more to repeat by, found {count}")
        x = op.concat(*[x] * count, axis=axis) if count else op.strided_slice(x, [axis], [0], [0])
    return x


def repeated(data: Given, repeats: int, axis: int | None = None) -> Result:
    """Return each element several times, one after another: along a dimension, or in one row."""
    if repeats < 1:
        raise ValueError(f"expected a number of 1 or more to repeat by, found {repeats}")
    sizes = data.sizes()
    if axis is None:
        rows = op.expand_dims(op.reshape(data, [-1]), 1)
        return op.reshape(op.concat(*[rows] * repeats, axis=1), [-1])
    axis = data.axis(axis)
    copies = op.concat(*[op.expand_dims(data, axis + 1)] * repeats, axis=axis + 1)
    new = [f"d{d + (d > axis)}" if isinstance(size, str) else size for d, size in enumerate(sizes)]
    size = sizes[axis]
    new[axis] = f"d{axis} * {repeats}" if isinstance(size, str) else size * repeats
    return reshaped(copies, new)


def _repeat(graph: GraphExpressions, node: ast.Call) -> Value:
    """Read `R.repeat`, which takes a number in TVM; a tensor has a number for each part."""
    second = node.args[1] if len(node.args) > 1 else None
    if second is None or graph.scope.unit.constants.is_constant(second):
        return read_composition(graph, node, "R.repeat", repeated)
    return graph.apply(node, "R.repeat", RepeatOp).results[0]


CALLS.rule("R.repeat")(_repeat)


@composed("R.flip")
def flip(data: Given, axis: int) -> Result:
    return op.strided_slice(data, [data.axis(axis)], [-1], [-LAST], [-1])


@composed("R.flatten")
def flatten(x: Given) -> Result:
    return op.reshape(x, [-1])


@composed("R.nn.batch_flatten")
def batch_flatten(data: Given) -> Result:
    first, *rest = data.sizes()
    is_dynamic = DYNAMIC_INDEX in data.shape[1:]
    return reshaped(data, [first, " * ".join(map(str, rest)) if is_dynamic else prod(data.shape[1:])])


@composed("R.meshgrid")
def meshgrid(tensors: Sequence[Given], indexing: str = "ij") -> Result:
    if indexing != "ij":
        raise ValueError(f"expected indexing to be 'ij', found '{indexing}'")
    sizes = [tensor.size(0) if tensor.rank else 1 for tensor in tensors]
    return [
        op.broadcast_to(op.reshape(tensor, [-1 if d == i else 1 for d in range(len(sizes))]), sizes)
        for i, tensor in enumerate(tensors)
    ]


@composed("R.one_hot")
def one_hot(indices: Given, on_value: Given, off_value: Given, depth: int, axis: int = -1) -> Result:
    expect_integers(indices)
    axis = axis % (indices.rank + 1)
    classes = np.arange(depth).reshape([-1 if d == axis else 1 for d in range(indices.rank + 1)])
    # Small integers may not count as far as there are classes.
    places = op.expand_dims(as_type(indices, i64, indices.element_type), axis)
    return op.where(op.equal(places, const(classes)), on_value, off_value)


def _places(x: Given, axis: int) -> Operand:
    """Return the numbers of the places along a dimension."""
    if x.shape[axis] != DYNAMIC_INDEX:
        return op.iota(shape=[x.shape[axis]], dtype=i64)
    return call_operator(IotaOp, x, shape=[-1], dtype=i64, sizes=[f"like0_d{axis}"])


def _triangle(x: Given, k: int, is_lower: bool) -> Result:
    rows, columns = op.expand_dims(_places(x, x.rank - 2), 1), op.expand_dims(_places(x, x.rank - 1), 0)
    kept = (op.less_equal if is_lower else op.greater_equal)(columns, op.add(rows, k))
    return op.where(kept, x, 0)


@composed("R.tril")
def tril(x: Given, k: int = 0) -> Result:
    return _triangle(x, k, is_lower=True)


@composed("R.triu")
def triu(x: Given, k: int = 0) -> Result:
    return _triangle(x, k, is_lower=False)


@composed("R.take")
def take(x: Given, indices: Given, axis: int | None = None, mode: str = "fast") -> Result:
    """Positions out of range, which TVM does not define for `fast`, are clipped."""
    if mode not in ("fast", "clip", "wrap"):
        raise ValueError(f"expected mode to be fast, clip or wrap, found '{mode}'")
    places: Operand = op.floor_mod(indices, x.size(0 if axis is None else x.axis(axis))) if mode == "wrap" else indices
    return op.take(x, places, axis)


@composed("R.collapse_sum_to")
def collapse_sum_to(data: Given, shape: Sequence[int]) -> Result:
    added = data.rank - len(shape)
    axes = [d for d in range(data.rank) if d < added or (shape[d - added] == 1 and data.shape[d] != 1)]
    return op.reshape(op.sum(data, axes), list(shape)) if axes else data


@composed("R.collapse_sum_like")
def collapse_sum_like(data: Given, collapse_target: Given) -> Result:
    return collapse_sum_to(data, [collapse_target.size(d) for d in range(collapse_target.rank)])
