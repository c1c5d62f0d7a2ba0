"""sin, cos and tan of f32, computed in f64.

An angle is divided by a turn exactly enough for all f32, of which some are larger than 2**127 and some are next to a
multiple of a right angle: that takes 200 bits of the reciprocal. Parts of it have so few bits that their products with
an f32 are exact, and whole turns are taken from each product, so that no digits are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import tau

from xdsl.dialects.builtin import f32, f64

from relex.lowering.math_approximations.coefficients import COS, REST_OF_TURNS, SIN, TURNS
from relex.lowering.math_approximations.number_operators import F64, Floats, IntegerBits, rounder

_UNIT = 2.0**-41
"""The sum of some numbers below 1 that are multiples of this is exact."""


@dataclass(frozen=True)
class _Angle:
    """An angle: some right angles, and a rest of at most about half of one."""

    rights: IntegerBits
    """An integer with the two low bits of the number of right angles."""

    rest: Floats
    """In radians."""

    @classmethod
    def of(cls, x: Floats) -> _Angle:
        """Return an angle in radians that is not negative."""
        coarse, fine = x.constant(0.0), x * REST_OF_TURNS
        for part in TURNS:
            product = x * part
            turn = product - product.rounded()
            multiple = (turn + rounder(F64) * _UNIT) - rounder(F64) * _UNIT
            coarse, fine = coarse + multiple, fine + (turn - multiple)
        counted = coarse + rounder(F64) / 4
        return cls(counted.bits, (coarse - (counted - rounder(F64) / 4) + fine) * tau)

    @property
    def is_odd(self) -> IntegerBits:
        """All ones if the number of right angles is odd, else 0."""
        return 0 - (self.rights & 1)

    def sine_and_cosine(self) -> tuple[IntegerBits, IntegerBits]:
        """Return the sine and the cosine of the rest."""
        x, square = self.rest, self.rest * self.rest
        sine = (x * square).times_plus(square.polynomial(SIN[F64]), x)
        return sine.bits, square.times_plus(square.polynomial(COS[F64]), 1.0).bits

    def sine(self) -> Floats:
        """Return the sine of the angle."""
        sine, cosine = self.sine_and_cosine()
        return (self.is_odd.choose(cosine, sine) ^ ((self.rights & 2) << 62)).as_floats(self.rest.value.type)

    def turned(self) -> _Angle:
        """Return the angle plus a right angle."""
        return _Angle(self.rights + 1, self.rest)


def sin(x: Floats) -> Floats:
    """Compute the sine of the magnitude."""
    return _with_sign_changed(_Angle.of(abs(x).to(f64)).sine().to(f32), x)


def cos(x: Floats) -> Floats:
    """Compute the sine of the angle plus a right angle."""
    return _Angle.of(abs(x).to(f64)).turned().sine().to(f32)


def tan(x: Floats) -> Floats:
    """Compute the sine divided by the cosine, or minus the cosine divided by the sine."""
    angle = _Angle.of(abs(x).to(f64))
    (sine, cosine), kind = angle.sine_and_cosine(), angle.rest.value.type
    above = angle.is_odd.choose(cosine, sine) ^ (angle.rights << 63)
    below = angle.is_odd.choose(sine, cosine)
    quotient = above.as_floats(kind) / below.as_floats(kind)
    return _with_sign_changed(quotient.to(f32), x)


def _with_sign_changed(result: Floats, x: Floats) -> Floats:
    """Return the result for the magnitude of `x` with another sign if `x` is negative."""
    return (result.bits ^ x.bits ^ abs(x).bits).as_floats(x.value.type)
