"""Gathering and scattering by tensors of indices. A negative index counts from the end."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import INTEGERS, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import AlongAxis, Exactness, Operand, Operator, axis_of
from relex.dialects.relex.properties import IntegerConstr, StringConstr, as_integer, integer
from relex.dialects.relex.slicing import as_places
from relex.dialects.relex.types import (
    SizedType,
    expect_element_type,
    expect_equal,
    expect_integers,
    same_element_type,
    shape_str,
)
from relex.dialects.sizes import Size, Sizes, at_most, count
from relex.dialects.tir.op_pattern import OpPattern


def _expect_elements(result: Sequence[Size], places: Sequence[Size], shape: Sequence[Size]) -> None:
    """Check that there is an element for every index, unless there are no indices."""
    if not at_most(count(result), count(result) * count(places)):
        raise InferenceError(f"expected elements to take from, found none in {shape_str(shape)}")


def _expect_within(indices: Sequence[Size], shape: Sequence[Size], axis: int) -> None:
    """Check that a tensor of indices along a dimension is nowhere larger than the data in the other dimensions."""
    if len(indices) != len(shape):
        raise InferenceError(f"expected indices of rank {len(shape)}, as the data, found {shape_str(indices)}")
    for place, (size, available) in enumerate(zip(indices, shape, strict=True)):
        if place != axis and not at_most(size, available):
            raise InferenceError(f"expected at most {available} indices along dimension {place}, found {size}")


def _depth(indices: Sequence[Size], shape: Sequence[Size], first: int = 0) -> int:
    """Return the number of dimensions, after the first ones, that the last dimension of the indices selects from."""
    if not indices or not isinstance(depth := indices[-1], int):
        raise InferenceError(f"expected indices whose last size is known, found {shape_str(indices)}")
    if not 1 <= depth <= len(shape) - first:
        raise InferenceError(f"expected 1 to {len(shape) - first} as last size of the indices, found {depth}")
    return depth


def _from_front(indices: Array, size: int) -> Array:
    wide = as_places(indices)
    return np.where(wide < 0, wide + size, wide)


def _places(shape: Sequence[int], indices: Array, axis: int) -> list[Array]:
    """Return the index along each dimension: the index of the element itself, but along one dimension the given one."""
    own = list(cast(Array, np.indices(indices.shape)))
    return [*own[:axis], _from_front(indices, shape[axis]), *own[axis + 1 :]]


def _clipped(places: Sequence[Array], shape: Sequence[int]) -> tuple[Array, ...]:
    return tuple(np.clip(place, 0, max(size - 1, 0)) for place, size in zip(places, shape, strict=True))


@declared
class GatherElementsOp(AlongAxis, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE):
    """
    For each element of `indices`, the element of the data at the same place, but at that index along one dimension, by
    default the first. A negative index counts from the end; indices still out of range are clipped.

    ```mlir
    %y = relex.gather_elements %x, %indices axis = 1 : (tensor<3x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    ```
    """

    data = tensor_operand_def()
    indices = tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, data: Operand, indices: Operand, axis: int = 0):
        super().__init__(data, indices, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, indices = operands
        expect_element_type(indices, INTEGERS, "indices")
        shape, result = data.get_shape(), indices.get_shape()
        axis = axis_of(properties, shape)
        _expect_within(result, shape, axis)
        _expect_elements(result, [shape[axis]], shape)
        return SizedType(data.element_type, result)

    def evaluate(self, x: Array, indices: Array) -> Array:
        if not indices.size:
            return np.zeros(indices.shape, x.dtype)
        return x[_clipped(_places(x.shape, indices, self.normal_axis), x.shape)]


@declared
class GatherNdOp(Operator, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE):
    """
    For each list of indices in the last dimension of `indices`, the part of the data at these indices. The first
    `batch_dims` dimensions are common to both. A negative index counts from the end; indices still out of range are
    clipped.

    ```mlir
    %y = relex.gather_nd %x, %indices : (tensor<3x4x5xf32>, tensor<7x2xi64>) -> tensor<7x5xf32>
    %z = relex.gather_nd %x, %places batch_dims = 1 : (tensor<3x4x5xf32>, tensor<3x2xi64>) -> tensor<3xf32>
    ```
    """

    data = tensor_operand_def()
    indices = tensor_operand_def()
    batch_dims = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, data: Operand, indices: Operand, batch_dims: int = 0):
        super().__init__(data, indices, properties={"batch_dims": batch_dims})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, indices = operands
        expect_element_type(indices, INTEGERS, "indices")
        shape, places = data.get_shape(), indices.get_shape()
        (batch,) = expect_integers([as_integer(properties["batch_dims"])], "batch_dims", least=0)
        if batch >= min(len(shape), len(places)):
            found = f"{shape_str(shape)} and {shape_str(places)}"
            raise InferenceError(f"expected data and indices of more than {batch} dimensions, found {found}")
        for size, other in zip(shape[:batch], places[:batch], strict=True):
            expect_equal(size, other, "batch dimensions of data and indices")
        depth = _depth(places, shape, batch)
        result = (*places[:-1], *shape[batch + depth :])
        _expect_elements(result, shape[batch : batch + depth], shape)
        return SizedType(data.element_type, result)

    @property
    def batch(self) -> int:
        """The number of dimensions that are common to data and indices."""
        return as_integer(self.batch_dims)

    def evaluate(self, x: Array, indices: Array) -> Array:
        depth = indices.shape[-1]
        rest = x.shape[self.batch + depth :]
        if not np.prod((*indices.shape[:-1], *rest)):
            return np.zeros((*indices.shape[:-1], *rest), x.dtype)
        own = list(cast(Array, np.indices(indices.shape[:-1])))
        sizes = x.shape[self.batch :]
        places = [*own[: self.batch], *(_from_front(indices[..., d], sizes[d]) for d in range(depth))]
        return x[_clipped(places, x.shape[: self.batch + depth])]


REDUCTIONS: Mapping[str, str | None] = {
    "update": None,
    "add": "add",
    "mul": "multiply",
    "max": "maximum",
    "min": "minimum",
}
"""The scalar functions that combine an element with an update of it, under their names in NumPy and in
`relex.lowering.te.scalars`. None replaces the element."""


class Scatter(Operator, ABC, pattern=OpPattern.OPAQUE):
    """The data with updates at given places, one after the other in row-major order."""

    data = tensor_operand_def()
    indices = tensor_operand_def()
    updates = tensor_operand_def()
    reduction = prop_def(StringConstr, default_value=StringAttr("update"))

    @classmethod
    def read(
        cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]
    ) -> tuple[Attribute, Sizes, Sizes, Sizes]:
        """Return the element type and the shapes of the operands."""
        data, indices, updates = operands
        element_type = same_element_type(data, updates)
        expect_element_type(indices, INTEGERS, "indices")
        reduction = properties["reduction"]
        if not isinstance(reduction, StringAttr) or reduction.data not in REDUCTIONS:
            raise InferenceError(f"expected a reduction among {', '.join(REDUCTIONS)}, found {reduction}")
        return element_type, data.get_shape(), indices.get_shape(), updates.get_shape()

    def scattered(self, x: Array, places: Sequence[Array], updates: Array) -> Array:
        """Return the data with the updates whose places exist."""
        result = x.copy()
        limits = zip(places, x.shape[: len(places)], strict=True)
        exist = np.logical_and.reduce([(0 <= place) & (place < size) for place, size in limits])
        at = tuple(place[exist] for place in places)
        combiner = REDUCTIONS[self.reduction.data]
        if combiner is None:
            result[at] = updates[exist]
        else:
            getattr(np, combiner).at(result, at, updates[exist])
        return result


@declared
class ScatterElementsOp(Scatter, AlongAxis):
    """
    The data, in which each element of `updates` has been stored at its own place, but at the index of the same place in
    `indices` along one dimension, by default the first. Instead of storing it, `reduction` can combine it with the
    element there: `add`, `mul`, `max` or `min`. Updates take effect one after the other, in row-major order. A negative
    index counts from the end; updates still out of range have no effect.

    ```mlir
    %y = relex.scatter_elements %x, %indices, %updates reduction = "add" axis = 1
        : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
    ```
    """

    axis = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, data: Operand, indices: Operand, updates: Operand, axis: int = 0, reduction: str = "update"):
        super().__init__(data, indices, updates, properties={"axis": axis, "reduction": reduction})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        element_type, shape, indices, updates = cls.read(operands, properties)
        _expect_within(indices, shape, axis_of(properties, shape))
        if len(updates) != len(indices):
            raise InferenceError(f"expected updates of rank {len(indices)}, as the indices, found {shape_str(updates)}")
        for size, other in zip(indices, updates, strict=True):
            expect_equal(size, other, "sizes of indices and updates")
        return SizedType(element_type, shape)

    def evaluate(self, x: Array, indices: Array, updates: Array) -> Array:
        return self.scattered(x, _places(x.shape, indices, self.normal_axis), updates)


@declared
class ScatterNdOp(Scatter, AlongAxis):
    """
    The data, in which each part of `updates` has been stored at the list of indices in the last dimension of `indices`.
    The first of them counts along dimension `axis`, by default the first; the same indices hold for all that is before
    it. Instead of storing it, `reduction` can combine it with the elements there: `add`, `mul`, `max` or `min`. Updates
    take effect one after the other, in row-major order. A negative index counts from the end; updates still out of
    range have no effect.

    ```mlir
    %y = relex.scatter_nd %x, %indices, %updates reduction = "max"
        : (tensor<3x4x5xf32>, tensor<7x2xi64>, tensor<7x5xf32>) -> tensor<3x4x5xf32>
    %z = relex.scatter_nd %x, %rows, %parts axis = 1
        : (tensor<3x4x5xf32>, tensor<2x1xi64>, tensor<3x2x5xf32>) -> tensor<3x4x5xf32>
    ```
    """

    axis = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, data: Operand, indices: Operand, updates: Operand, reduction: str = "update", axis: int = 0):
        super().__init__(data, indices, updates, properties={"reduction": reduction, "axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        element_type, shape, indices, updates = cls.read(operands, properties)
        axis = axis_of(properties, shape)
        depth = _depth(indices, shape, axis)
        expected = (*shape[:axis], *indices[:-1], *shape[axis + depth :])
        if len(updates) != len(expected):
            raise InferenceError(f"expected updates of {shape_str(expected)}, found {shape_str(updates)}")
        for size, other in zip(expected, updates, strict=True):
            expect_equal(size, other, "sizes of updates and of what they replace")
        return SizedType(element_type, shape)

    def evaluate(self, x: Array, indices: Array, updates: Array) -> Array:
        axis = self.normal_axis
        own = cast(Array, np.indices((*x.shape[:axis], *indices.shape[:-1])))
        chosen = [_from_front(indices[..., d], x.shape[axis + d]) for d in range(indices.shape[-1])]
        places = [*own[:axis], *(np.broadcast_to(place, own.shape[1:]) for place in chosen)]
        return self.scattered(x, places, updates)
