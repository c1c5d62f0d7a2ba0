"""Products of data that are rounded to bytes in blocks with weights in blocks, as products of words."""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array, np
from relex.dialects.op_edits import insert_before, replace_by
from relex.dialects.relex.block_layouts import BlockLayout
from relex.dialects.relex.block_quantized import layout_of, numbers_of
from relex.dialects.relex.block_words import words_of_digits
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer
from relex.passes.rewriting.constants import erase_unused_constants

COLUMNS_AT_ONCE = 64
"""Columns whose digits are unpacked at the same time: as integers of 32 bits, they take several times their bytes."""


def delay_scales_of_blocks(op: relex.DenseBlocksOp) -> None:
    """Replace a product with a constant weight in blocks whose data are rounded for the same groups of numbers."""
    layout, digits, rounded = layout_of(op.properties), relex.array_of(op.digits), op.data.owner
    size = prod(layout.numbers)
    if digits is None or not isinstance(rounded, relex.RoundBlocksOp) or as_integer(rounded.size) != size:
        return
    if layout.digits is None or len(layout.digits) > 2**8:
        return
    halves = 2 if len(layout.digits) <= 2**4 else 1
    if size % (halves * BYTES) or (packed := _words(layout, digits, layout.digits, halves)) is None:
        return
    weight = relex.ConstantOp(packed)
    weight.location = op.location
    words, scales = _bytes_of(rounded, op)
    insert_before(op, weight)
    before = op.digits.owner
    replace_by(op, relex.DenseWordsOp(words, scales, op.scales, weight, op.layout.data, layout.digits[0]))
    erase_unused_constants([before])


def _bytes_of(rounded: relex.RoundBlocksOp, op: Operation) -> tuple[SSAValue, SSAValue]:
    """Return the words of rounded data, and their scales, which another product before this one may read as well."""
    for user in (use.operation for use in rounded.data.uses):
        if isinstance(user, relex.BlockScalesOp) and user.size == rounded.size and user.parent is op.parent:
            digits = next(use.operation for use in user.result.uses if isinstance(use.operation, relex.BlockDigitsOp))
            (words,) = (use.operation for use in digits.result.uses)
            if words.is_before_in_block(op):
                return words.results[0], user.result
    scales = relex.BlockScalesOp(rounded.data, as_integer(rounded.size))
    digits = relex.BlockDigitsOp(rounded.data, scales)
    words = relex.PackBytesOp(digits, -1)
    insert_before(op, scales, digits, words)
    return words.result, scales.result


def _words(layout: BlockLayout, digits: Array, expected: range, halves: int) -> Array | None:
    """Return the words of the digits of a weight; None if some are beyond what the layout says, as they are where zero
    points have more bits than digits."""
    columns, blocks = len(digits), digits.shape[1] // layout.digit_bytes
    found = np.empty((columns, blocks * layout.size // (halves * BYTES)), np.int32)
    scales = np.zeros((COLUMNS_AT_ONCE, blocks * layout.scale_bytes), np.uint8)  # They do not matter.
    for first in range(0, columns, COLUMNS_AT_ONCE):
        part = digits[first : first + COLUMNS_AT_ONCE]
        numbers, *_ = numbers_of(layout, scales[: len(part)], part)
        if numbers.min() < expected[0] or numbers.max() > expected[-1]:
            return None
        unsigned = (numbers.reshape(len(part), -1) - expected[0]).astype(np.uint8)
        found[first : first + len(part)] = words_of_digits(unsigned, halves)
    return found
