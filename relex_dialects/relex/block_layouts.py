"""Layouts of numbers that are stored in blocks, each with a scale, as files of language models have them.

A layout is one declaration: where its bytes are, and what they mean. The formulas serve the definition in NumPy and the
loops alike, as formulas of elementwise operators do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import f16, f32, i8, i16, i32

from relex.dialects.relex.elementwise import Element, Functions
from relex.dialects.table import Table

Bytes: TypeAlias = Callable[[Element], Element]
"""A function from the position of a byte in a part of a block to the byte, an integer of 32 bits from 0 to 255."""


@dataclass(frozen=True)
class BlockLayout:
    """
    A layout of blocks of bytes. A block consists of groups of numbers, in row-major order of `groups` and then of
    `numbers`; each number is `digit * scale`, or `digit * scale + minimum`, computed in f32, where the scale and the
    minimum are the same for a group.

    One part of the bytes has the scales and minima, the other one the digits. Formulas get the functions that they
    may use, the bytes of their part, and the indices in `groups`; formulas of digits also the indices in `numbers`.
    """

    groups: tuple[int, ...]
    numbers: tuple[int, ...]
    scale_bytes: int
    digit_bytes: int
    scale: Callable[..., Element]
    digit: Callable[..., Element]
    minimum: Callable[..., Element] | None = None
    digits_first: bool = False
    """Whether the bytes of the digits come before the bytes of the scales."""
    digits: range | None = None
    """The range of the digits, where they are integers; products with bytes need it."""
    with_minima: str = ""
    """The name of the layout of the same numbers whose zero points are not subtracted from digits, but are minima: the
    first byte of the digits of a block is the last one of its scales there."""

    @property
    def size(self) -> int:
        """The count of numbers in a block."""
        return prod(self.groups) * prod(self.numbers)

    @property
    def bytes(self) -> int:
        """The count of bytes in a block."""
        return self.scale_bytes + self.digit_bytes

    @property
    def first_digit(self) -> int:
        """The place of the first byte of the digits in a block."""
        return 0 if self.digits_first else self.scale_bytes

    @property
    def first_scale(self) -> int:
        """The place of the first byte of the scales in a block."""
        return self.digit_bytes if self.digits_first else 0


BLOCK_LAYOUTS = Table[str, BlockLayout]("block layouts")
"""The layouts by name; other packages add theirs."""


def _half(f: Functions, byte: Bytes, place: int = 0) -> Element:
    """Return the float of 16 bits at a place."""
    return f.cast(f.bitcast(f.cast(byte(place) + byte(place + 1) * 256, i16), f16), f32)


def _single(f: Functions, byte: Bytes, place: int = 0) -> Element:
    """Return the float of 32 bits at a place."""
    low, high = (byte(place + n) + byte(place + n + 1) * 256 for n in (0, 2))
    return f.bitcast(low + f.left_shift(high, 16), f32)


def _bits(f: Functions, x: Element, first: Element, count: int) -> Element:
    """Return some bits of an integer, from a position that is an index."""
    return f.bitwise_and(f.right_shift(x, first if isinstance(first, int) else f.cast(first, i32)), 2**count - 1)


def _number(f: Functions, x: Element) -> Element:
    return f.cast(x, f32)


def _scale_of_half(f: Functions, byte: Bytes, *_: Element) -> Element:
    return _half(f, byte)


def _minimum_of_half(f: Functions, byte: Bytes, *_: Element) -> Element:
    return _half(f, byte, 2)


def _nibble_and_bit(f: Functions, byte: Bytes, h: Element, u: Element, t: Element) -> Element:
    """Return numbers of 5 bits: the fifth ones are in the first 4 bytes."""
    high = _bits(f, byte(2 * h + u), t, 1)
    return _bits(f, byte(4 + 8 * u + t), 4 * h, 4) + high * 16


def _of_table(f: Functions, byte: Bytes, h: Element, t: Element, numbers: Sequence[int]) -> Element:
    """Return the number of a nibble in a table of 16."""
    return f.look_up(f.right_shift(byte(t), f.cast(4 * h, i32)), numbers, f32)


def _four_bits(f: Functions, x: Element, first: Element, least: int) -> Element:
    """Return 4 bits of an integer, from a position that is an index, plus a number: looked up in a register, which
    takes one instruction, where the bits on their own, the sum and the conversion take three."""
    return f.look_up(f.right_shift(x, f.cast(first, i32)), range(least, least + 16), f32)


def _unsigned_nibble(f: Functions, byte: Bytes, h: Element, t: Element) -> Element:
    return _four_bits(f, byte(t), 4 * h, 0)


def _signed_nibble(f: Functions, byte: Bytes, h: Element, t: Element) -> Element:
    return _four_bits(f, byte(t), 4 * h, -8)


def _unsigned_five_bits(f: Functions, byte: Bytes, h: Element, u: Element, t: Element) -> Element:
    return _number(f, _nibble_and_bit(f, byte, h, u, t))


def _signed_five_bits(f: Functions, byte: Bytes, h: Element, u: Element, t: Element) -> Element:
    return _number(f, _nibble_and_bit(f, byte, h, u, t) - 16)


def _signed_byte(f: Functions, byte: Bytes, t: Element) -> Element:
    return _number(f, f.cast(byte(t), i8))


BLOCK_LAYOUTS["Q4_0"] = BlockLayout((), (2, 16), 2, 16, _scale_of_half, _signed_nibble, digits=range(-8, 8))
BLOCK_LAYOUTS["Q4_1"] = BlockLayout(
    (), (2, 16), 4, 16, _scale_of_half, _unsigned_nibble, _minimum_of_half, digits=range(16)
)
BLOCK_LAYOUTS["Q5_0"] = BlockLayout((), (2, 2, 8), 2, 20, _scale_of_half, _signed_five_bits, digits=range(-16, 16))
BLOCK_LAYOUTS["Q5_1"] = BlockLayout(
    (), (2, 2, 8), 4, 20, _scale_of_half, _unsigned_five_bits, _minimum_of_half, digits=range(32)
)
BLOCK_LAYOUTS["Q8_0"] = BlockLayout((), (32,), 2, 32, _scale_of_half, _signed_byte, digits=range(-128, 128))


def _six_bits(f: Functions, byte: Bytes, first: int, is_minimum: int, a: Element, b: Element, c: Element) -> Element:
    """Return the scale, or the minimum, of a group of 32 numbers: of the first four groups, 6 bits of a byte each; of
    the others, 4 bits of a byte and the 2 bits that those leave."""
    place = 2 * b + c
    own = byte(first + 4 * is_minimum + place)
    others = _bits(f, byte(first + 8 + place), 4 * is_minimum, 4) + _bits(f, own, 6, 2) * 16
    return _number(f, f.select(f.equal(f.cast(a, i32), 0), f.bitwise_and(own, 63), others))


def _scale_of_k(f: Functions, byte: Bytes, *g: Element) -> Element:
    return _half(f, byte) * _six_bits(f, byte, 4, 0, *g)


def _minimum_of_k(f: Functions, byte: Bytes, *g: Element) -> Element:
    return -(_half(f, byte, 2) * _six_bits(f, byte, 4, 1, *g))


def _digit_of_q4_k(f: Functions, byte: Bytes, a: Element, b: Element, c: Element, t: Element) -> Element:
    return _four_bits(f, byte(64 * a + 32 * b + t), 4 * c, 0)


def _digit_of_q5_k(f: Functions, byte: Bytes, a: Element, b: Element, c: Element, t: Element) -> Element:
    low = _bits(f, byte(32 + 64 * a + 32 * b + t), 4 * c, 4)
    return _number(f, low + _bits(f, byte(t), 4 * a + 2 * b + c, 1) * 16)


BLOCK_LAYOUTS["Q4_K"] = BlockLayout(
    (2, 2, 2), (32,), 16, 128, _scale_of_k, _digit_of_q4_k, _minimum_of_k, digits=range(16)
)
BLOCK_LAYOUTS["Q5_K"] = BlockLayout(
    (2, 2, 2), (32,), 16, 160, _scale_of_k, _digit_of_q5_k, _minimum_of_k, digits=range(32)
)


def _digit_of_q6_k(
    f: Functions, byte: Bytes, a: Element, high: Element, odd: Element, c: Element, t: Element
) -> Element:
    low = _bits(f, byte(64 * a + 32 * odd + 16 * c + t), 4 * high, 4)
    return _number(f, low + _bits(f, byte(128 + 32 * a + 16 * c + t), 4 * high + 2 * odd, 2) * 16 - 32)


def _scale_of_q6_k(f: Functions, byte: Bytes, a: Element, high: Element, odd: Element, c: Element) -> Element:
    return _half(f, byte, 16) * _number(f, f.cast(byte(8 * a + 4 * high + 2 * odd + c), i8))


BLOCK_LAYOUTS["Q6_K"] = BlockLayout(
    (2, 2, 2, 2), (16,), 18, 192, _scale_of_q6_k, _digit_of_q6_k, digits_first=True, digits=range(-32, 32)
)

_UNEVEN = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""The numbers of `IQ4_NL` and `IQ4_XS`, which are closer to each other near 0."""


def _uneven(f: Functions, byte: Bytes, h: Element, t: Element) -> Element:
    return _of_table(f, byte, h, t, _UNEVEN)


def _scale_of_iq4_xs(f: Functions, byte: Bytes, a: Element, b: Element) -> Element:
    low = _bits(f, byte(4 + a), 4 * b, 4)
    high = _bits(f, byte(2) + byte(3) * 256, 4 * a + 2 * b, 2)
    return _half(f, byte) * _number(f, low + high * 16 - 32)


def _digit_of_iq4_xs(f: Functions, byte: Bytes, a: Element, b: Element, h: Element, t: Element) -> Element:
    def byte_of_group(place: Element) -> Element:
        return byte(32 * a + 16 * b + place)

    return _uneven(f, byte_of_group, h, t)


BLOCK_LAYOUTS["IQ4_NL"] = BlockLayout((), (2, 16), 2, 16, _scale_of_half, _uneven, digits=range(-127, 114))
BLOCK_LAYOUTS["IQ4_XS"] = BlockLayout(
    (4, 2), (2, 16), 8, 128, _scale_of_iq4_xs, _digit_of_iq4_xs, digits=range(-127, 114)
)


def _scale_of_mxfp4(f: Functions, byte: Bytes) -> Element:
    """Return half of a power of two, of which the block has the biased exponent."""
    exponent = byte(0)
    return f.bitcast(f.select(exponent < 2, (exponent + 1) * 2**21, (exponent - 1) * 2**23), f32)


_FLOATS_OF_4_BITS = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)
"""Twice the floats of a sign, two bits of an exponent, and one of a mantissa."""


def _digit_of_mxfp4(f: Functions, byte: Bytes, h: Element, t: Element) -> Element:
    return _of_table(f, byte, h, t, _FLOATS_OF_4_BITS)


BLOCK_LAYOUTS["MXFP4"] = BlockLayout((), (2, 16), 1, 16, _scale_of_mxfp4, _digit_of_mxfp4, digits=range(-12, 13))


def _digit_of_few_bits(
    f: Functions, byte: Bytes, place: Element, n: Element = 0, *, bits: int, zero: int | None
) -> Element:
    """Return a number whose bytes have the lowest bits first, without the zero point; None is for the byte before
    them."""
    number = byte(place + (zero is None))
    if bits == 4 and zero is not None:
        return _four_bits(f, number, 4 * n, -zero)
    if bits < 8:
        number = _bits(f, number, bits * n, bits)
    return _number(f, number - (byte(0) if zero is None else zero))


def _minimum_of_zero(f: Functions, byte: Bytes, *, scale: Callable[..., Element], place: int) -> Element:
    return -(scale(f, byte) * _number(f, byte(place)))


def name_of_few_bits(bits: int, block: int, *, has_zeros: bool, has_halves: bool) -> str:
    """Return the name of a layout of unsigned numbers of a few bits, as `com.microsoft.MatMulNBits` has them, but with
    the scale before the numbers of each block, and, between both, the zero point, if it is another than the middle."""
    return f"{bits}_BITS_{block}_{'F16' if has_halves else 'F32'}{'_ZEROS' if has_zeros else ''}"


SIZES_OF_FEW_BITS = (16, 32, 64, 128, 256)
"""The sizes of blocks of such layouts."""

for _width, _block, _has_halves in product((2, 4, 8), SIZES_OF_FEW_BITS, (False, True)):
    _numbers = (_block,) if _width == 8 else (_block * _width // 8, 8 // _width)
    _of_scale, _scale, _of_digits = 2 if _has_halves else 4, _half if _has_halves else _single, _block * _width // 8
    _plain, _zeros = (name_of_few_bits(_width, _block, has_zeros=z, has_halves=_has_halves) for z in (False, True))
    _digit, _middle = partial(_digit_of_few_bits, bits=_width), 2 ** (_width - 1)
    BLOCK_LAYOUTS[_plain] = BlockLayout(
        *((), _numbers, _of_scale, _of_digits, _scale, partial(_digit, zero=_middle)), digits=range(-_middle, _middle)
    )
    BLOCK_LAYOUTS[_zeros] = BlockLayout(
        *((), _numbers, _of_scale, _of_digits + 1, _scale, partial(_digit, zero=None)), with_minima=f"{_plain}_MINIMA"
    )
    BLOCK_LAYOUTS[f"{_plain}_MINIMA"] = BlockLayout(
        *((), _numbers, _of_scale + 1, _of_digits, _scale, partial(_digit, zero=0)),
        minimum=partial(_minimum_of_zero, scale=_scale, place=_of_scale),
        digits=range(2 * _middle),
    )
