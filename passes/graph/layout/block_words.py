"""Products of data that are rounded to bytes in blocks with weights in blocks, as products of words."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i16
from xdsl.ir import Block, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.op_edits import insert_before, replace_by
from relex.dialects.relex.block_layouts import BLOCK_LAYOUTS, BlockLayout
from relex.dialects.relex.block_quantized import layout_of, numbers_of
from relex.dialects.relex.block_words import words_of_digits
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.dialects.shared_work import each_part
from relex.passes.rewriting.constants import erase_unused_constants

COLUMNS_AT_ONCE = 16
"""Columns whose digits are unpacked at the same time: as integers of 32 bits, they take several times their bytes."""


Rounded = dict[tuple[SSAValue, int, bool, Block | None], tuple[SSAValue, SSAValue]]
"""The words, perhaps in pairs, and the scales of data that have been rounded in blocks of a size, in a block of
operations."""


def delay_scales_of_blocks(op: relex.DenseBlocksOp, known: Rounded, *, in_pairs: bool) -> None:
    """Replace a product with a constant weight in blocks whose data are rounded for the same groups of numbers. What is
    `known` of data, other products of them share. With `in_pairs`, digits of 8 bits are multiplied as integers of 16
    bits, two to a word."""
    layout, rounded = layout_of(op.properties), op.data.owner
    scales, digits = relex.array_of(op.scales), relex.array_of(op.digits)
    size = prod(layout.numbers)
    if scales is None or digits is None:
        return
    if not isinstance(rounded, relex.RoundBlocksOp) or as_integer(rounded.size) != size:
        return
    name, apart = layout.with_minima or op.layout.data, None
    if name != op.layout.data:
        scales, digits = _zeros_with_scales(layout, scales, digits)
        layout, apart = BLOCK_LAYOUTS[name], relex.ConstantOp(scales)
    if layout.digits is None or len(layout.digits) > 2**8:
        return
    halves = 2 if len(layout.digits) <= 2**4 else 1
    if size % (halves * BYTES):
        return
    in_pairs &= halves == 1
    key = (rounded.data, size, in_pairs, rounded.parent)
    if key not in known:
        known[key] = _words_of_data(rounded, in_pairs=in_pairs)
    words, of_data = known[key]
    weight = relex.ConstantOp(_words(layout, digits, halves, in_pairs=in_pairs))
    for constant in filter(None, (apart, weight)):
        constant.location = op.location
        insert_before(op, constant)
    before = (op.scales.owner, op.digits.owner)
    factors = op.scales if apart is None else apart.result
    replace_by(op, relex.DenseWordsOp(words, of_data, factors, weight, name, layout.digits[0]))
    erase_unused_constants(before)


def _zeros_with_scales(layout: BlockLayout, scales: Array, digits: Array) -> tuple[Array, Array]:
    """Return the bytes of scales, with the zero points of blocks after them, and the bytes of digits without these."""
    columns = len(digits)
    of_scales = scales.reshape(columns, -1, layout.scale_bytes)
    of_digits = digits.reshape(columns, -1, layout.digit_bytes)
    together = np.concatenate([of_scales, of_digits[..., :1]], -1)
    return together.reshape(columns, -1), np.ascontiguousarray(of_digits[..., 1:]).reshape(columns, -1)


def _words_of_data(rounded: relex.RoundBlocksOp, *, in_pairs: bool) -> tuple[SSAValue, SSAValue]:
    """Return the words of rounded data, and their scales, made where the data are rounded."""
    scales = relex.BlockScalesOp(rounded.data, as_integer(rounded.size))
    digits = relex.BlockDigitsOp(rounded.data, scales)
    insert_before(rounded, scales, digits)
    numbers = insert_before(rounded, relex.AstypeOp(digits, i16)) if in_pairs else digits
    return insert_before(rounded, relex.PackBytesOp(numbers, -1)).result, scales.result


def _words(layout: BlockLayout, digits: Array, halves: int, *, in_pairs: bool) -> Array:
    """Return the words of the digits of a weight."""
    assert layout.digits is not None
    least = layout.digits[0]
    columns, blocks = len(digits), digits.shape[1] // layout.digit_bytes
    found = np.empty((columns, blocks * layout.size // (halves * BYTES)), np.int32)
    scales = np.zeros((COLUMNS_AT_ONCE, blocks * layout.scale_bytes), np.uint8)  # They do not matter.

    def unpack(some: slice) -> None:
        for first in range(some.start, some.stop, COLUMNS_AT_ONCE):
            part = digits[first : min(first + COLUMNS_AT_ONCE, some.stop)]
            numbers, *_ = numbers_of(layout, scales[: len(part)], part)
            unsigned = (numbers.reshape(len(part), -1) - least).astype(np.uint8)
            found[first : first + len(part)] = words_of_digits(unsigned, halves, in_pairs=in_pairs)

    each_part(columns, found.nbytes, unpack)
    return found
