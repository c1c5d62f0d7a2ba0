"""Operators that change the shape of a tensor."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def, var_tensor_operand_def
from relex.dialects.errors import InferenceError, size_str
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Movement, Operand, moving, repeating
from relex.dialects.relex.properties import IntegersConstr, TextsConstr, as_integers, as_list
from relex.dialects.relex.size_properties import dynamic_shape, names_of_sizes, quotient, shape_for
from relex.dialects.relex.types import (
    Shape,
    SizedType,
    expect_integers,
    long_sizes,
    normalize_axes,
    rank_of,
    shape_of,
    shape_str,
)
from relex.dialects.sizes import Size, Sizes, count, equal
from relex.dialects.tir.op_pattern import OpPattern


@declared
class PermuteDimsOp(Movement):
    """
    The dimensions in another order: dimension `i` of the result is dimension `axes[i]` of the operand. By default the
    order is reversed.

    ```mlir
    %y = relex.permute_dims %x axes = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    %z = relex.permute_dims %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
    ```
    """

    operand = tensor_operand_def()
    axes = opt_prop_def(IntegersConstr)

    def __init__(self, operand: Operand, axes: Sequence[int] | None = None):
        super().__init__(operand, properties={"axes": axes})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        shape = operand.get_shape()
        return SizedType(operand.element_type, [shape[axis] for axis in _order(properties, len(shape))])

    @property
    def order(self) -> Shape:
        """The dimensions of the operand, counted from the front, in the order of the result."""
        return _order(self.properties, rank_of(self.operand))

    @property
    def pattern(self) -> OpPattern:
        shape = shape_of(self.operand)
        moved = [axis for axis in self.order if shape[axis] != 1]
        return moving(in_order=moved == sorted(moved))

    def evaluate(self, x: Array) -> Array:
        return np.transpose(x, axes=self.order)


def _order(properties: Mapping[str, Attribute], rank: int) -> Shape:
    if (axes := properties.get("axes")) is None:
        return tuple(reversed(range(rank)))
    return normalize_axes(expect_integers(as_integers(axes), "axes", count=rank), rank)


class ToShape(Movement, ABC):
    """An operator with a property for the shape of its result, in which -1 stands for a size to infer, or for one that
    is known at run time: then `sizes` has an expression for each -1, or an empty text for a size to infer."""

    operand = tensor_operand_def()
    like = var_tensor_operand_def()
    shape = prop_def(IntegersConstr)
    sizes = opt_prop_def(TextsConstr)

    def __init__(
        self,
        operand: Operand,
        shape: Sequence[int],
        sizes: Sequence[str] | None = None,
        like: Sequence[Operand] = (),
    ):
        super().__init__(operand, *like, properties={"shape": shape, "sizes": sizes})


@declared
class ReshapeOp(ToShape):
    """
    The same elements in row-major order, with another shape. One size may be -1: it is inferred from the others.
    Further ones may be -1 if `sizes` has expressions for them, of the operand's sizes `d0`, `d1`, ..., and the sizes of
    the tensors in `like`: `like0_d1` is dimension 1 of the first one.

    ```mlir
    %y = relex.reshape %x shape = [2, -1] : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
    %z = relex.reshape %v shape = [-1, -1, 4, 16] sizes = ["d0", "d1"]
        : (tensor<?x?x64xf32>) -> tensor<?x?x4x16xf32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        operand, *_ = operands
        shape = dynamic_shape(properties, names_of_sizes(operands))
        return SizedType(operand.element_type, _reshaped(operand.get_shape(), shape))

    @property
    def pattern(self) -> OpPattern:
        types = self.sized_operands()
        old, new = (long_sizes(t.get_shape()) for t in (types[0], self.infer(types, self.properties)))
        # Of a single dimension, all elements stay in their order, whatever its size is.
        return moving(in_order=old == new or len(old) == len(new) == 1)

    def evaluate(self, *operands: Array) -> Array:
        return operands[0].reshape(shape_for(self, operands))


def _reshaped(old: Sequence[Size], new: Sequence[Size]) -> Sizes:
    """Return the new shape with its -1 replaced."""
    if new.count(-1) > 1:
        raise InferenceError(f"expected one size of -1 at most, found {new.count(-1)}")
    elements, known = count(old), count([size for size in new if size != -1])
    if known == 0 and -1 in new:
        raise _wrong_count(old, new)
    rest = quotient(elements, known) if -1 in new else 1
    if rest is None:
        raise InferenceError(f"expected an expression for -1, as {elements} is not a multiple of {known}")
    if not equal(rest * known, elements):
        raise _wrong_count(old, new)
    return tuple(rest if size == -1 else size for size in new)


def _wrong_count(old: Sequence[Size], new: Sequence[Size]) -> InferenceError:
    return InferenceError(f"expected a shape with as many elements as {shape_str(old)} has, found {shape_str(new)}")


@declared
class ExpandDimsOp(Movement, pattern=OpPattern.ELEMENTWISE):
    """
    The tensor with new dimensions of size 1, which become the dimensions `axis` of the result.

    ```mlir
    %y = relex.expand_dims %x axis = [0, -1] : (tensor<3x4xf32>) -> tensor<1x3x4x1xf32>
    ```
    """

    operand = tensor_operand_def()
    axis = prop_def(IntegersConstr)

    def __init__(self, operand: Operand, axis: int | Sequence[int]):
        super().__init__(operand, properties={"axis": as_list(axis)})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        axis = as_integers(properties["axis"])
        sizes = list(operand.get_shape())
        for place in sorted(normalize_axes(axis, len(sizes) + len(axis))):
            sizes.insert(place, 1)
        return SizedType(operand.element_type, sizes)

    def evaluate(self, x: Array) -> Array:
        return np.expand_dims(x, as_integers(self.axis))


@declared
class SqueezeOp(Movement, pattern=OpPattern.ELEMENTWISE):
    """
    The tensor without the dimensions `axis`, whose size is 1; by default without all dimensions of size 1.

    ```mlir
    %y = relex.squeeze %x axis = [0] : (tensor<1x3x1xf32>) -> tensor<3x1xf32>
    %z = relex.squeeze %x : (tensor<1x3x1xf32>) -> tensor<3xf32>
    ```
    """

    operand = tensor_operand_def()
    axis = opt_prop_def(IntegersConstr)

    def __init__(self, operand: Operand, axis: int | Sequence[int] | None = None):
        super().__init__(operand, properties={"axis": as_list(axis)})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        shape = operand.get_shape()
        if (axis := properties.get("axis")) is None:
            if not all(isinstance(size, int) for size in shape):
                raise InferenceError(f"expected an axis, as any '?' may be 1, found none for {shape_str(shape)}")
            return SizedType(operand.element_type, [size for size in shape if size != 1])
        axes = normalize_axes(as_integers(axis), len(shape))
        if not all([equal(shape[place], 1) for place in axes]):
            sizes = ", ".join(size_str(shape[place]) for place in axes)
            raise InferenceError(f"expected dimensions of size 1 to remove, found {sizes}")
        return SizedType(operand.element_type, [size for place, size in enumerate(shape) if place not in axes])

    def evaluate(self, x: Array) -> Array:
        return np.squeeze(x, None if self.axis is None else as_integers(self.axis))


@declared
class BroadcastToOp(ToShape):
    """
    The elements repeated along dimensions of size 1 and along new leading dimensions, as NumPy broadcasts. A size of -1
    keeps the operand's size, unless `sizes` has an expression for it, as in `relex.reshape`: a size that is known only
    at run time broadcasts dimensions whose size is 1 in the type.

    ```mlir
    %y = relex.broadcast_to %x shape = [2, 3, -1] : (tensor<3x?xf32>) -> tensor<2x3x?xf32>
    %z = relex.broadcast_to %c like(%v) shape = [-1, 3] sizes = ["like0_d0"]
        : (tensor<f32>, tensor<?x4xf32>) -> tensor<?x3xf32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        operand, *_ = operands
        wanted = dynamic_shape(properties, names_of_sizes(operands))
        return SizedType(operand.element_type, _broadcast_to(operand.get_shape(), wanted))

    @property
    def pattern(self) -> OpPattern:
        return repeating([self.operand], self.result)

    def evaluate(self, *operands: Array) -> Array:
        return np.broadcast_to(operands[0], shape_for(self, operands))


def _broadcast_to(old: Sequence[Size], new: Sequence[Size]) -> Sizes:
    added = len(new) - len(old)
    pairs = list(zip(old, new[max(added, 0) :], strict=False))
    fits = all([wanted == -1 or size == 1 or equal(size, wanted) for size, wanted in pairs])
    if added < 0 or -1 in new[:added] or not fits:
        raise InferenceError(f"expected a shape that {shape_str(old)} broadcasts to, found {shape_str(new)}")
    return (*new[:added], *(size if wanted == -1 else wanted for size, wanted in pairs))
