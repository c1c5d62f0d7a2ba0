"""Conversions between f32 and narrower floats, or f64, by integer arithmetic: exact, or rounded to nearest even.

There are no branches and no tables, so that the lanes of a vector are computed in parallel.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64, i32

from relex.dialects.element_types import ElementType
from relex.lowering.math_approximations.number_operators import F32, Floats, IntegerBits

_MAGNITUDE = (1 << 31) - 1
_INFINITY = F32.bits_of(float("inf"))


def decode(stored: IntegerBits, element: ElementType) -> Floats:
    """Return the f32 that equals a float in the low bits of an i32, whose upper bits are 0."""
    shift = F32.fraction_bits - element.fraction_bits
    if element.exponent_bits == F32.exponent_bits:
        return (stored << shift).as_floats(f32)
    sign = (stored >> element.bits - 1) << 31
    magnitude = stored & (1 << element.bits - 1) - 1
    # As an f32, the same bits are a number that is smaller by the difference of the biases, also if it is subnormal.
    small = (magnitude << shift).as_floats(f32)
    finite = (small * 2.0 ** (F32.exponent_bias - element.exponent_bias)).bits
    is_special = (element.largest_bits - magnitude).negative
    special = small.bits | _INFINITY
    if element.variant == "fnuz":  # What would be -0.
        is_special = (element.largest_bits - stored).negative & (stored - element.nan_bits - 1).negative
        special = stored.constant(F32.nan_bits)
    return (is_special.choose(special, finite) | sign).as_floats(f32)


def encode(x: Floats, element: ElementType) -> IntegerBits:
    """Return an f32 rounded to a narrower float, in the low bits of an i32."""
    shift = F32.fraction_bits - element.fraction_bits
    sign, magnitude = (x.bits >> 31) << element.bits - 1, x.bits & _MAGNITUDE
    # Rounding to even adds half of the last place, or a little less if the last bit is 0. A carry into the exponent is
    # right: the number is a power of two then, or infinite.
    bias = (F32.exponent_bias - element.exponent_bias) << F32.fraction_bits
    rounded = (magnitude + ((magnitude >> shift) & 1) + ((1 << shift - 1) - 1 - bias)) >> shift
    if bias:
        overflow = element.largest_bits + 1
        rounded = (overflow - rounded).negative.choose(x.bits.constant(overflow), rounded)
        rounded = _is_below_normal(magnitude, element).choose(_subnormal(x, element), rounded)
    result = (_INFINITY - magnitude).negative.choose(x.bits.constant(element.nan_bits), rounded)
    return result | (sign & (0 - result).negative if element.variant == "fnuz" else sign)


def _is_below_normal(magnitude: IntegerBits, element: ElementType) -> IntegerBits:
    return (magnitude - F32.bits_of(2.0 ** (1 - element.exponent_bias))).negative


def _subnormal(x: Floats, element: ElementType) -> IntegerBits:
    """Round a number below the normal ones by adding one whose last place is the smallest subnormal number."""
    large = 2.0 ** (1 - element.exponent_bias - element.fraction_bits + F32.fraction_bits)
    return (abs(x) + large).bits - F32.bits_of(large)


def round_to_odd(x: Floats) -> Floats:
    """Return an f64 as the f32 towards zero, with its last bit set unless it is exact. Rounded once more, to at most 22
    digits, the result is the same as rounding the f64 directly."""
    nearest = x.to(f32)
    wanted, found = ((number.bits << 1) >> 1 for number in (x, nearest.to(f64)))
    is_larger, is_smaller = _narrow((wanted - found).negative), _narrow((found - wanted).negative)
    return ((nearest.bits + is_larger) | ((is_larger | is_smaller) & 1)).as_floats(f32)


def _narrow(mask: IntegerBits) -> IntegerBits:
    return mask.new(arith.TruncIOp(mask.value, i32))


def loaded(x: Floats) -> IntegerBits:
    """Return the bits of a narrow float as an i32."""
    return x.bits.new(arith.ExtUIOp(x.bits.value, i32))


def stored(bits: IntegerBits, element: ElementType) -> IntegerBits:
    """Return the low bits of an i32, as many as a narrow float has."""
    return bits.new(arith.TruncIOp(bits.value, IntegerType(element.bits)))
