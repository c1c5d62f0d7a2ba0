"""Convolution and pooling over height and width. The layout is batch, channels, height, width."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import FLOATS, NUMBERS, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.extremes import largest
from relex.dialects.relex.operator import Exactness, Operand, Operator, ieee_arithmetic
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integer, as_integers, integer, integers
from relex.dialects.relex.types import (
    SizedType,
    expect_element_type,
    expect_equal,
    expect_integers,
    same_element_type,
    shape_str,
)
from relex.dialects.relex.windows import Windows
from relex.dialects.sizes import Size, Sizes, equal

_ONES = integers([1, 1])
_NO_PADDING = integers([0, 0])


@irdl_op_definition
class Conv2dOp(Operator):
    """
    The convolution, as in neural networks (without flipping), of data `[N, C, H, W]` with a weight
    `[O, C / groups, h, w]`: `[N, O, H', W']`. Each group of output channels sees its group of input channels. `padding`
    is one number for all sides, two (top and bottom, left and right) or four (top, left, bottom, right).

    ```mlir
    %y = relex.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x6x6xf32>
    %z = relex.conv2d %x, %v strides = [2, 2] padding = [1, 1] dilation = [1, 1] groups = 3
        : (tensor<1x3x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x4x4xf32>
    ```
    """

    name = "relex.conv2d"
    SCRIPT_NAMESPACE: ClassVar = "nn"

    data = tensor_operand_def()
    weight = tensor_operand_def()
    strides = prop_def(IntegersConstr, default_value=_ONES)
    padding = prop_def(IntegersConstr, default_value=_NO_PADDING)
    dilation = prop_def(IntegersConstr, default_value=_ONES)
    groups = prop_def(IntegerConstr, default_value=integer(1))

    def __init__(
        self,
        data: Operand,
        weight: Operand,
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
    ):
        properties = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        super().__init__(data, weight, properties=properties)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        element_type = same_element_type(*operands)
        expect_element_type(operands[0], NUMBERS, "operands")
        data, weight = (_expect_rank_4(t, what) for t, what in zip(operands, ("data", "a weight"), strict=True))
        (groups,) = expect_integers([as_integer(properties["groups"])], "groups", least=1)
        for channels, what in ((data[1], "input"), (weight[0], "output")):
            if not equal(channels % groups, 0):
                raise InferenceError(f"expected {what} channels that {groups} groups share, found {channels}")
        expect_equal(data[1] // groups, weight[1], "input channels of a group and of the weight")
        counts = Windows.read(weight[2:], properties).counts(data[2:])
        return SizedType(element_type, (data[0], weight[0], *counts))

    @property
    def terms(self) -> int:
        return prod(self.weight.type.get_shape()[1:])

    def windows(self, weight: Sequence[Size]) -> Windows:
        """Return the windows that a weight of this shape slides over."""
        return Windows.read(weight[2:], self.properties)

    def evaluate(self, *operands: Array) -> Array:
        x, weight = operands
        groups = as_integer(self.groups)
        parts = self.windows(weight.shape).over(x, 0)
        parts = parts.reshape(x.shape[0], groups, x.shape[1] // groups, *parts.shape[2:])
        kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        with ieee_arithmetic():
            result = np.einsum("ngchwrs,gocrs->ngohw", parts, kernels)
        return result.reshape(x.shape[0], weight.shape[0], *result.shape[3:])


class _Pool2d(Operator, ABC):
    """
    One element for each window of `pool_size`. `padding` is one number for all sides, two (top and bottom, left and
    right) or four (top, left, bottom, right).
    """

    data = tensor_operand_def()
    pool_size = prop_def(IntegersConstr)
    strides = prop_def(IntegersConstr, default_value=_ONES)
    padding = prop_def(IntegersConstr, default_value=_NO_PADDING)
    dilation = prop_def(IntegersConstr, default_value=_ONES)

    SCRIPT_NAMESPACE: ClassVar = "nn"
    ALLOWED: ClassVar[tuple[Attribute, ...]] = NUMBERS
    """The element types that the operand may have."""

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        element_type = expect_element_type(operand, cls.ALLOWED, "operands")
        data = _expect_rank_4(operand, "data")
        return SizedType(element_type, (*data[:2], *_pool_windows(properties).counts(data[2:])))

    @property
    def terms(self) -> int:
        return prod(as_integers(self.pool_size))

    @property
    def windows(self) -> Windows:
        """The windows that the elements of the result are computed from."""
        return _pool_windows(self.properties)


def _pool_windows(properties: Mapping[str, Attribute]) -> Windows:
    size = expect_integers(as_integers(properties["pool_size"]), "sizes of a window", count=2, least=1)
    return Windows.read(size, properties)


@irdl_op_definition
class MaxPool2dOp(_Pool2d):
    """
    The maximum of each window; NaN if an element is NaN. Padding never wins: a window that contains nothing else yields
    the lowest value of the type.

    ```mlir
    %y = relex.max_pool2d %x pool_size = [2, 2] strides = [2, 2] : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
    """

    name = "relex.max_pool2d"
    EXACTNESS: ClassVar = Exactness.NUMBERS

    def __init__(
        self,
        data: Operand,
        pool_size: Sequence[int],
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
    ):
        properties = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
        super().__init__(data, properties=properties)

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return largest(self.windows.over(x, lowest), axes=(-2, -1))


@irdl_op_definition
class AvgPool2dOp(_Pool2d):
    """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without it, a window that contains
    nothing else yields NaN, the mean of no elements. Floats only, as for `relex.mean`.

    ```mlir
    %y = relex.avg_pool2d %x pool_size = [3, 3] padding = [1, 1] count_include_pad
        : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
    ```
    """

    name = "relex.avg_pool2d"
    ALLOWED: ClassVar = FLOATS

    count_include_pad = opt_prop_def(UnitAttr)

    def __init__(
        self,
        data: Operand,
        pool_size: Sequence[int],
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        count_include_pad: bool = False,
    ):
        properties = {"pool_size": pool_size, "strides": strides, "padding": padding, "dilation": dilation}
        super().__init__(data, properties={**properties, "count_include_pad": count_include_pad})

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        fill = 0 if self.count_include_pad is None else 1
        counted = self.windows.over(np.ones(x.shape[2:], x.dtype), fill)
        with ieee_arithmetic():
            return self.windows.over(x, 0).sum(axis=(-2, -1)) / counted.sum(axis=(-2, -1))


def _expect_rank_4(t: SizedType, what: str) -> Sizes:
    shape = t.get_shape()
    if len(shape) != 4:
        raise InferenceError(f"expected {what} of rank 4, found {shape_str(shape)}")
    return shape
