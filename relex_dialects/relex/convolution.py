"""Convolution over one, two or three dimensions. The layout is batch, channels, then the dimensions."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import ClassVar, cast

from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import NUMBERS, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex import types
from relex.dialects.relex.declared import for_ranks
from relex.dialects.relex.operator import Operand
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integer, as_integers, integer
from relex.dialects.relex.sliding_windows import SlidingWindows, Windows, contract, expect_rank
from relex.dialects.sizes import Size, Sizes, at_most, equal
from relex.dialects.tir.op_pattern import OpPattern

_SPATIAL = "xyz"
_WINDOW = "rst"


class Convolution(SlidingWindows, ABC, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """The convolution of data with a weight; each group of output channels sees its group of input channels."""

    DOCUMENTATION: ClassVar = """
    The convolution, as in neural networks (without flipping), of data `[N, C, {space}]` with a weight
    `[O, C / groups, {window}]`: `[N, O, {result}]`. Each group of output channels sees its group of input channels.
    `padding` is one number for {sides}.

    ```mlir
    %y = relex.conv{rank}d %x, %w : (tensor<1x3x{8x}xf32>, tensor<16x3x{3x}xf32>) -> tensor<1x16x{6x}xf32>
    %z = relex.conv{rank}d %x, %v strides = {2s} padding = {1s} dilation = {1s} groups = 3
        : (tensor<1x3x{8x}xf32>, tensor<6x1x{3x}xf32>) -> tensor<1x6x{4x}xf32>
    ```
    """

    data = tensor_operand_def()
    weight = tensor_operand_def()
    strides = prop_def(IntegersConstr)
    padding = prop_def(IntegersConstr)
    dilation = prop_def(IntegersConstr)
    groups = prop_def(IntegerConstr, default_value=integer(1))

    def __init__(
        self,
        data: Operand,
        weight: Operand,
        strides: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ):
        properties = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        super().__init__(data, weight, properties=properties)

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        element_type, data, weight, groups = cls.read(operands, properties)
        if not equal(weight[0] % groups, 0):
            raise InferenceError(f"expected output channels that {groups} groups share, found {weight[0]}")
        types.expect_equal(data[1] // groups, weight[1], "input channels of a group and of the weight")
        counts = Windows.read(weight[2:], properties).counts(data[2:])
        return types.SizedType(element_type, (data[0], weight[0], *counts))

    @classmethod
    def read(
        cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]
    ) -> tuple[Attribute, Sizes, Sizes, int]:
        """Return the element type, the shapes of data and weight, and the groups, which share the input channels."""
        element_type = types.same_element_type(*operands)
        types.expect_element_type(operands[0], NUMBERS, "operands")
        data, weight = (
            expect_rank(t, 2 + cls.RANK, what) for t, what in zip(operands, ("data", "a weight"), strict=True)
        )
        (groups,) = types.expect_integers([as_integer(properties["groups"])], "groups", least=1)
        if not equal(data[1] % groups, 0):
            raise InferenceError(f"expected input channels that {groups} groups share, found {data[1]}")
        return element_type, data, weight, groups

    @property
    def terms(self) -> int:
        return prod(self.weight.type.get_shape()[1:])

    def windows(self, weight: Sequence[Size]) -> Windows:
        """Return the windows that a weight of this shape slides over."""
        return Windows.read(weight[2:], self.properties)

    def evaluate(self, x: Array, weight: Array) -> Array:
        groups = as_integer(self.groups)
        parts = self.windows(weight.shape).over(x, 0)
        parts = parts.reshape(x.shape[0], groups, x.shape[1] // groups, *parts.shape[2:])
        kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        spatial, window = _SPATIAL[: self.RANK], _WINDOW[: self.RANK]
        result = contract(f"ngc{spatial}{window},goc{window}->ngo{spatial}", parts, kernels)
        return result.reshape(x.shape[0], weight.shape[0], *result.shape[3:])


class TransposedConvolution(Convolution, ABC):
    """The transpose of a convolution: each element of the data adds its multiple of the weight to a window of the
    result, whose outermost elements, as many as the padding, are then removed. Within `output_padding`, the result goes
    on at its end. The data stands between zeros, which add their multiples of the weight, too."""

    DOCUMENTATION: ClassVar = """
    The transpose of `relex.conv{rank}d`, of data `[N, C, {space}]` with a weight `[C, O / groups, {window}]`: each
    element of the data adds its multiple of the weight to a window of the result, of which `padding` elements are then
    removed at the ends. `output_padding` more elements follow at the end of each dimension before that. The data stands
    between zeros, as in the padding of `relex.conv{rank}d`: where these reach the result, it is NaN if the element of
    the weight is infinite or NaN.

    ```mlir
    %y = relex.conv{rank}d_transpose %x, %w strides = {2s} padding = {1s} output_padding = {1s}
        : (tensor<1x3x{8x}xf32>, tensor<3x16x{3x}xf32>) -> tensor<1x16x{16x}xf32>
    ```
    """

    output_padding = prop_def(IntegersConstr)

    def __init__(
        self,
        data: Operand,
        weight: Operand,
        strides: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        output_padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        groups: int = 1,
    ):
        properties = {"strides": strides, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        super(Convolution, self).__init__(data, weight, properties={**properties, "groups": groups})

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        element_type, data, weight, groups = cls.read(operands, properties)
        types.expect_equal(data[1], weight[0], "input channels of data and weight")
        windows = Windows.read(weight[2:], properties)
        more = types.expect_integers(
            as_integers(properties["output_padding"]), "output paddings", count=cls.RANK, least=0
        )
        for added, *steps in zip(more, windows.strides, windows.dilation, strict=True):
            if added >= max(steps):
                expected = f"expected output paddings below the stride or the dilation, here {max(steps)}"
                raise InferenceError(f"{expected}, found {added}")
        full = zip(cls.full(windows, data[2:], more), windows.before, windows.after, strict=True)
        sizes = [size - before - after for size, before, after in full]
        if not all([at_most(0, size) for size in sizes]):
            found = ", ".join(map(str, windows.padding))
            raise InferenceError(f"expected paddings of at most the size of the full result, found {found}")
        return types.SizedType(element_type, (data[0], weight[1] * groups, *sizes))

    @staticmethod
    def full(windows: Windows, sizes: Sequence[Size], more: Sequence[int]) -> Sizes:
        """Return the sizes of the result before the padding is removed. Raises `InferenceError` without data."""
        if not all([at_most(1, size) for size in sizes]):
            raise InferenceError("expected data of 1 element or more along each dimension, found none")
        steps = zip(sizes, windows.strides, windows.spans, more, strict=True)
        return tuple((size - 1) * stride + span + added for size, stride, span, added in steps)

    @property
    def terms(self) -> int:
        shape = self.weight.type.get_shape()
        return prod(shape) // max(1, shape[1])

    def evaluate(self, x: Array, weight: Array) -> Array:
        groups, windows = as_integer(self.groups), self.windows(weight.shape)
        sizes = cast(types.Shape, self.full(windows, x.shape[2:], as_integers(self.output_padding)))
        # The data among zeros, as many as reach the result.
        margins = [size // s - count + 2 for size, s, count in zip(sizes, windows.strides, x.shape[2:], strict=True)]
        parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
        parts = np.pad(parts, [(0, 0)] * 3 + [(margin, margin) for margin in margins])
        kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        extents = [(count - 1) * s + 1 for count, s in zip(parts.shape[3:], windows.strides, strict=True)]
        whole = [extent + span for extent, span in zip(extents, cast(types.Shape, windows.spans), strict=True)]
        full = np.zeros_like(x, shape=(x.shape[0], groups, weight.shape[1], *whole))
        spatial = _SPATIAL[: self.RANK]
        for place in product(*map(range, weight.shape[2:])):
            starts = [k * dilation for k, dilation in zip(place, windows.dilation, strict=True)]
            steps = zip(starts, extents, windows.strides, strict=True)
            reached = (slice(start, start + extent, stride) for start, extent, stride in steps)
            kernel = kernels[(..., *place)]
            full[(..., *reached)] += np.einsum(f"ngc{spatial},gco->ngo{spatial}", parts, kernel, optimize=True)
        firsts = [margin * stride for margin, stride in zip(margins, windows.strides, strict=True)]
        ends = zip(firsts, windows.before, sizes, windows.after, strict=True)
        result = full[(..., *(slice(first + b, first + size - a) for first, b, size, a in ends))]
        return result.reshape(x.shape[0], groups * weight.shape[1], *result.shape[3:])


Conv1dOp, Conv2dOp, Conv3dOp = for_ranks(Convolution, "Conv{}dOp")
Conv1dTransposeOp, Conv2dTransposeOp, Conv3dTransposeOp = for_ranks(TransposedConvolution, "Conv{}dTransposeOp")
