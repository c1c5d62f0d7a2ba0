"""Data that are rounded to bytes in blocks, with a scale each, and products of them with weights in blocks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute
from xdsl.irdl import prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import tensor_operand_def, ui8
from relex.dialects.errors import InferenceError
from relex.dialects.relex.block_quantized import layout_of, numbers_of
from relex.dialects.relex.declared import declared
from relex.dialects.relex.numpy_functions import cast
from relex.dialects.relex.operator import Exactness, Operand, Operator
from relex.dialects.relex.packed import BYTES, shorts, unpacked
from relex.dialects.relex.properties import IntegerConstr, StringConstr, as_integer
from relex.dialects.relex.types import SizedType, expect_element_type, expect_equal, shape_of
from relex.dialects.sizes import equal
from relex.dialects.tir.op_pattern import OpPattern

LARGEST = 127
"""The largest byte that data are rounded to."""


def scales_of_blocks(data: Array, size: int) -> Array:
    """Return the largest number of each block along the last dimension, without its sign, times `1 / 127`."""
    blocks = data.reshape(*data.shape[:-1], data.shape[-1] // size, size)
    return np.max(np.abs(blocks), -1) * np.float32(1 / LARGEST)


def digits_of_blocks(data: Array, scales: Array) -> Array:
    """Return data in blocks, each times the reciprocal of its scale, as bytes."""
    blocks = data.reshape(*scales.shape, data.shape[-1] // max(scales.shape[-1], 1))
    with np.errstate(divide="ignore"):
        factors = np.where(scales > 0, np.float32(1) / scales, np.float32(0))
    return cast(np.round(blocks * factors[..., None]), i8).reshape(data.shape)


def _expect_blocks(data: SizedType, size: int) -> None:
    expect_element_type(data, (f32,), "data")
    if size < 1 or not data.get_shape():
        raise InferenceError(f"expected data of rank 1 or more in blocks of 1 or more, found {size}")
    if not equal(data.get_shape()[-1] % size, 0):
        raise InferenceError(f"expected data in blocks of {size}, found {data.get_shape()[-1]}")


class OfBlocks(Operator, ABC):
    """An operator of data in blocks of `size` numbers along the last dimension."""

    data = tensor_operand_def()
    size = prop_def(IntegerConstr)

    def __init__(self, data: Operand, size: int):
        super().__init__(data, properties={"size": size})


@declared
class RoundBlocksOp(OfBlocks, exactness=Exactness.NUMBERS, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    Numbers in blocks along the last dimension, each rounded to a multiple of its block's scale: the largest number of
    the block, without its sign, times `1 / 127`. Of two multiples that are equally near, the even one is taken. So a
    number is off by `1 / 254` of the largest one. A block with an infinite number or NaN becomes NaN.

    ```mlir
    %y = relex.round_blocks %x size = 32 : (tensor<2x64xf32>) -> tensor<2x64xf32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        _expect_blocks(operands[0], as_integer(properties["size"]))
        return SizedType(f32, operands[0].get_shape())

    def evaluate(self, data: Array) -> Array:
        size = as_integer(self.size)
        scales = scales_of_blocks(data, size)
        digits = digits_of_blocks(data, scales).astype(np.float32)
        return (digits.reshape(*scales.shape, size) * scales[..., None]).reshape(data.shape)


@declared
class BlockScalesOp(OfBlocks, exactness=Exactness.NUMBERS, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    The scales of numbers in blocks along the last dimension, by which `relex.round_blocks` rounds them.

    ```mlir
    %s = relex.block_scales %x size = 32 : (tensor<2x64xf32>) -> tensor<2x2xf32>
    ```
    """

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        size = as_integer(properties["size"])
        _expect_blocks(operands[0], size)
        *rows, terms = operands[0].get_shape()
        return SizedType(f32, (*rows, terms // size))

    def evaluate(self, data: Array) -> Array:
        return scales_of_blocks(data, as_integer(self.size))


@declared
class BlockDigitsOp(Operator, exactness=Exactness.NUMBERS, pattern=OpPattern.INJECTIVE):
    """
    The multiples of its scale, as bytes, to which `relex.round_blocks` rounds each number of a block.

    ```mlir
    %d = relex.block_digits %x, %s : (tensor<2x64xf32>, tensor<2x2xf32>) -> tensor<2x64xi8>
    ```
    """

    data = tensor_operand_def()
    scales = tensor_operand_def()

    def __init__(self, data: Operand, scales: Operand):
        super().__init__(data, scales)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, scales = (t.get_shape() for t in operands)
        expect_element_type(operands[1], (f32,), "scales")
        if not scales or len(data) != len(scales):
            raise InferenceError("expected data and a scale for each block of them, of the same rank")
        if not isinstance(data[-1], int) or not isinstance(scales[-1], int) or not scales[-1]:
            raise InferenceError("expected rows of a known size, and a known number of scales for each")
        _expect_blocks(operands[0], scales[-1])
        for d, (size, count) in enumerate(zip(data[:-1], scales[:-1], strict=True)):
            expect_equal(count, size, f"sizes {d} of scales and data")
        return SizedType(i8, data)

    def evaluate(self, data: Array, scales: Array) -> Array:
        return digits_of_blocks(data, scales)


@declared
class DenseWordsOp(Operator, pattern=OpPattern.OUT_ELEMENTWISE_FUSABLE):
    """
    A dense layer, as `relex.dense_blocks`, of data in blocks of bytes, each with a scale: `relex.block_digits`, packed
    in words. Digits of the weight are unsigned, in words, too: a word has four of 8 bits, or eight of 4 bits, the first
    four in the low halves of its bytes; `least` is added to each. Products of a group of numbers are added up as
    integers, and then multiplied with both scales.

    Data may also be integers of 16 bits, two to a word. Then the even bytes of a word of digits are the first two of
    four, and the odd ones the others: both become integers of 16 bits by a mask.

    ```mlir
    %y = relex.dense_words %x, %s, %scales, %digits layout = "Q4_0" least = -8
        : (tensor<1x16xi32>, tensor<1x2xf32>, tensor<8x4xui8>, tensor<8x8xi32>) -> tensor<1x8xf32>
    ```
    """

    data = tensor_operand_def()
    data_scales = tensor_operand_def()
    scales = tensor_operand_def()
    digits = tensor_operand_def()
    layout = prop_def(StringConstr)
    least = prop_def(IntegerConstr)

    def __init__(self, data: Operand, data_scales: Operand, scales: Operand, digits: Operand, layout: str, least: int):
        super().__init__(data, data_scales, scales, digits, properties={"layout": layout, "least": least})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        layout = layout_of(properties)
        data, data_scales, scales, digits = (t.get_shape() for t in operands)
        expected = ((i32, "data"), (f32, "scales of data"), (ui8, "scales"), (i32, "digits"))
        for t, (kind, what) in zip(operands, expected, strict=True):
            expect_element_type(t, (kind,), what)
        if not data or len(data) != len(data_scales) or (len(scales), len(digits)) != (2, 2):
            raise InferenceError("expected data and their scales of the same rank, and scales and digits of rank 2")
        if not all(isinstance(size, int) for size in (data[-1], data_scales[-1], scales[1], digits[1])):
            raise InferenceError("expected rows of known sizes")
        for d, (size, count) in enumerate(zip(data[:-1], data_scales[:-1], strict=True)):
            expect_equal(count, size, f"sizes {d} of data and their scales")
        expect_equal(scales[0], digits[0], "first sizes of scales and digits")
        size = prod(layout.numbers)
        in_pairs = equal(data[-1] * 2, data_scales[-1] * size)
        words = data[-1] // 2 if in_pairs else data[-1]
        expect_equal(words * BYTES, data_scales[-1] * size, "numbers of data and of their blocks")
        expect_equal(scales[1] * layout.size, words * BYTES * layout.scale_bytes, "numbers of scales and of data")
        if digits[1] != words:
            expect_equal(digits[1] * (1 if in_pairs else 2), words, "words of digits and of data")
        return SizedType(f32, (*data[:-1], digits[0]))

    @property
    def halves(self) -> int:
        """The number of digits in a byte: two of 4 bits, or one."""
        return self.terms // BYTES // shape_of(self.digits)[-1]

    @property
    def in_pairs(self) -> bool:
        """Whether data are integers of 16 bits, two to a word."""
        return shape_of(self.data)[-1] * 2 == self.terms

    @property
    def terms(self) -> int:
        return shape_of(self.data_scales)[-1] * prod(layout_of(self.properties).numbers)

    def evaluate(self, data: Array, data_scales: Array, scales: Array, digits: Array) -> Array:
        layout, columns, rows = layout_of(self.properties), len(digits), prod(data.shape[:-1])
        blocks, size = scales.shape[1] // layout.scale_bytes, prod(layout.numbers)
        numbers = digits_in_words(digits, self.halves, in_pairs=self.in_pairs) + as_integer(self.least)
        x = shorts(data, -1) if self.in_pairs else unpacked(data, -1, np.int8)
        x = x.reshape(rows, data_scales.shape[-1], size)
        numbers = numbers.reshape(columns, data_scales.shape[-1], size)
        sums = np.einsum("rgk,cgk->rgc", x, numbers).astype(np.float32)
        # The digits do not matter: only scales and minima are taken.
        _, factors, minima = numbers_of(layout, scales, np.zeros((columns, blocks * layout.digit_bytes), np.uint8))
        of_data = data_scales.reshape(rows, data_scales.shape[-1])
        of_groups = (columns, data_scales.shape[-1])
        found = np.einsum("rgc,cg,rg->rc", sums, factors.reshape(of_groups), of_data)
        if minima is not None:
            found = found + np.einsum("rg,cg->rc", of_data * x.sum(-1), minima.reshape(of_groups))
        return found.astype(np.float32).reshape(*data.shape[:-1], columns)


def digits_in_words(words: Array, halves: int, *, in_pairs: bool = False) -> Array:
    """Return the unsigned digits of words, as integers of 32 bits."""
    whole = unpacked(words, -1, np.uint8)
    quads = whole.reshape(*words.shape, BYTES)
    if halves == 2:
        quads = np.concatenate([quads & 15, quads >> 4], -1)
    elif in_pairs:
        quads = quads[..., EVEN_THEN_ODD]
    return quads.reshape(*words.shape[:-1], words.shape[-1] * halves * BYTES)


def words_of_digits(digits: Array, halves: int, *, in_pairs: bool = False) -> Array:
    """Return the words of unsigned digits, which are bytes."""
    quads = digits.reshape(*digits.shape[:-1], -1, halves, BYTES)
    if halves == 2:
        digits = quads[..., 0, :] | quads[..., 1, :] << 4
    elif in_pairs:
        digits = quads[..., EVEN_THEN_ODD]
    return np.ascontiguousarray(digits).reshape(len(digits), -1).view(np.int32)


EVEN_THEN_ODD = [0, 2, 1, 3]
"""The bytes of a word for four digits in their order, and the digits for four bytes, where data are in pairs."""
