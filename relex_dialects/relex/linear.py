"""Matrix products."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_emulated, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex import types
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Operand, Operator, tensor_type
from relex.dialects.tir.op_pattern import OpPattern


@declared
class DenseOp(Operator):
    """
    A dense layer without bias: data `[..., K]` times the transpose of a weight `[N, K]` yields `[..., N]`.

    ```mlir
    %y = relex.dense %x, %w : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
    ```
    """

    data = tensor_operand_def()
    weight = tensor_operand_def()

    if TYPE_CHECKING:

        def __init__(self, data: Operand, weight: Operand): ...

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        element_type = types.same_element_type(*operands)
        data, weight = (t.get_shape() for t in operands)
        if not data:
            raise InferenceError("expected data of rank 1 or more, found a scalar")
        if len(weight) != 2:
            raise InferenceError(f"expected a weight of rank 2, NxK, found {types.shape_str(weight)}")
        types.expect_equal(data[-1], weight[1], "last sizes of data and weight")
        return types.SizedType(element_type, (*data[:-1], weight[0]))

    @property
    def pattern(self) -> OpPattern:
        return _multiplying(self, types.shape_of(self.data)[:-1], types.shape_of(self.weight)[:1])

    @property
    def terms(self) -> int:
        return self.data.type.get_shape()[-1]

    def evaluate(self, data: Array, weight: Array) -> Array:
        return data @ weight.T


def _multiplying(op: Operator, *free: types.Shape) -> OpPattern:
    """Return the pattern of a product, given the sizes of each operand that are not summed over: a reduction, if every
    element is used once."""
    count = len(types.long_sizes(types.shape_of(op.result)))
    is_used_again = any(len(types.long_sizes(sizes)) < count for sizes in free)
    # Floats without arithmetic are rounded after the sum, in another step.
    if is_used_again or is_emulated(tensor_type(op.result.type).element_type):
        return OpPattern.OUT_ELEMENTWISE_FUSABLE
    return OpPattern.REDUCTION


class MatrixProduct(Operator, ABC):
    """A matrix product, as NumPy's `@`."""

    lhs = tensor_operand_def()
    rhs = tensor_operand_def()

    if TYPE_CHECKING:

        def __init__(self, lhs: Operand, rhs: Operand): ...

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        element_type = types.same_element_type(*operands)
        lhs, rhs = (t.get_shape() for t in operands)
        if not lhs or not rhs:
            raise InferenceError("expected operands of rank 1 or more, found a scalar")
        types.expect_equal(lhs[-1], rhs[max(len(rhs) - 2, 0)], "sizes of the summed dimension")
        rows, columns = lhs[-2:-1], rhs[-1:] if len(rhs) > 1 else ()
        return types.SizedType(element_type, (*types.broadcast(lhs[:-2], rhs[:-2]), *rows, *columns))

    @property
    def pattern(self) -> OpPattern:
        lhs, rhs = map(types.shape_of, self.operands)
        return _multiplying(self, lhs[:-1], (*rhs[:-2], *rhs[1:][-1:]))

    @property
    def terms(self) -> int:
        return self.lhs.type.get_shape()[-1]


@declared
class MatmulOp(MatrixProduct):
    """
    The matrix product, as NumPy's `@`: the last two dimensions are multiplied, the leading ones broadcast, and an
    operand of rank 1 is a row on the left and a column on the right.

    ```mlir
    %c = relex.matmul %a, %b : (tensor<8x3x4xf32>, tensor<4x5xf32>) -> tensor<8x3x5xf32>
    ```
    """

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return lhs @ rhs
