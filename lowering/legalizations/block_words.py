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
    word = te.reduce_axis(size // halves, "w")
    half = te.reduce_axis(halves, "h")

    def of_group(i: Sequence[te.PrimExpr]) -> te.PrimExpr:
        """Return a word of `x`, by the indices of a row, a block, a group and a word."""
        return x[*i[:rank], place_of([*i[rank:], word, half])]

    def product(*i: te.Axis) -> te.PrimExpr:
        *outer, column = i
        packed = digits[column, place_of([*outer[rank:], word])]
        if halves > 1:
            packed = f.bitwise_and(f.right_shift(packed, te.cast(half * 4, i32)), LOW_HALVES)
        return te.sum(te.call("dot4", packed, of_group(outer)), axis=[word, half])

    shape = (*rows, blocks, *layout.groups)
    total = te.compute((*shape, columns), product, name="total")
    sums = te.compute(shape, lambda *i: te.sum(te.call("dot4", ONES, of_group(i)), axis=[word, half]), name="sums")
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
