"""Products of integers of 8 bits, four to a word, and of numbers of bf16 or integers of 16 bits, two to a word."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f32, i8, i16, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex.blocked_convolution import BlockedConvolution
from relex.dialects.relex.calls import CallOp, CallTirOp
from relex.dialects.relex.convolution import Convolution
from relex.dialects.relex.declared import declared, for_ranks
from relex.dialects.relex.linear import MatrixProduct
from relex.dialects.relex.operator import AlongAxis, Exactness, Operand, Operator, axis_of
from relex.dialects.relex.properties import IntegerConstr
from relex.dialects.relex.types import SizedType, expect_element_type, tensor_type
from relex.dialects.tir.op_pattern import OpPattern

BYTES = 4
"""The number of bytes in a word."""


_SHORT = (bf16, i16)
"""Types of numbers that are half of a word."""


@declared
class PackBytesOp(AlongAxis, exactness=Exactness.BITS, pattern=OpPattern.INJECTIVE):
    """
    Words of four neighbouring bytes, or of two neighbouring numbers of bf16 or i16, along a dimension. The first one is
    in the low bits. Zeros fill the last word.

    ```mlir
    %w = relex.pack_bytes %x axis = 1 : (tensor<3x10xui8>) -> tensor<3x3xi32>
    ```
    """

    MOVES: ClassVar = True

    data = tensor_operand_def()
    axis = prop_def(IntegerConstr)

    def __init__(self, data: Operand, axis: int):
        super().__init__(data, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (i8, ui8, bf16, i16), "data")
        count = in_a_word(operands[0].element_type)
        shape = list(operands[0].get_shape())
        axis = axis_of(properties, shape)
        shape[axis] = (shape[axis] + count - 1) // count
        return SizedType(i32, shape)

    @property
    def is_view(self) -> bool:
        """Whether the elements of each word are neighbours in memory, at an address for words: of a tensor that another
        op computes. Arguments may be anywhere. Numbers of 16 bits are so if nothing else needs them."""
        value = self.data
        if not self.has_neighbours:
            return False
        while isinstance(value.owner, tensor.CollapseShapeOp | tensor.ExpandShapeOp):
            value = value.owner.operands[0]
        return isinstance(value.owner, Operator | CallOp | CallTirOp) and (self.count == BYTES or becomes_words(value))

    @property
    def has_neighbours(self) -> bool:
        """Whether the elements of each word are neighbours in memory, and fill it."""
        shape = self.data.type.get_shape()
        return DYNAMIC_INDEX not in shape and self.normal_axis == len(shape) - 1 and shape[-1] % self.count == 0

    @property
    def count(self) -> int:
        """The number of elements in a word."""
        return in_a_word(self.data.type.element_type)

    def evaluate(self, data: Array) -> Array:
        axis, size, count = self.normal_axis, data.shape[self.normal_axis], self.count
        bits = np.ascontiguousarray(data).view(np.uint8 if count == BYTES else np.uint16)
        filled = np.pad(bits, [(0, -size % count * (d == axis)) for d in range(data.ndim)])
        parts = filled.reshape([*data.shape[:axis], -(-size // count), count, *data.shape[axis + 1 :]])
        words = [np.take(parts, n, axis + 1).astype(np.uint32) << 8 * BYTES // count * n for n in range(count)]
        return reduce(np.bitwise_or, words).astype(np.int32)


def becomes_words(value: SSAValue) -> bool:
    """Return whether numbers of 16 bits, and views of them, are only packed in words."""
    users = [use.operation for use in value.uses]
    views = [user.results[0] for user in users if isinstance(user, tensor.CollapseShapeOp | tensor.ExpandShapeOp)]
    packed = [user for user in users if isinstance(user, PackBytesOp)]
    is_narrow = tensor_type(value.type).element_type in _SHORT
    return is_narrow and 0 < len(users) == len(packed) + len(views) and all(map(becomes_words, views))


def in_a_word(element_type: Attribute) -> int:
    """Return the number of elements that a word has."""
    return BYTES // 2 if element_type in _SHORT else BYTES


def unpacked(words: Array, axis: int, dtype: Any) -> Array:
    """Return the bytes of words along a dimension, as integers of 32 bits."""
    axis %= words.ndim
    parts = [(words >> 8 * n).astype(dtype).astype(np.int32) for n in range(BYTES)]
    shape = [*words.shape[:axis], BYTES * words.shape[axis], *words.shape[axis + 1 :]]
    return np.stack(parts, axis + 1).reshape(shape)


class PackedProduct(Operator, ABC, exactness=Exactness.BITS):
    """An operator that multiplies the unsigned bytes of its first operand with the signed ones of its second operand,
    and adds up the products as integers of 32 bits."""

    @classmethod
    def infer_results(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> tuple[SizedType, ...]:
        expect_element_type(operands[0], (i32,), "operands")
        return super().infer_results(operands, properties)


@declared
class MatmulPackedOp(PackedProduct, MatrixProduct):
    """
    The matrix product, as `relex.matmul`, of unsigned bytes with signed ones, each packed along the dimension that is
    summed.

    ```mlir
    %c = relex.matmul_packed %a, %b : (tensor<3x16xi32>, tensor<16x5xi32>) -> tensor<3x5xi32>
    ```
    """

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return unpacked(lhs, -1, np.uint8) @ unpacked(rhs, max(rhs.ndim - 2, 0), np.int8)


class PairsProduct(Operator, ABC):
    """An operator that multiplies numbers of bf16 in words, and adds up the products in f32."""

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (i32,), "operands")
        return SizedType(f32, super().infer(operands, properties).get_shape())


@declared
class MatmulPairsOp(PairsProduct, MatrixProduct):
    """
    The matrix product, as `relex.matmul`, of numbers of bf16, packed in pairs along the dimension that is summed. It is
    added up in f32. Numbers below 2**-126 may count as zeros.

    ```mlir
    %c = relex.matmul_pairs %a, %b : (tensor<3x16xi32>, tensor<16x5xi32>) -> tensor<3x5xf32>
    ```
    """

    @property
    def terms(self) -> int:
        return 2 * super().terms

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return pairs(lhs, -1) @ pairs(rhs, max(rhs.ndim - 2, 0))


def pairs(words: Array, axis: int) -> Array:
    """Return the numbers of bf16 in words along a dimension, as f32."""
    axis %= words.ndim
    bits = np.stack([words << 16, words & -(2**16)], axis + 1).astype(np.int32)
    shape = [*words.shape[:axis], 2 * words.shape[axis], *words.shape[axis + 1 :]]
    return bits.view(np.float32).reshape(shape)


class ShortsProduct(Operator, ABC, exactness=Exactness.BITS):
    """An operator that multiplies signed integers of 16 bits in words, and adds up the products as integers of 32
    bits, which wrap around."""

    @classmethod
    def infer_results(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> tuple[SizedType, ...]:
        expect_element_type(operands[0], (i32,), "operands")
        return super().infer_results(operands, properties)


@declared
class MatmulShortsOp(ShortsProduct, MatrixProduct):
    """
    The matrix product, as `relex.matmul`, of signed integers of 16 bits, packed in pairs along the dimension that is
    summed.

    ```mlir
    %c = relex.matmul_shorts %a, %b : (tensor<3x16xi32>, tensor<16x5xi32>) -> tensor<3x5xi32>
    ```
    """

    def evaluate(self, lhs: Array, rhs: Array) -> Array:
        return shorts(lhs, -1) @ shorts(rhs, max(rhs.ndim - 2, 0))


def shorts(words: Array, axis: int) -> Array:
    """Return the integers of 16 bits in words along a dimension, as integers of 32 bits."""
    axis %= words.ndim
    parts = np.stack([words.astype(np.int16), (words >> 16).astype(np.int16)], axis + 1).astype(np.int32)
    return parts.reshape([*words.shape[:axis], 2 * words.shape[axis], *words.shape[axis + 1 :]])


class PackedConvolution(PackedProduct, Convolution, ABC):
    """A convolution of unsigned bytes with signed ones, each packed along the input channels of a group."""

    DOCUMENTATION: ClassVar = """
    The convolution, as `relex.conv{rank}d`, of unsigned bytes with signed ones, each packed along the input channels.

    ```mlir
    %y = relex.conv{rank}d_packed %x, %w padding = {1s}
        : (tensor<1x3x{8x}xi32>, tensor<16x3x{3x}xi32>) -> tensor<1x16x{8x}xi32>
    ```
    """

    def evaluate(self, x: Array, weight: Array) -> Array:
        return super().evaluate(unpacked(x, 1, np.uint8), unpacked(weight, 1, np.int8))


Conv1dPackedOp, Conv2dPackedOp, Conv3dPackedOp = for_ranks(PackedConvolution, "Conv{}dPackedOp")


class ConvolutionOfWords(BlockedConvolution, ABC):
    """A convolution with channels in blocks, several to a word. Channels are not convolved on their own."""

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        expect_element_type(operands[0], (i32,), "operands")
        if "depthwise" in properties:
            raise InferenceError("expected channels that are added up, found channels on their own")
        return super().infer(operands, properties)


@declared
class Conv2dBlockedPackedOp(PackedProduct, ConvolutionOfWords):
    """
    The convolution, as `relex.conv2d_blocked`, of unsigned bytes with signed ones, each packed along the input channels
    of a block. If a block is one word, the data may be `[N, C, H, W]`. Channels are not convolved on their own.

    ```mlir
    %y = relex.conv2d_blocked_packed %x, %w padding = [1, 1]
        : (tensor<1x2x8x8x8xi32>, tensor<4x2x3x3x8x32xi32>) -> tensor<1x4x8x8x32xi32>
    ```
    """

    def evaluate(self, x: Array, weight: Array) -> Array:
        data = x.reshape((*x.shape, 1)[:5])
        return super().evaluate(unpacked(data, 4, np.uint8), unpacked(weight, 4, np.int8))


@declared
class Conv2dBlockedPairsOp(PairsProduct, ConvolutionOfWords):
    """
    The convolution, as `relex.conv2d_blocked`, of numbers of bf16, packed in pairs along the input channels of a block.
    It is added up in f32. Numbers below 2**-126 may count as zeros. Channels are not convolved on their own.

    ```mlir
    %y = relex.conv2d_blocked_pairs %x, %w padding = [1, 1]
        : (tensor<1x2x8x8x16xi32>, tensor<4x2x3x3x16x32xi32>) -> tensor<1x4x8x8x32xf32>
    ```
    """

    @property
    def terms(self) -> int:
        return 2 * super().terms

    def evaluate(self, x: Array, weight: Array) -> Array:
        return super().evaluate(pairs(x.reshape((*x.shape, 1)[:5]), 4), pairs(weight, 4))


@declared
class Conv2dBlockedShortsOp(ShortsProduct, ConvolutionOfWords):
    """
    The convolution, as `relex.conv2d_blocked`, of signed integers of 16 bits, packed in pairs along the input channels
    of a block. Channels are not convolved on their own.

    ```mlir
    %y = relex.conv2d_blocked_shorts %x, %w padding = [1, 1]
        : (tensor<1x2x8x8x16xi32>, tensor<4x2x3x3x16x32xi32>) -> tensor<1x4x8x8x32xi32>
    ```
    """

    def evaluate(self, x: Array, weight: Array) -> Array:
        return super().evaluate(shorts(x.reshape((*x.shape, 1)[:5]), 4), shorts(weight, 4))
