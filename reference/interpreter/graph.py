"""Semantics of the graph level: values are NumPy arrays that are immutable once made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.dtypes import array_from_dense
from relex.dialects.errors import stop
from relex.dialects.relex import (
    AllocTensorOp,
    CallDpsPackedOp,
    CallOp,
    CallTirOp,
    ConstantOp,
    DataflowOp,
    Operator,
)
from relex.dialects.relex.types import shape_str
from relex.reference.interpreter.control import call_step, set_values
from relex.reference.interpreter.library import library_call
from relex.reference.interpreter.memory import Buffer, check_size, dimension
from relex.reference.interpreter.program import MONITOR, STEPS, Frame, Preparation, Step, guarded, shape_of
from relex.reference.interpreter.scalars import dtype_of

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


@STEPS.rule(Operator)
def interpret_operator(op: Operator, preparation: Preparation) -> Step:
    """Evaluate an operator and check the type of its result."""
    operands, result = preparation.slots(op.operands), preparation.slot(op.results[0])
    guarded_evaluate = guarded(op, op.evaluate)

    def evaluate(*arrays: Array) -> Array:
        value = np.asarray(guarded_evaluate(*arrays))
        _check_fits(op, value, op.results[0].type)
        return value

    function = preparation.numbers.function(op, evaluate)

    def step(frame: Frame) -> None:
        frame[result] = function(*[frame[slot] for slot in operands])

    return step


def _check_fits(op: Operation, value: Array, t: Attribute) -> None:
    """Stop at `op` unless an array has the type `t` of its result."""
    assert isa(t, TensorType)
    dtype, shape = dtype_of(op, t.element_type), t.get_shape()
    if value.dtype != dtype:
        stop(op, f"expected a result of {dtype.name}, found {value.dtype.name}")
    if len(shape) != value.ndim or any(a not in (b, DYNAMIC_INDEX) for a, b in zip(shape, value.shape, strict=True)):
        stop(op, f"expected a result of shape {shape_str(shape)}, found {shape_str(value.shape)}")


@STEPS.rule(ConstantOp)
def interpret_constant(op: ConstantOp, preparation: Preparation) -> None:
    """Preset the array of a constant."""
    element_type = op.value.get_element_type()
    array = array_from_dense(op.value).astype(dtype_of(op, element_type), copy=False)
    preparation.preset(op.result, preparation.numbers.constant(array, element_type))


@STEPS.rule(DataflowOp)
def interpret_dataflow(op: DataflowOp, preparation: Preparation) -> Step:
    """Run the body of a dataflow region and take over its results."""
    body, results = preparation.body(op.body.block), preparation.slots(op.results)
    return lambda frame: set_values(frame, results, body.run(frame))


@STEPS.rule(CallOp)
def interpret_call(op: CallOp, preparation: Preparation) -> Step:
    """Call a graph function."""
    return call_step(op, preparation.program.resolve(op, op.callee), op.arguments, preparation)


@STEPS.rule(CallTirOp)
def interpret_call_tir(op: CallTirOp, preparation: Preparation) -> Step:
    """Call a loop function with new buffers for its results."""
    callee = preparation.program.resolve(op, op.callee)
    operands, results = preparation.slots(op.arguments), preparation.slots(op.results)
    allocate = _Allocation(op, op.sizes, preparation)

    def step(frame: Frame) -> None:
        outputs = allocate(frame)
        inputs = [Buffer.read_only(frame[slot]) for slot in operands]
        callee(frame[MONITOR], *inputs, *map(Buffer, outputs))
        set_values(frame, results, outputs)

    return step


@STEPS.rule(CallDpsPackedOp)
def interpret_call_dps_packed(op: CallDpsPackedOp, preparation: Preparation) -> Step:
    """Call a library function with new arrays for its results."""
    operands, results = preparation.slots(op.arguments), preparation.slots(op.results)
    allocate, call = _Allocation(op, op.sizes, preparation), library_call(op, op.callee.data, preparation)

    def step(frame: Frame) -> None:
        outputs = allocate(frame)
        call([frame[slot] for slot in operands], outputs)
        set_values(frame, results, outputs)

    return step


@STEPS.rule(AllocTensorOp)
def interpret_alloc_tensor(op: AllocTensorOp, preparation: Preparation) -> Step:
    """Allocate a tensor of unspecified contents."""
    result, allocate = preparation.slot(op.result), _Allocation(op, op.sizes, preparation)

    def step(frame: Frame) -> None:
        (frame[result],) = allocate(frame)

    return step


@STEPS.rule(tensor.DimOp)
def interpret_dim(op: tensor.DimOp, preparation: Preparation) -> Step:
    """Return the size of a dimension."""
    source, index, result = preparation.slot(op.source), preparation.slot(op.index), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        frame[result] = dimension(op, op.source, frame[source], frame[index])

    return step


@STEPS.rule(tensor.CastOp)
def interpret_cast(op: tensor.CastOp, preparation: Preparation) -> Step:
    """Forward a tensor after checking it against the type of the result."""
    source, result = preparation.slot(op.source), preparation.slot(op.dest)

    def step(frame: Frame) -> None:
        _check_fits(op, frame[source], op.dest.type)
        frame[result] = frame[source]

    return step


class _Allocation:
    """Allocates the results of an op that fills them."""

    def __init__(self, op: Operation, sizes: Sequence[SSAValue], preparation: Preparation):
        self._op = op
        self._sizes = preparation.slots(sizes)
        self._numbers = preparation.numbers
        self._types = [t for t in op.result_types if isa(t, TensorType)]
        self._dtypes: list[Any] = [dtype_of(op, t.element_type) for t in self._types]

    def __call__(self, frame: Frame) -> list[Array]:
        sizes = iter([frame[slot] for slot in self._sizes])
        arrays: list[Array] = []
        for t, dtype in zip(self._types, self._dtypes, strict=True):
            count = list(t.get_shape()).count(DYNAMIC_INDEX)
            shape = shape_of(t, [next(sizes) for _ in range(count)])
            check_size(self._op, shape)
            arrays.append(self._numbers.fresh_array(shape, dtype, t.element_type))
        return arrays
