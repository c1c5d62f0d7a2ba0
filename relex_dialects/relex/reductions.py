"""Reductions along some dimensions, or all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import ELEMENT_TYPES, FLOATS, NUMBERS, is_emulated, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.extremes import largest, smallest
from relex.dialects.relex.operator import Exactness, Operand, Operator, tensor_type
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integers, as_list
from relex.dialects.relex.types import Shape, SizedType, SizeT, expect_element_type, normalize_axes, rank_of, shape_str
from relex.dialects.sizes import Size, at_most, count
from relex.dialects.tir.op_pattern import OpPattern


class OverAxes(Operator, ABC, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """An operator on the elements along some dimensions, `axis`, by default all. With `keepdims` they remain, with
    size 1."""

    operand = tensor_operand_def()

    @property
    def axes(self) -> Shape:
        """The dimensions, counted from the front, in order."""
        return _axes(self.properties, rank_of(self.operand))

    @property
    def pattern(self) -> OpPattern | None:
        if not self.axes:
            return OpPattern.ELEMENTWISE
        # Floats without arithmetic are rounded after the reduction, in another step.
        is_rounded = is_emulated(tensor_type(self.operand.type).element_type)
        return OpPattern.OUT_ELEMENTWISE_FUSABLE if is_rounded else super().pattern

    @property
    def keeps(self) -> bool:
        """True if the dimensions remain, with size 1."""
        return "keepdims" in self.properties


class Reduction(OverAxes, ABC):
    """
    A reduction over the dimensions `axis`, by default all; negative ones count from the back. With `keepdims` they
    remain, with size 1.
    """

    axis = opt_prop_def(IntegersConstr)
    keepdims = opt_prop_def(UnitAttr)

    ALLOWED: ClassVar[tuple[Attribute, ...]] = ELEMENT_TYPES
    """The element types that the operand may have."""
    OVER_NONE: ClassVar[bool] = True
    """True if the reduction of no elements has a result."""

    def __init__(self, operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False):
        super().__init__(operand, properties={"axis": as_list(axis), "keepdims": keepdims})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        element_type = expect_element_type(operand, cls.ALLOWED, "operands")
        shape = operand.get_shape()
        result = reduced_shape(shape, _axes(properties, len(shape)), "keepdims" in properties)
        if not cls.OVER_NONE:
            expect_elements(shape, result)
        return SizedType(element_type, result)


def _axes(properties: Mapping[str, Attribute], rank: int) -> Shape:
    if (axis := properties.get("axis")) is None:
        return tuple(range(rank))
    return tuple(sorted(normalize_axes(as_integers(axis), rank)))


def expect_elements(shape: Sequence[Size], result: Sequence[Size]) -> None:
    """Check that no element of the result is a reduction of no elements."""
    if not at_most(count(result), count(shape)):
        raise InferenceError(f"expected elements to choose from, found none in {shape_str(shape)}")


def reduced_shape(shape: Sequence[SizeT], axes: Sequence[int], keepdims: bool) -> tuple[SizeT | int, ...]:
    """Return a shape after a reduction over `axes`."""
    if keepdims:
        return tuple(1 if d in axes else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in axes)


@declared
class SumOp(Reduction, allowed=NUMBERS, pattern=OpPattern.REDUCTION):
    """
    The sum, in the element type: integers wrap around (NumPy widens them to 64 bits). The order of the additions is
    unspecified. Not defined on i1; convert with `relex.astype` first.

    ```mlir
    %y = relex.sum %x axis = [1] keepdims : (tensor<3x4xf32>) -> tensor<3x1xf32>
    %z = relex.sum %x : (tensor<3x4xf32>) -> tensor<f32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        return np.sum(x, axis=self.axes, dtype=x.dtype, keepdims=self.keeps)


@declared
class ProdOp(Reduction, allowed=NUMBERS, pattern=OpPattern.REDUCTION):
    """
    The product, in the element type: integers wrap around. The product of no elements is 1. Not defined on i1.

    ```mlir
    %y = relex.prod %x axis = [1] keepdims : (tensor<3x4xf32>) -> tensor<3x1xf32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        return np.prod(x, axis=self.axes, dtype=x.dtype, keepdims=self.keeps)


@declared
class MeanOp(Reduction, allowed=FLOATS):
    """
    The sum divided by the number of elements; NaN for none. Integers are rejected: NumPy's result is a float.

    ```mlir
    %y = relex.mean %x axis = [-1] : (tensor<3x4xf32>) -> tensor<3xf32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        count = prod(x.shape[axis] for axis in self.axes)
        total = np.sum(x, axis=self.axes, dtype=np.promote_types(x.dtype, np.float32), keepdims=self.keeps)
        return (total / count).astype(x.dtype)


@declared
class MaxOp(Reduction, exactness=Exactness.NUMBERS, over_none=False, pattern=OpPattern.REDUCTION):
    """
    The maximum; NaN if an element is NaN. Rejected if there are no elements to choose from.

    ```mlir
    %y = relex.max %x axis = [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        return largest(x, self.axes, keepdims=self.keeps)


@declared
class MinOp(Reduction, exactness=Exactness.NUMBERS, over_none=False, pattern=OpPattern.REDUCTION):
    """
    The minimum; NaN if an element is NaN. Rejected if there are no elements to choose from.

    ```mlir
    %y = relex.min %x axis = [0, 1] keepdims : (tensor<3x4xi32>) -> tensor<1x1xi32>
    ```
    """

    def evaluate(self, x: Array) -> Array:
        return smallest(x, self.axes, keepdims=self.keeps)


class ArgExtreme(OverAxes, ABC, exactness=Exactness.BITS):
    """The index of an extreme element along one dimension, or in the whole tensor in row-major order: the first one, or
    with `select_last_index` the last one. NaN counts as the extreme."""

    axis = opt_prop_def(IntegerConstr)
    keepdims = opt_prop_def(UnitAttr)
    select_last_index = opt_prop_def(UnitAttr)

    def __init__(
        self, operand: Operand, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False
    ):
        properties = {"axis": axis, "keepdims": keepdims, "select_last_index": select_last_index}
        super().__init__(operand, properties=properties)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        shape = operands[0].get_shape()
        result = reduced_shape(shape, _axes(properties, len(shape)), "keepdims" in properties)
        expect_elements(shape, result)
        return SizedType(i64, result)

    @property
    def selects_last(self) -> bool:
        """True if the last of equal elements counts."""
        return self.select_last_index is not None

    @staticmethod
    @abstractmethod
    def search(x: Array) -> Array:
        """Return the index of the first extreme along the last dimension."""

    def evaluate(self, x: Array) -> Array:
        shape = reduced_shape(x.shape, self.axes, self.keeps)
        if 0 in x.shape:
            return np.zeros(shape, np.int64)
        rows = x.reshape(-1) if self.axis is None else np.moveaxis(x, self.axes[0], -1)
        last = rows.shape[-1] - 1
        place = last - self.search(rows[..., ::-1]) if self.selects_last else self.search(rows)
        return np.reshape(place, shape).astype(np.int64)


@declared
class ArgmaxOp(ArgExtreme):
    """
    The index of the first maximum along one dimension, or in the whole tensor in row-major order. The first NaN counts
    as the maximum. With `select_last_index`, it is the index of the last maximum, or NaN.

    ```mlir
    %y = relex.argmax %x axis = 1 : (tensor<3x4xf32>) -> tensor<3xi64>
    %z = relex.argmax %x keepdims select_last_index : (tensor<3x4xf32>) -> tensor<1x1xi64>
    ```
    """

    @staticmethod
    def search(x: Array) -> Array:
        return np.argmax(x, axis=-1)


@declared
class ArgminOp(ArgExtreme):
    """
    The index of the first minimum along one dimension, or in the whole tensor in row-major order. The first NaN counts
    as the minimum. With `select_last_index`, it is the index of the last minimum, or NaN.

    ```mlir
    %y = relex.argmin %x axis = 1 : (tensor<3x4xf32>) -> tensor<3xi64>
    ```
    """

    @staticmethod
    def search(x: Array) -> Array:
        return np.argmin(x, axis=-1)
