"""The order of the parts of a tensor along a dimension."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i8, i64

from relex.frontend import op
from relex.frontend.compositions.indexing import LAST, numbers_below
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, Tensor, refuse


def ranks_of_parts(site: ImportedNode, x: Tensor, axis: int) -> Operand:
    """Return a number for each part along a dimension, smaller for parts that come first in order. Columns of numbers
    are joined in pairs until one is left."""
    shape = site.shape(x)
    rest = [size for d, size in enumerate(shape) if d != axis]
    if any(not isinstance(size, int) for size in rest):
        refuse(f"different parts of {' x '.join(map(str, rest))} elements; fix the sizes with `shapes=`")
    width = prod(size for size in rest if isinstance(size, int))
    length = shape[axis]
    moved = op.permute_dims(x, [axis, *(d for d in range(len(shape)) if d != axis)])
    columns = site.tensor(site.reshape(moved, [length, width]))
    if columns.dtype.kind == "b":
        columns = site.tensor(op.astype(columns, i8))
    numbers = site.tensor(_ranks_in_columns(site, columns))
    while width > 1:
        paired = site.tensor(op.strided_slice(numbers, [1], [0], [width // 2 * 2]))
        major, minor = (op.strided_slice(paired, [1], [i], [LAST], [2]) for i in (0, 1))
        joined = site.tensor(op.add(op.multiply(major, Known(length)), minor))
        found = _ranks_in_columns(site, joined)
        if width % 2:
            found = op.concat(found, op.strided_slice(numbers, [1], [width - 1], [width]), axis=1)
        numbers, width = site.tensor(found), -(-width // 2)
    return site.reshape(numbers, [length]) if width else numbers_below(length)


def _ranks_in_columns(site: ImportedNode, x: Tensor) -> Operand:
    """Return for each element how many different ones of its column are smaller."""
    length, _ = site.shape(x)
    order = site.tensor(op.argsort(x, 0, False))
    ordered = site.tensor(op.gather_elements(x, order, 0))
    numbers = site.tensor(numbers_below(length))
    differs = op.not_equal(ordered, op.take(ordered, op.maximum(op.subtract(numbers, 1), 0), 0))
    differs = op.logical_and(differs, op.expand_dims(op.greater(numbers, 0), 1))
    ranks = op.cumsum(op.astype(differs, i64), 0)
    return op.scatter_elements(site.full(site.shape(x), 0, i64), order, ranks, 0)
