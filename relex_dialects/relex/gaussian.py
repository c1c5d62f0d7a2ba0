"""The normal distribution below zero, with all its digits where it is small, as a formula."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from relex.dialects.relex.elementwise import Element, Functions


@dataclass(frozen=True)
class Tail:
    """The normal distribution, cumulated up to `-z`, times `exp(z**2 / 2)`, for `z` from 0 to an end: `t` times a
    polynomial in `1 - t`, scaled to run from 1 down to -1, with `t = middle / (middle + z)`."""

    end: float
    """The end of the numbers that the polynomial is for."""
    zero: float
    """From here on, the distribution times `z` is 0."""
    far: float
    """Stands for all numbers from there on: its exponential is 0 in each factor, so none of them is subnormal, which
    would take a hundred times as long."""
    middle: float
    coefficients: tuple[float, ...]
    """Lowest power first; minimax, relative to the function. `tests/unit/lowering/test_gelu.py` computes them."""
    grid: float
    """The square of a multiple of this, up to the end, is exact."""

    def at(self, z: Element) -> Element:
        """Return the function at `z`."""
        reciprocal = 1 / (z + self.middle)
        place = 1 - z * reciprocal * (2 * (self.middle + self.end) / self.end)
        *others, second, result = self.coefficients
        result = place * result + second
        for coefficient in reversed(others):
            result = result * place + coefficient
        return reciprocal * self.middle * result


TAIL_F32 = Tail(
    15.0,
    14.4375,
    19.0,
    4.0,
    (
        0.2255709,
        0.15750419,
        0.081272654,
        0.029519148,
        0.006361935,
        0.0001345368,
        -0.00033288816,
        -5.0659528e-05,
        1.6181682e-05,
        3.996868e-06,
    ),
    2.0**-8,
)
"""Error: 2**-26 of the distribution."""

TAIL_F64 = Tail(
    39.0,
    38.625,
    54.0,
    5.0,
    (
        0.17033792891176727,
        0.14024520173287325,
        0.09679797914995923,
        0.05544369442074925,
        0.025734013027087683,
        0.00919458659515304,
        0.002213075598071784,
        0.0001725497235098179,
        -0.00010487029459076506,
        -3.864551025057224e-05,
        8.942251376417296e-07,
        3.5619601899629793e-06,
        3.712867261553152e-07,
        -3.16830530012011e-07,
        -5.9004116290357376e-08,
        3.203304178000744e-08,
        6.935617718388714e-09,
        -3.7222786958963116e-09,
        -6.746647949877494e-10,
        4.2595738154363706e-10,
        4.257202997338864e-11,
        -3.1982874476697906e-11,
    ),
    2.0**-20,
)
"""Error: 2**-56 of the distribution."""


def weighted(f: Functions, x: Element, element_type: Attribute) -> Element:
    """
    Return `x` times the cumulative normal distribution at `x`, for floats of a type, or of f32 if they are smaller:
    where `x` is positive, `x` minus `x` times the distribution at `-x`.

    The distribution falls as `exp(-z**2 / 2)`. The square is split into the square of a number near `z`, which is
    exact, and a small rest, whose exponential is a sum of four terms. Small factors come last: they may be subnormal.
    """
    tail = TAIL_F64 if element_type == f64 else TAIL_F32
    is_negative = x < 0
    size = f.abs(x)
    z = f.select(size < tail.zero, size, tail.far)
    near = f.round(z * (1 / tail.grid)) * tail.grid
    rest = (near - z) * (near + z) * 0.5
    exp_of_rest = ((rest * (1 / 6) + 0.5) * rest + 1) * rest + 1
    product = f.select(is_negative, x, z) * (tail.at(z) * exp_of_rest) * f.exp(near * near * -0.5)
    return f.select(is_negative, product, x - product)
