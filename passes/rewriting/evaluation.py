"""Evaluation of operators on constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import array_from_dense, dense_from_array, filled_dense, is_float_dtype, numpy_dtype
from relex.dialects.relex import ConstantOp, Elementwise, Exactness, Operator
from relex.dialects.relex.types import shape_of, tensor_type
from relex.dialects.shared_work import each_part

SLAB = 2**18
"""The approximate number of elements that elementwise operators compute at a time, to bound intermediate results."""


def evaluated(op: Operator, *, same_bits: bool) -> list[DenseIntOrFPElementsAttr] | None:
    """Return the results of an operator on constants, according to its NumPy semantics. None if they do not fit the
    result types, or if with `same_bits` compiled code could give other bits."""
    operands = [array_from_dense(value.owner.value) for value in op.operands if isinstance(value.owner, ConstantOp)]
    result = tensor_type(op.results[0].type)
    shape = result.get_shape()
    try:
        if not isinstance(op, Elementwise):
            return [dense_from_array(part) for part in _results(op, operands, same_bits=same_bits)]
        filled = filled_dense(
            result.element_type, shape, lambda elements: _fill(elements, op, operands, same_bits=same_bits)
        )
        return [filled]
    except _UnknownResult:
        return None


class _UnknownResult(Exception):
    """NumPy does not compute the result of the operator."""


def _fill(elements: Array, op: Elementwise, operands: Sequence[Array], *, same_bits: bool) -> None:
    """Compute an elementwise operator slab by slab."""
    whole = [np.broadcast_to(operand, elements.shape) for operand in operands]
    slabs = list(_slabs(elements.shape))

    def compute(some: slice) -> None:
        for slab in slabs[some]:
            parts = [operand[slab] for operand in whole]
            elements[slab] = _checked(op, op.evaluate(*parts), 0, elements[slab].shape, same_bits=same_bits)

    each_part(len(slabs), elements.nbytes, compute)


def _results(op: Operator, operands: Sequence[Array], *, same_bits: bool) -> Iterator[Array]:
    """Yield the results for arrays, checked against the result types."""
    for number, result in enumerate(op.evaluate_results(*operands)):
        shape = [known if size == DYNAMIC_INDEX else size for size, known in _sizes(op, number, result)]
        yield _checked(op, result, number, shape, same_bits=same_bits)


def _sizes(op: Operator, number: int, result: Array) -> Iterator[tuple[int, int]]:
    """Yield pairs of the sizes that a type states and those that were found."""
    shape = shape_of(op.results[number])
    if len(shape) != np.ndim(result):
        raise _UnknownResult
    yield from zip(shape, np.shape(result), strict=True)


def _checked(op: Operator, computed: Array, number: int, shape: Sequence[int], *, same_bits: bool) -> Array:
    """Return what was computed for a result, or for a part of it, if it has this shape and the type of the result."""
    result = np.asarray(computed)
    dtype = numpy_dtype(tensor_type(op.results[number].type).element_type)
    if result.shape != tuple(shape) or result.dtype != dtype:
        raise _UnknownResult
    if same_bits and op.EXACTNESS is not Exactness.BITS and is_float_dtype(dtype) and np.isnan(result).any():
        raise _UnknownResult
    return result


def _slabs(shape: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Yield slices that split an array of this shape along its longest dimension, into about `SLAB` elements each."""
    if not shape:
        yield ()
        return
    axis = max(range(len(shape)), key=shape.__getitem__)
    size = shape[axis]
    step = max(1, SLAB * size // max(1, prod(shape)))
    for start in range(0, size, step):
        yield (*[slice(None)] * axis, slice(start, start + step))
