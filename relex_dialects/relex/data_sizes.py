"""Operators whose result sizes depend on elements of their operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Exactness, Movement, Operand, Operator
from relex.dialects.relex.properties import IntegerConstr, as_integer
from relex.dialects.relex.types import SizedType, expect_element_type, normalize_axis, rank_of, shape_str
from relex.dialects.sizes import at_most, count
from relex.dialects.sizes.late import data_size
from relex.dialects.tir.op_pattern import OpPattern


@declared
class NonzeroOp(Operator, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE, counts=True):
    """
    The places of the elements that are not zero, in row-major order: a row for each, with its index in each dimension.
    NaN is not zero.

    ```mlir
    %y = relex.nonzero %x : (tensor<?x?xf32>) -> tensor<?x2xi64>
    ```
    """

    operand = tensor_operand_def()

    def __init__(self, operand: Operand):
        super().__init__(operand)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        if not operand.get_shape():
            raise InferenceError("expected a tensor of one dimension or more, found a scalar")
        return SizedType(i64, (data_size("rows"), len(operand.get_shape())))

    def evaluate(self, x: Array) -> Array:
        return np.stack(np.nonzero(x), -1).astype(np.int64)


@declared
class CompressOp(Movement, pattern=OpPattern.OPAQUE, counts=True):
    """
    The parts of the data along a dimension, by default all elements in row-major order, for which the condition holds.
    A condition that is shorter than the dimension holds for no further part.

    ```mlir
    %y = relex.compress %x, %c axis = 1 : (tensor<3x?xf32>, tensor<?xi1>) -> tensor<3x?xf32>
    %z = relex.compress %x, %d : (tensor<3x?xf32>, tensor<?xi1>) -> tensor<?xf32>
    ```
    """

    data = tensor_operand_def()
    condition = tensor_operand_def()
    axis = opt_prop_def(IntegerConstr)

    def __init__(self, data: Operand, condition: Operand, axis: int | None = None):
        super().__init__(data, condition, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, condition = operands
        expect_element_type(condition, (i1,), "a condition")
        shape, chosen = data.get_shape(), condition.get_shape()
        axis = _axis(properties, len(shape))
        available = count(shape) if axis is None else shape[axis]
        if len(chosen) != 1 or not at_most(chosen[0], available):
            raise InferenceError(
                f"expected a condition of rank 1 and at most {available} elements, found {shape_str(chosen)}"
            )
        kept = data_size("kept")
        return SizedType(data.element_type, (kept,) if axis is None else (*shape[:axis], kept, *shape[axis + 1 :]))

    @property
    def normal_axis(self) -> int | None:
        """The dimension, counted from the front; None if the data is taken as one row."""
        return _axis(self.properties, rank_of(self.data))

    def evaluate(self, x: Array, condition: Array) -> Array:
        return np.compress(condition, x, self.normal_axis)


def _axis(properties: Mapping[str, Attribute], rank: int) -> int | None:
    axis = properties.get("axis")
    return None if axis is None else normalize_axis(as_integer(axis), rank)
