"""Convolution of data whose channels are in blocks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import NUMBERS, tensor_operand_def, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex import types
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Operand
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integer, integer
from relex.dialects.relex.sliding_windows import SlidingWindows, Windows, contract, expect_rank
from relex.dialects.sizes import Size, equal
from relex.dialects.tir.op_pattern import OpPattern


class BlockedConvolution(SlidingWindows, ABC, rank=2, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """A convolution of data whose channels are in blocks."""

    data = tensor_operand_def()
    weight = tensor_operand_def()
    strides = prop_def(IntegersConstr)
    padding = prop_def(IntegersConstr)
    dilation = prop_def(IntegersConstr)
    depthwise = opt_prop_def(UnitAttr)
    groups = prop_def(IntegerConstr, default_value=integer(1))

    def __init__(
        self,
        data: Operand,
        weight: Operand,
        strides: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        dilation: Sequence[int] | None = None,
        depthwise: bool = False,
        groups: int = 1,
    ):
        places = {"strides": strides, "padding": padding, "dilation": dilation}
        super().__init__(data, weight, properties={**places, "depthwise": depthwise, "groups": groups})

    @classmethod
    def infer(cls, operands: Sequence[types.SizedType], properties: Mapping[str, Attribute]) -> types.SizedType:
        element_type = operands[1].element_type
        if operands[0].element_type != ui8 or "depthwise" not in properties:
            element_type = types.same_element_type(*operands)
        types.expect_element_type(operands[1], NUMBERS, "operands")
        data, weight = operands[0].get_shape(), expect_rank(operands[1], 6, "a weight")
        if len(data) not in (4, 5):
            raise InferenceError(
                f"expected data of rank 5, or 4 for blocks of 1 channel, found {types.shape_str(data)}"
            )
        (groups,) = types.expect_integers([as_integer(properties["groups"])], "groups", least=1)
        for count, what in ((data[1], "input"), (weight[0], "output")):
            if not equal(count % groups, 0):
                raise InferenceError(f"expected blocks of {what} channels that {groups} groups share, found {count}")
        blocks, channels = (0, 5) if "depthwise" in properties else (1, 4)
        parts = parts_of_block(data, weight, properties)
        read = weight[blocks] if parts == 1 else (weight[1] + (parts - 1)) // parts
        types.expect_equal(data[1] // groups, read, "blocks of input channels of data and weight")
        types.expect_equal((*data, 1)[4], weight[channels] * parts, "input channels in a block of data and weight")
        if "depthwise" in properties:
            types.expect_equal(groups, 1, "groups of depthwise convolutions and")
            types.expect_equal(weight[1], 1, "input channels of a channel and")
            types.expect_equal(weight[4], 1, "input channels of a channel and")
        counts = Windows.read(weight[2:4], properties).counts(data[2:4])
        return types.SizedType(element_type, (data[0], weight[0], *counts, weight[5]))

    @property
    def terms(self) -> int:
        return prod(self.weight.type.get_shape()[1:5])

    def windows(self, weight: Sequence[Size]) -> Windows:
        """Return the windows that a weight of this shape slides over."""
        return Windows.read(weight[2:4], self.properties)

    def evaluate(self, x: Array, weight: Array) -> Array:
        data = np.moveaxis(x.reshape((*x.shape, 1)[:5]), 4, 2).astype(weight.dtype)
        groups = as_integer(self.groups)
        if (count := parts_of_block(x.shape, weight.shape, self.properties)) > 1:
            data = data.reshape(x.shape[0], x.shape[1] * count, weight.shape[4], *x.shape[2:4])[:, : weight.shape[1]]
        parts = self.windows(weight.shape).over(data, 0)
        if self.depthwise is not None:
            return contract("nbcxyrs,bprsqc->nbxyc", parts, weight)
        parts = parts.reshape(x.shape[0], groups, weight.shape[1], *parts.shape[2:])
        kernels = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        result = contract("ngbcxyrs,gobrsci->ngoxyi", parts, kernels)
        return result.reshape(x.shape[0], weight.shape[0], *result.shape[3:])


@declared
class Conv2dBlockedOp(BlockedConvolution):
    """
    The convolution `relex.conv2d` of data `[N, C / c, H, W, c]`, whose channels are in blocks of `c`, with a weight
    `[O / o, C / groups / c, h, w, c, o]`: `[N, O / o, H', W', o]`. The numbers of a block are contiguous, as vectors
    need them, and in one group. If `c` is 1, the data may be `[N, C, H, W]`. With `depthwise`, each channel is
    convolved on its own, with a weight `[C / c, 1, h, w, 1, c]`, and data of unsigned bytes becomes numbers of the
    weight's type. `padding` is one number for all sides, two (top and bottom, left and right) or four (top, left,
    bottom, right).

    Without groups, the weight may have smaller blocks of input channels, whose size divides `c`, and fewer channels
    than the blocks of the data hold: the others, at the end of the last one, are not read.

    ```mlir
    %y = relex.conv2d_blocked %x, %w padding = [1, 1]
        : (tensor<1x2x8x8x16xf32>, tensor<4x2x3x3x16x32xf32>) -> tensor<1x4x8x8x32xf32>
    %z = relex.conv2d_blocked %x, %v strides = [2, 2] depthwise
        : (tensor<1x2x8x8x16xf32>, tensor<2x1x3x3x1x16xf32>) -> tensor<1x2x3x3x16xf32>
    %a = relex.conv2d_blocked %x, %u groups = 2
        : (tensor<1x2x8x8x16xf32>, tensor<4x1x3x3x16x32xf32>) -> tensor<1x4x6x6x32xf32>
    ```
    """


def parts_of_block(data: Sequence[Size], weight: Sequence[Size], properties: Mapping[str, Attribute]) -> int:
    """Return the number of blocks of a weight that are read from one of the data: 1 unless their sizes are known and
    differ, and no channels are in groups."""
    size, part = (*data, 1)[4], weight[4]
    if "depthwise" in properties or as_integer(properties["groups"]) != 1:
        return 1
    if not isinstance(size, int) or not isinstance(part, int) or part <= 0 or size % part:
        return 1
    return size // part or 1
