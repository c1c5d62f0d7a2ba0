"""Operators along a dimension in which each element depends on those before it, or on all: sums, products, orders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import NUMBERS, tensor_operand_def
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import AlongAxis, Exactness, Operand, axis_of
from relex.dialects.relex.properties import IntegerConstr, integer
from relex.dialects.relex.types import SizedType, expect_element_type
from relex.dialects.tir.op_pattern import OpPattern


class Scan(AlongAxis, ABC, pattern=OpPattern.OPAQUE):
    """The combination of all elements up to each one, along a dimension."""

    operand = tensor_operand_def()
    axis = opt_prop_def(IntegerConstr)
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)

    START: ClassVar[float] = 0
    """The combination of no elements."""

    def __init__(self, operand: Operand, axis: int | None = None, exclusive: bool = False, reverse: bool = False):
        super().__init__(operand, properties={"axis": axis, "exclusive": exclusive, "reverse": reverse})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        expect_element_type(operand, NUMBERS, "operands")
        axis_of(properties, operand.get_shape())
        return operand

    @staticmethod
    @abstractmethod
    def scan(x: Array) -> Array:
        """Combine the elements along the last dimension, one after the other."""

    def evaluate(self, x: Array) -> Array:
        rows = np.moveaxis(x, self.normal_axis, -1)[..., :: 1 if self.reverse is None else -1]
        if self.exclusive is not None:
            start = np.full((*rows.shape[:-1], 1), self.START, x.dtype)
            rows = np.concatenate([start, rows], -1)[..., :-1]
        result = self.scan(rows)
        return np.moveaxis(result[..., :: 1 if self.reverse is None else -1], -1, self.normal_axis)


@declared
class CumsumOp(Scan):
    """
    The sum of all elements up to each one along a dimension, added one after the other; integers wrap around. Without
    `axis` the operand has one dimension. With `exclusive`, the element itself does not count; with `reverse`, the sums
    begin at the end.

    ```mlir
    %y = relex.cumsum %x axis = 1 exclusive : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    @staticmethod
    def scan(x: Array) -> Array:
        return np.cumsum(x, axis=-1, dtype=x.dtype)


@declared
class CumprodOp(Scan, start=1):
    """
    The product of all elements up to each one along a dimension, multiplied one after the other; integers wrap around.
    Without `axis` the operand has one dimension. With `exclusive`, the element itself does not count; with `reverse`,
    the products begin at the end.

    ```mlir
    %y = relex.cumprod %x axis = 1 reverse : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    @staticmethod
    def scan(x: Array) -> Array:
        return np.cumprod(x, axis=-1, dtype=x.dtype)


class Sorting(AlongAxis, ABC, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE):
    """An operator that sorts along a dimension, by default the last. Equal elements, among them zeros of either sign
    and NaN, keep their order. NaN counts as the largest number."""

    operand = tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(-1))
    descending = opt_prop_def(UnitAttr)

    def __init__(self, operand: Operand, axis: int = -1, descending: bool = False):
        super().__init__(operand, properties={"axis": axis, "descending": descending})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        axis_of(properties, operand.get_shape())
        return operand

    @property
    def descends(self) -> bool:
        """True if the largest element comes first."""
        return self.descending is not None

    def order(self, x: Array) -> Array:
        """Return the positions of the elements in order."""
        axis = self.normal_axis
        if not self.descends:
            return np.argsort(x, axis=axis, kind="stable").astype(np.int64)
        # From the back, equal elements come in the other order.
        backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        return (x.shape[axis] - 1 - np.flip(backwards, axis)).astype(np.int64)


@declared
class ArgsortOp(Sorting):
    """
    The positions of the elements along a dimension, by default the last, in ascending order of the elements, or in
    descending order. Equal elements, among them zeros of either sign and NaN, keep their order. NaN counts as the
    largest number.

    ```mlir
    %y = relex.argsort %x axis = 0 descending : (tensor<3x4xf32>) -> tensor<3x4xi64>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return SizedType(i64, super().infer(operands, properties).get_shape())

    def evaluate(self, x: Array) -> Array:
        return self.order(x)


@declared
class SortOp(Sorting):
    """
    The elements along a dimension, by default the last, in ascending or descending order. Equal elements, among them
    zeros of either sign and NaN, keep their order. NaN counts as the largest number.

    ```mlir
    %y = relex.sort %x descending : (tensor<3x4xf32>) -> tensor<3x4xf32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        return np.take_along_axis(x, self.order(x), self.normal_axis)
