"""Powers of f32, computed in f64 as `2**(y log2(x))`, and what these are made of: `exp2`, `log2` and `log10`.

What has no logarithm, and the sign, are found on the bits of the f32, in twice as many lanes as an f64 has.
"""

from __future__ import annotations

from math import inf, log, sqrt

from xdsl.dialects.builtin import f32, f64

from relex.lowering.math_approximations.coefficients import EXP2, LOG2
from relex.lowering.math_approximations.formulas import with_others
from relex.lowering.math_approximations.number_operators import F32, F64, Floats, IntegerBits, rounder

EXP2_RANGE = (-151.0, 129.0)
"""Below the first, a power of two is 0 when rounded to f32; above the second, infinite."""

_ONE, _INFINITY, _NAN = F32.bits_of(1.0), F32.bits_of(inf), F32.nan_bits


def power(x: Floats, y: Floats) -> Floats:
    """Compute the power of the magnitude of `x`; odd powers have its sign."""
    size = abs(x)
    logarithm = _log2(size.to(f64)) + _extra(x, y).to(f64)
    result = _exp2(logarithm * y.to(f64)).to(f32).bits
    magnitude = _is_one(x, y).choose(result.constant(_ONE), result)
    return (magnitude ^ ((x.bits ^ size.bits) & _is_odd(y))).as_floats(x.value.type)


def exp2(x: Floats) -> Floats:
    """Compute the power of two."""
    return _exp2(x.to(f64)).to(f32)


def log2(x: Floats) -> Floats:
    """Compute the logarithm of the magnitude."""
    return with_others(x, _log2(abs(x).to(f64)).to(f32))


def log10(x: Floats) -> Floats:
    """Compute a part of the logarithm to base 2."""
    return with_others(x, (_log2(abs(x).to(f64)) * (log(2) / log(10))).to(f32))


def _log2(x: Floats) -> Floats:
    """Return the logarithm of a normal number above 0: `n + log2(1 + f)`, where `1 + f` lies between the roots of 1/2
    and 2, and `1 + f` is `(1 + s) / (1 - s)` with `s = f / (2 + f)`."""
    root, one = F64.bits_of(sqrt(0.5)), F64.bits_of(1.0)
    above_root = x.bits + (one - root)
    biased = (above_root >> F64.fraction_bits) + F64.bits_of(rounder(F64))
    count = biased.as_floats(x.value.type) - (rounder(F64) + F64.exponent_bias)
    f = ((above_root & ((1 << F64.fraction_bits) - 1)) + root).as_floats(x.value.type) - 1.0
    s = f / (f + 2.0)
    return s.times_plus((s * s).polynomial(LOG2[F64]), count)


def _exp2(x: Floats) -> Floats:
    """Return a power of two as an f64 that is 0 or infinite in f32 if it is outside the range."""
    low, high = EXP2_RANGE
    x = x.at_least(low).at_most(high)
    shift = rounder(F64) + F64.exponent_bias
    rounded = x + shift
    rest = x - (rounded - shift)
    scale = (rounded.bits << F64.fraction_bits).as_floats(x.value.type)
    return rest.times_plus(rest.polynomial(EXP2[F64]), 1.0) * scale


def _extra(x: Floats, y: Floats) -> Floats:
    """Return what makes a finite number the logarithm: an infinity where `x` is 0 or infinite, NaN where there is none,
    else 0."""
    bits, size = x.bits, abs(x).bits
    is_special = (_INFINITY - 1 - size).negative
    is_zero = (size - 1).negative
    # Of a finite number below 0, only whole powers are real.
    is_not_real = bits.negative & _differ(y, y.rounded())
    found = is_zero.choose(bits.constant(F32.bits_of(-inf)), is_not_real & _NAN)
    return is_special.choose(size, found).as_floats(x.value.type)


def _is_odd(y: Floats) -> IntegerBits:
    """All ones where a number is whole, but its half is not; else 0."""
    half = y * 0.5
    return _differ(half, half.rounded()) & (_differ(y, y.rounded()) ^ -1)


def _is_one(x: Floats, y: Floats) -> IntegerBits:
    """All ones where the power is 1 although the other factor may be NaN or infinite: of anything to 0, of 1, and of -1
    to an infinity."""
    size, size_of_y = abs(x).bits, abs(y).bits
    from_one = (size ^ _ONE) | (x.bits.negative & (size_of_y ^ _INFINITY))
    return (size_of_y - 1).negative | (from_one - 1).negative


def _differ(one: Floats, other: Floats) -> IntegerBits:
    """All ones where two numbers have other bits, else 0."""
    difference = one.bits ^ other.bits
    return (difference | (0 - difference)).negative
