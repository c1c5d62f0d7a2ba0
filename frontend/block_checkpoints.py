"""Weights of 2, 4 and 8 bits as AWQ and GPTQ write them in files, brought into blocks of `relex.dequantize_blocks`.

Both pack unsigned integers in words of 32 bits, and have a scale and a zero point for each group of inputs and each
output: a weight is `(q - zero) * scale`.
"""

from __future__ import annotations

from dataclasses import dataclass

from relex.dialects.arrays import Array, np
from relex.dialects.errors import RangeError
from relex.dialects.relex.block_layouts import SIZES_OF_FEW_BITS, name_of_few_bits

WORD = 32
"""The bits of a word."""

AWQ_PLACES = (0, 4, 1, 5, 2, 6, 3, 7)
"""Where a word of AWQ has its eight integers: the second one is the fifth from the low end."""


@dataclass(frozen=True)
class BlockWeight:
    """A weight `[outputs, inputs]` in blocks. With an `order`, the inputs are in that order: the data of a product are
    `x[..., order]`."""

    blocks: Array
    layout: str
    order: Array | None = None


def blocks_of_awq(qweight: Array, qzeros: Array, scales: Array) -> BlockWeight:
    """Return a weight of AWQ: words `[inputs, outputs / 8]` of 4 bits, and, for each group, words of zero points and
    scales `[groups, outputs]`. Raises `RangeError` for sizes that do not match."""
    digits, zeros = (_integers(words, 4)[..., AWQ_PLACES].reshape(len(words), -1) for words in (qweight, qzeros))
    return BlockWeight(*_in_blocks(digits, zeros, scales, 4))


def blocks_of_gptq(
    qweight: Array,
    qzeros: Array,
    scales: Array,
    g_idx: Array | None = None,
    *,
    bits: int = 4,
    zeros_less_one: bool = True,
) -> BlockWeight:
    """Return a weight of GPTQ: words `[inputs * bits / 32, outputs]`, and, for each group, words of zero points, which
    are stored less one but in the second version of the format, and scales `[groups, outputs]`. `g_idx` has the group
    of each input. Raises `RangeError` for sizes that do not match, and for groups of different sizes."""
    if bits not in (2, 4, 8):
        raise RangeError(f"expected numbers of 2, 4 or 8 bits, found {bits}")
    digits = np.moveaxis(_integers(qweight, bits), -1, 1).reshape(-1, qweight.shape[1])
    zeros = _integers(qzeros, bits).reshape(len(qzeros), -1) + zeros_less_one
    order = None
    if g_idx is not None and (np.diff(g_idx) < 0).any():
        order = np.argsort(g_idx, kind="stable")
        digits = digits[order]
    if g_idx is not None and (np.bincount(g_idx, minlength=len(scales)) * len(scales) != len(digits)).any():
        raise RangeError("expected groups of the same size in g_idx")
    return BlockWeight(*_in_blocks(digits, zeros, scales, bits), order)


def _integers(words: Array, bits: int) -> Array:
    """Return the integers of words along a new last dimension, the low ones first."""
    shifts = np.arange(0, WORD, bits, dtype=np.uint32)
    return (words.astype(np.uint32)[..., None] >> shifts & np.uint32(2**bits - 1)).astype(np.int32)


def _in_blocks(digits: Array, zeros: Array, scales: Array, bits: int) -> tuple[Array, str]:
    """Return the blocks of digits `[inputs, outputs]`, and the name of their layout. Large groups become several."""
    (inputs, outputs), groups = digits.shape, len(scales)
    if scales.shape != zeros.shape or scales.shape[1] != outputs or inputs % groups:
        raise RangeError(f"expected scales and zero points of {outputs} outputs, found {scales.shape}, {zeros.shape}")
    group = inputs // groups
    size = max((size for size in SIZES_OF_FEW_BITS if group % size == 0), default=0)
    if not size:
        raise RangeError(f"expected groups of a multiple of {SIZES_OF_FEW_BITS[0]} inputs, found {group}")
    if zeros.max(initial=0) > 255:
        raise RangeError("expected zero points up to 255")
    has_halves = scales.dtype == np.float16
    factors = np.ascontiguousarray(scales.T if has_halves else scales.T.astype(np.float32))
    blocks = inputs // size
    numbers = digits.T.reshape(outputs, blocks, size * bits // 8, 8 // bits).astype(np.uint8)
    packed = np.bitwise_or.reduce(numbers << np.arange(0, 8, bits, dtype=np.uint8), -1)
    parts = [
        np.repeat(factors.view(np.uint8).reshape(outputs, groups, -1), blocks // groups, 1),
        np.repeat(zeros.T.astype(np.uint8)[..., None], blocks // groups, 1),
        packed,
    ]
    layout = name_of_few_bits(bits, size, has_zeros=True, has_halves=has_halves)
    return np.concatenate(parts, -1).reshape(outputs, -1), layout
