"""Data that are rounded to bytes in blocks, and products of them with weights in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, i8, i32

from relex.dialects.index.expr import constant_of
from relex.dialects.relex import BlockDigitsOp, BlockScalesOp, DenseWordsOp, RoundBlocksOp
from relex.dialects.relex.block_quantized import layout_of
from relex.dialects.relex.block_words import LARGEST
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.lowering import te
from relex.lowering.legalizations.block_quantized import bytes_of, place_of
from relex.lowering.legalizations.elementwise import ScalarFunctions
from relex.lowering.legalizations.legalization_table import legalizes

ONES = 0x01010101
"""A word of four bytes that are 1."""

SHORT_ONES = 0x00010001
"""A word of two integers of 16 bits that are 1."""

LOW_BYTES = 0x00FF00FF
"""A word of which the low bytes of both halves are ones."""

LOW_HALVES = 0x0F0F0F0F
"""A word of four bytes whose low halves are ones."""


@legalizes(BlockScalesOp)
def block_scales(op: BlockScalesOp, x: te.Tensor) -> te.Tensor:
    """Legalize to the largest number of each block, and its product with a number."""
    return _scales(x, as_integer(op.size))


def _scales(x: te.Tensor, size: int) -> te.Tensor:
    k = te.reduce_axis(size)
    shape = (*x.shape[:-1], x.shape[-1] // size)
    largest = te.compute(shape, lambda *i: te.max(abs(x[*i[:-1], i[-1] * size + k]), axis=k), name="largest")
    return te.compute(shape, lambda *i: largest[*i] * (1 / LARGEST), name="block_scales")


@legalizes(BlockDigitsOp)
def block_digits(op: BlockDigitsOp, x: te.Tensor, scales: te.Tensor) -> te.Tensor:
    """Legalize to a product with the reciprocal of a scale, which is rounded."""
    size = constant_of(x.shape[-1]) // constant_of(scales.shape[-1])
    return te.compute(x.shape, _digits(x, scales, size), name="block_digits")


def _digits(x: te.Tensor, scales: te.Tensor, size: int) -> te.OfIndices:
    factors = te.compute(
        scales.shape, lambda *i: te.select(te.compare("greater", scales[*i], 0.0), 1 / scales[*i], 0.0), name="factors"
    )
    return lambda *i: te.cast(te.call("round", x[*i] * factors[*i[:-1], i[-1] // size]), i8)


@legalizes(RoundBlocksOp)
def round_blocks(op: RoundBlocksOp, x: te.Tensor) -> te.Tensor:
    """Legalize to the bytes of each block times its scale."""
    size = as_integer(op.size)
    scales = _scales(x, size)
    digit = _digits(x, scales, size)
    return te.compute(x.shape, lambda *i: te.cast(digit(*i), f32) * scales[*i[:-1], i[-1] // size], name="round_blocks")


@legalizes(DenseWordsOp)
def dense_words(op: DenseWordsOp, x: te.Tensor, factors: te.Tensor, scales: te.Tensor, digits: te.Tensor) -> te.Tensor:
    """Legalize to a sum of products of words for each group, and the sum of these times both scales. What is added to
    digits, and minima, multiply sums of `x`."""
    layout, f, halves, least = layout_of(op.properties), ScalarFunctions(), op.halves, as_integer(op.least)
    *rows, _ = x.shape
    rank, columns, size = len(rows), digits.shape[0], prod(layout.numbers) // BYTES
    blocks = scales.shape[1] // layout.scale_bytes
    # A word of digits is multiplied in parts: low and high halves of bytes, or even and odd bytes.
    parts, bits, mask, ones, times = (
        (2, 8, LOW_BYTES, SHORT_ONES, "dot2i") if op.in_pairs else (halves, 4, LOW_HALVES, ONES, "dot4")
    )
    word = te.reduce_axis(size // halves, "w")
    half = te.reduce_axis(parts, "h")

    def of_group(i: Sequence[te.PrimExpr]) -> te.PrimExpr:
        """Return a word of `x`, by the indices of a row, a block, a group and a word."""
        return x[*i[:rank], place_of([*i[rank:], word, half])]

    def product(*i: te.Axis) -> te.PrimExpr:
        *outer, column = i
        packed = digits[column, place_of([*outer[rank:], word])]
        if parts > 1:
            packed = f.bitwise_and(f.right_shift(packed, te.cast(half * bits, i32)), mask)
        return te.sum(te.call(times, packed, of_group(outer)), axis=[word, half])

    shape = (*rows, blocks, *layout.groups)
    total = te.compute((*shape, columns), product, name="total")
    sums = te.compute(shape, lambda *i: te.sum(te.call(times, ones, of_group(i)), axis=[word, half]), name="sums")
    block = te.reduce_axis(blocks, "b")
    groups = [te.reduce_axis(count, f"g{d}") for d, count in enumerate(layout.groups)]

    def element(*i: te.Axis) -> te.PrimExpr:
        row, column = i[:-1], i[-1]
        byte = bytes_of(scales, [column], block, layout.scale_bytes)
        group = [*row, block, *groups]
        factor = factors[*row, place_of([block, *groups])]
        products = te.cast(total[*group, column] + sums[*group] * least, f32)
        scaled = layout.scale(f, byte, *groups) * factor * products
        if layout.minimum is not None:
            scaled = layout.minimum(f, byte, *groups) * (factor * te.cast(sums[*group], f32)) + scaled
        return te.sum(scaled, axis=[block, *groups])

    return te.compute((*rows, columns), element, name="dense_words")
