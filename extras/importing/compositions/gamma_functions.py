"""The logarithm of the gamma function and its derivative, in f64: near zeros, smaller floats would lose all digits."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, nan, pi

from xdsl.dialects.builtin import f64

from relex.frontend import op
from relex.frontend.graph_expressions import Operand

EULER = 0.5772156649015329
"""The limit of `1 + 1/2 + ... + 1/n - log(n)`."""

SHIFT = 10
"""From here on, series in powers of `1 / x` have all digits of f64."""

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
"""`log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2` in odd powers of `1 / x`."""


def _series(x: Operand, coefficients: Sequence[float]) -> Operand:
    """Return a sum of even powers of `1 / x`."""
    step = op.divide(1.0, op.multiply(x, x))
    total: Operand = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = op.add(op.multiply(total, step), coefficient)
    return total


ZETA = (
    *(1.6449340668482264, 1.2020569031595942, 1.0823232337111381, 1.03692775514337, 1.0173430619844492),
    *(1.008349277381923, 1.0040773561979444, 1.0020083928260821, 1.000994575127818, 1.0004941886041194),
    *(1.000246086553308, 1.0001227133475785, 1.0000612481350588, 1.000030588236307, 1.0000152822594086),
)
"""Riemann's zeta function of 2 and so on, of which the series of `log(gamma(1 + x))` in powers of `-x` is made."""

NEAR = 1 / 8
"""Up to this distance, the series has all digits of f64."""


def _log_gamma_near(x: Operand, is_two: Operand) -> Operand:
    """Return the logarithm of the gamma function near 1, or near 2, where it is zero."""
    shift = op.astype(is_two, f64)
    step = op.subtract(op.add(shift, 1.0), x)
    total: Operand = 0.0
    for k, zeta in reversed([*enumerate((EULER, *ZETA), 1)]):
        total = op.multiply(op.add(total, op.divide(op.subtract(zeta, shift), float(k))), step)
    return total


def log_gamma(x: Operand) -> Operand:
    """Return the logarithm of the absolute value of the gamma function of floats of 64 bits; infinite at 0 and at
    negative integers."""
    # gamma(x) = pi / (sin(pi x) gamma(1 - x)); what is small is moved up, where the series holds.
    is_low = op.less(x, 0.5)
    y = op.where(is_low, op.subtract(1.0, x), x)
    is_small = op.less(y, float(SHIFT))
    product: Operand = y
    for i in range(1, SHIFT):
        product = op.multiply(product, op.add(y, float(i)))
    z = op.where(is_small, op.add(y, float(SHIFT)), y)
    rest = op.divide(_series(z, STIRLING), z)
    high = op.add(op.subtract(op.multiply(op.subtract(z, 0.5), op.log(z)), z), op.add(rest, log(2 * pi) / 2))
    found = op.where(is_small, op.subtract(high, op.log(op.where(is_small, product, 1.0))), high)
    distance = op.minimum(op.abs(op.subtract(y, 1.0)), op.abs(op.subtract(y, 2.0)))
    found = op.where(op.less_equal(distance, NEAR), _log_gamma_near(y, op.greater(y, 1.5)), found)
    found = op.where(op.equal(y, inf), inf, found)
    fraction = op.subtract(x, op.round(x))
    mirrored = op.subtract(op.log(op.divide(pi, op.abs(op.sin(op.multiply(fraction, pi))))), found)
    return op.where(is_low, op.where(op.equal(x, -inf), inf, mirrored), found)


def digamma(x: Operand) -> Operand:
    """Return the derivative of the logarithm of the gamma function of floats of 64 bits; NaN at negative integers."""
    is_low = op.less(x, 0.0)
    y = op.where(is_low, op.subtract(1.0, x), x)
    is_small = op.less(y, float(SHIFT))
    shares: Operand = 0.0
    for i in range(SHIFT):
        shares = op.add(op.divide(1.0, op.add(y, float(i))), shares)
    z = op.where(is_small, op.add(y, float(SHIFT)), y)
    slopes = [-(2 * i + 1) * coefficient for i, coefficient in enumerate(STIRLING)]
    series = op.divide(_series(z, slopes), op.multiply(z, z))
    high = op.add(op.subtract(op.log(z), op.divide(0.5, z)), series)
    found = op.where(is_small, op.subtract(high, shares), high)
    found = op.where(op.equal(y, inf), y, found)
    fraction = op.subtract(x, op.round(x))
    mirrored = op.subtract(found, op.divide(pi, op.tan(op.multiply(fraction, pi))))
    whole = op.logical_or(op.equal(fraction, 0.0), op.equal(x, -inf))
    return op.where(is_low, op.where(whole, nan, mirrored), found)
