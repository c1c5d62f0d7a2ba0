"""exp, expm1, log, log1p, tanh and erf by range reduction and a polynomial.

There are no branches and no tables, so that the lanes of a vector are computed in parallel. Where `times_plus` is used,
the target may round once or twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import e, inf, log2, nan, sqrt

from relex.lowering.math_approximations.coefficients import ERF, ERFC, ERFC_CENTRE, EXP, LN2, LOG, TANH
from relex.lowering.math_approximations.number_operators import F32, F64, Floats, IntegerBits, rounder

EXP_RANGE = {F32: (-176.0, 89.0), F64: (-1418.0, 710.0)}
"""At the first, and below, exp is 0 as both of its factors are 0: unlike a product that is too small for a float, this
takes no longer than other numbers. Above the second, exp is infinite."""

EXPM1_LOW = -40.0
"""Below, expm1 is -1."""

TANH_NEAR = 0.6
TANH_END = {F32: 10.0, F64: 20.0}
"""Above, tanh is 1."""

ERF_END = 4.0
"""Above, erf is 1, in f32."""


@dataclass(frozen=True)
class _Power:
    """`exp(count * log(2) + rest)`, where `rest` is at most about half of `log(2)`."""

    biased: IntegerBits
    """An integer with the low bits of `count + bias`."""

    count: Floats
    difference: Floats
    """The number minus `count` times the first part of `log(2)`, which is exact."""

    rest: Floats

    @classmethod
    def of(cls, x: Floats, bias: int) -> _Power:
        high, low = LN2[x.format]
        shift = rounder(x.format) + bias
        rounded = x.times_plus(log2(e), shift)
        count = rounded - shift
        # The product is exact, so it makes no difference whether it is rounded.
        difference = count.times_plus(-high, x)
        return cls(rounded.bits, count, difference, count.times_plus(-low, difference))

    @property
    def expm1(self) -> Floats:
        """`exp(rest) - 1`, accurate to the last bits even where it is small."""
        return self.more_than(self.rest)

    @property
    def error(self) -> Floats:
        """What `rest` is too small by."""
        return self.count.times_plus(-LN2[self.rest.format][1], self.difference - self.rest)

    def more_than(self, term: Floats) -> Floats:
        """Return `exp(rest) - 1 - rest` plus a term."""
        return (self.rest * self.rest).times_plus(self.rest.polynomial(EXP[self.rest.format]), term)


def _power_of_two(biased: IntegerBits, like: Floats) -> Floats:
    """Return the float whose biased exponent is given in the low bits."""
    return (biased << like.format.fraction_bits).as_floats(like.value.type)


def exp(x: Floats) -> Floats:
    """Compute `2**n * exp(rest)`. At the ends of the range `2**n` is not representable: it is split in two factors."""
    low, high = EXP_RANGE[x.format]
    power = _Power.of(x.at_least(low).at_most(high), 2 * x.format.exponent_bias)
    half = power.biased >> 1
    return (power.expm1 + 1.0) * _power_of_two(half, x) * _power_of_two(power.biased - half, x)


def expm1(x: Floats) -> Floats:
    """Compute `b ((a - 1 / b + a rest) + a (exp(rest) - 1 - rest))`, where `a b` is `2**n`, which is too large for a
    float at the end of the range. The rounding error of `rest` is added as well."""
    fmt = x.format
    power = _Power.of(x.at_least(EXPM1_LOW).at_most(EXP_RANGE[fmt][1]), 2 * fmt.exponent_bias)
    half = power.biased >> 1
    a, b = _power_of_two(half, x), _power_of_two(power.biased - half, x)
    reciprocal = _power_of_two(half - power.biased + 2 * fmt.exponent_bias, x)
    large = a.times_plus(power.rest, a - reciprocal)
    return (a.times_plus(power.more_than(power.error), large) * b).with_sign_of(x)


def tanh(x: Floats) -> Floats:
    """Compute `x + x**3 (...)` if `x` is small, else `1 - 2 / (exp(2 |x|) + 1)`."""
    square = x * x
    near = (x * square).times_plus(square.polynomial(TANH[x.format]), x)
    size = abs(x).at_most(TANH_END[x.format])
    power = _Power.of(size + size, x.format.exponent_bias)
    scale = _power_of_two(power.biased, x)
    far = 1.0 - 2.0 / (scale.times_plus(power.expm1, scale) + 1.0)
    return _nearer(size, TANH_NEAR, near, far).with_sign_of(x)


def _nearer(size: Floats, end: float, near: Floats, far: Floats) -> Floats:
    """Return `near` if a number that is not negative is below `end`, else `far`."""
    is_near = (size.bits - size.format.bits_of(end)).negative
    return is_near.choose(near.bits, far.bits).as_floats(size.value.type)


def log(x: Floats) -> Floats:
    """Compute the logarithm of the bits of a normal number, and of how much larger it is."""
    fmt = x.format
    is_tiny = (x.bits - (1 << fmt.fraction_bits)).negative
    normal = is_tiny.choose((x * 2.0**fmt.fraction_bits).bits, x.bits)
    return with_others(x, _log(x, normal, is_tiny & fmt.fraction_bits))


def log1p(x: Floats) -> Floats:
    """Compute the logarithm of the rounded sum `1 + x`, plus the rounding error of the sum divided by it."""
    total = x + 1.0
    one = total - x
    error = (x - (total - one)) + (1.0 - one)
    return with_others(total, _log(total, total.bits, 0, error / total)).with_sign_of(x)


def _log(x: Floats, normal: IntegerBits, scale: IntegerBits | int, more: Floats | None = None) -> Floats:
    """Return `n log(2) + log(1 + f)`, plus a small number, where a normal number has the bits of
    `2**(n + scale) (1 + f)`, and `1 + f` lies between the roots of 1/2 and 2.

    With `s = f / (2 + f)`, `log(1 + f)` is `2 s + s**3 (2/3 + 2/5 s**2 + ...)`, and `2 s` is `f - s f`, which is
    `f - f**2 / 2 + s f**2 / 2`: so the leading term is not rounded.
    """
    fmt = x.format
    root = fmt.bits_of(sqrt(0.5))
    above_root = normal + (fmt.bits_of(1.0) - root)
    biased = (above_root >> fmt.fraction_bits) - scale
    count = (biased + fmt.bits_of(rounder(fmt))).as_floats(x.value.type) - (rounder(fmt) + fmt.exponent_bias)
    f = ((above_root & ((1 << fmt.fraction_bits) - 1)) + root).as_floats(x.value.type) - 1.0
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    high, low = LN2[fmt]
    rest = count * low if more is None else count.times_plus(low, more)
    correction = s.times_plus(square.times_plus(square.polynomial(LOG[fmt]), half), rest)
    return count.times_plus(high, f - (half - correction))


def with_others(x: Floats, result: Floats) -> Floats:
    """Return the logarithm for all inputs, given the `result` for finite numbers above 0."""
    fmt, bits = x.format, x.bits
    is_infinite_or_nan = (fmt.bits_of(inf) - 1 - bits).negative
    is_zero = (abs(x).bits - 1).negative
    is_not_positive = (bits | (bits - 1)).negative
    others = is_zero.choose(bits.constant(fmt.bits_of(-inf)), bits.constant(fmt.bits_of(nan)))
    number = is_infinite_or_nan.choose(bits, result.bits)
    return is_not_positive.choose(others, number).as_floats(x.value.type)


def erf(x: Floats) -> Floats:
    """Compute a polynomial in the square of `x` below 1, else 1 minus a small polynomial."""
    near = x.times_plus((x * x).polynomial(ERF), x)
    size = abs(x).at_most(ERF_END)
    far = 1.0 - (size - ERFC_CENTRE).polynomial(ERFC)
    return _nearer(size, 1.0, near, far).with_sign_of(x)
