"""Semantics of the graph level: values are NumPy arrays that are immutable once made."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.arrays import Array
from relex.dialects.dtypes import array_from_dense
from relex.dialects.errors import fail_assertion, stop
from relex.dialects.relex import AllocTensorOp, AssertOp, CallDpsPackedOp, CallTirOp, ConstantOp, MatchSizesOp, Operator
from relex.dialects.relex.types import SizedType, shape_str, tensor_type
from relex.dialects.sizes import gathering, names_in
from relex.dialects.upstream.reshapes import groups_of
from relex.reference.interpreter.library import library_call
from relex.reference.interpreter.memory import Buffer, dimension
from relex.reference.interpreter.program import STEPS, Binary, Preparation, Run, Unary, Values, guarded, shape_of
from relex.reference.interpreter.scalars import dtype_of


@STEPS.rule(Operator)
def interpret_operator(op: Operator, preparation: Preparation) -> Run:
    """Evaluate an operator and check the types of its results, and the sizes that the types of its operands leave
    open."""
    guarded_evaluate = guarded(op, op.evaluate_results)

    def evaluate(*arrays: Array) -> Array | tuple[Array, ...]:
        values = tuple(map(np.asarray, guarded_evaluate(*arrays)))
        for value, result in zip(values, op.results, strict=True):
            _check_fits(op, value, result.type)
        return values[0] if len(values) == 1 else values

    run = preparation.numbers.function(op, evaluate)
    if not any(DYNAMIC_INDEX in tensor_type(t).get_shape() for t in op.operand_types):
        return run
    check = _size_check(op)

    def run_checked(*arrays: Array) -> Any:
        check(*arrays)
        return run(*arrays)

    return run_checked


def _size_check(op: Operator) -> Callable[..., None]:
    """Return a function that stops at `op` unless it accepts arrays of these sizes: NumPy accepts more, since it
    broadcasts sizes of 1 that its inference takes for others."""
    types = [SizedType.of(tensor_type(t), f"operand{i}") for i, t in enumerate(op.operand_types)]
    with gathering() as requirements:
        op.infer_results(types, op.properties)
    infer = guarded(op, op.infer_results)

    def check(*arrays: Array) -> None:
        # A size of -1 follows from dynamic sizes also where there are no elements, which do not tell it.
        if all(array.size for array in arrays):
            infer([SizedType(t.element_type, a.shape) for t, a in zip(types, arrays, strict=True)], op.properties)
        found = {f"operand{i}_{d}": size for i, array in enumerate(arrays) for d, size in enumerate(array.shape)}
        for requirement in requirements:
            if not requirement.substitute(found).holds:
                used = dict.fromkeys([*names_in(requirement.lhs), *names_in(requirement.rhs)])
                stop(op, f"expected {requirement}, found {', '.join(f'{name} = {found[name]}' for name in used)}")

    return check


def _check_fits(op: Operation, value: Array, t: Attribute) -> None:
    """Stop at `op` unless an array has the type `t` of its result."""
    assert isa(t, TensorType)
    dtype, shape = dtype_of(op, t.element_type), t.get_shape()
    if value.dtype.names is None and value.dtype != dtype:
        stop(op, f"expected a result of {dtype.name}, found {value.dtype.name}")
    if len(shape) != value.ndim or any(a not in (b, DYNAMIC_INDEX) for a, b in zip(shape, value.shape, strict=True)):
        stop(op, f"expected a result of shape {shape_str(shape)}, found {shape_str(value.shape)}")


@STEPS.rule(ConstantOp)
def interpret_constant(op: ConstantOp, preparation: Preparation) -> None:
    """Preset the array of a constant."""
    element_type = op.value.get_element_type()
    array = array_from_dense(op.value).astype(dtype_of(op, element_type), copy=False)
    preparation.preset(op.result, preparation.numbers.constant(array, element_type))


@STEPS.rule(CallTirOp)
def interpret_call_tir(op: CallTirOp, preparation: Preparation) -> Run:
    """Call a loop function with new buffers for its results."""
    callee, allocate = preparation.program.resolve(op, op.callee), _allocation(op, preparation)
    count = len(op.arguments)

    def call(*operands: Any) -> Values:
        outputs = allocate(*operands[count:])
        callee(*map(Buffer.read_only, operands[:count]), *map(Buffer, outputs))
        return outputs

    return call


@STEPS.rule(CallDpsPackedOp)
def interpret_call_dps_packed(op: CallDpsPackedOp, preparation: Preparation) -> Run:
    """Call a library function with new arrays for its results."""
    function, allocate = library_call(op, op.callee.data, preparation), _allocation(op, preparation)
    count = len(op.arguments)

    def call(*operands: Any) -> Values:
        outputs = allocate(*operands[count:])
        function(operands[:count], outputs)
        return outputs

    return call


@STEPS.rule(MatchSizesOp)
def interpret_match_sizes(op: MatchSizesOp, preparation: Preparation) -> Unary:
    """Forward a tensor. Its sizes are checked with all others of the function."""
    return lambda array: array


@STEPS.rule(AssertOp)
def interpret_assert(op: AssertOp, preparation: Preparation) -> Run:
    """Stop the run unless the condition holds."""

    def run(condition: Array, *index: Array) -> None:
        if not condition[()]:
            fail_assertion(op, op.message.data, int(index[0][()]) if index else None)

    return run


@STEPS.rule(tensor.DimOp)
def interpret_dim(op: tensor.DimOp, preparation: Preparation) -> Binary:
    """Return the size of a dimension."""
    return lambda array, index: dimension(op, op.source, array, index)


@STEPS.rule(tensor.ExtractOp)
def interpret_extract(op: tensor.ExtractOp, preparation: Preparation) -> Run:
    """Return an element."""

    def extract(array: Array, *indices: Any) -> Any:
        for index, size in zip(indices, array.shape, strict=True):
            if not 0 <= index < size:
                fail_assertion(op, f"expected an index from 0 to {size - 1}", int(index))
        return array[indices]

    return extract


@STEPS.rule(tensor.InsertSliceOp)
def interpret_insert_slice(op: tensor.InsertSliceOp, preparation: Preparation) -> Run:
    """Return a tensor with another one in place of a part of it."""
    known = [[*of_one.get_values()] for of_one in (op.static_offsets, op.static_sizes, op.static_strides)]

    def insert(source: Array, dest: Array, *given: Any) -> Array:
        numbers = iter(map(int, given))
        parts = [[next(numbers) if n == DYNAMIC_INDEX else n for n in of_one] for of_one in known]
        places: list[slice] = []
        for offset, size, stride, dim in zip(*parts, dest.shape, strict=True):
            if offset < 0 or size < 0 or offset + size > dim:
                fail_assertion(op, "expected a part that fits in the tensor", None)
            places.append(slice(offset, offset + size * stride, stride))
        result = dest.copy()
        result[tuple(places)] = source.reshape(parts[1])
        return result

    return insert


@STEPS.rule(tensor.FromElementsOp)
def interpret_from_elements(op: tensor.FromElementsOp, preparation: Preparation) -> Run:
    """Return a tensor of numbers."""
    t = op.result.type
    assert isa(t, TensorType)
    dtype = dtype_of(op, t.element_type)
    return lambda *elements: np.array(elements, dtype).reshape(t.get_shape())


@STEPS.rule(tensor.CastOp)
def interpret_cast(op: tensor.CastOp, preparation: Preparation) -> Run:
    """Forward a tensor after checking it against the type of the result."""

    def cast(array: Array) -> Array:
        _check_fits(op, array, op.dest.type)
        return array

    return cast


@STEPS.rule(tensor.CollapseShapeOp)
def interpret_collapse_shape(op: tensor.CollapseShapeOp, preparation: Preparation) -> Unary:
    """Collapse groups of dimensions of a tensor to one each."""
    groups = groups_of(op)
    return lambda array: array.reshape([prod(array.shape[d] for d in group) for group in groups])


@STEPS.rule(tensor.ExpandShapeOp)
def interpret_expand_shape(op: tensor.ExpandShapeOp, preparation: Preparation) -> Run:
    """Expand dimensions of a tensor to groups of the sizes that the type or the operands give."""
    groups, t = groups_of(op), op.result.type
    assert isa(t, TensorType)

    def expand(array: Array, *sizes: Any) -> Array:
        shape = shape_of(op, t, iter(sizes))
        for size, group in zip(array.shape, groups, strict=True):
            if prod(parts := [shape[d] for d in group]) != size:
                stop(op, f"expected sizes of {size} elements together, found {parts}")
        return array.reshape(shape)

    return expand


def _allocation(op: Operation, preparation: Preparation) -> Callable[..., tuple[Array, ...]]:
    """Allocate the results of an op, tensors of unspecified contents, given the sizes that their types leave open."""
    numbers, types = preparation.numbers, [t for t in op.result_types if isa(t, TensorType)]
    dtypes: list[Any] = [dtype_of(op, t.element_type) for t in types]

    def allocate(*sizes: Any) -> tuple[Array, ...]:
        given = iter(sizes)
        shapes = [shape_of(op, t, given) for t in types]
        made = zip(shapes, dtypes, types, strict=True)
        return tuple(numbers.fresh_array(shape, dtype, t.element_type) for shape, dtype, t in made)

    return allocate


STEPS.add(_allocation, AllocTensorOp)
