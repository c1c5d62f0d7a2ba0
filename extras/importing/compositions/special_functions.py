"""Functions that would lose digits, or overflow, if they were computed as they are defined."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from relex.frontend import op
from relex.frontend.graph_expressions import Operand

ERFC_END = 28.0
"""From here on, erfc is 0 in f64."""

ERFC_MIDDLE = (1 + 2 / (2 + ERFC_END)) / 2
ERFC = (
    -0.6267548660108485,
    0.6330982682940193,
    0.03286485935745831,
    -0.039942324416959114,
    -0.005189062827106053,
    0.006592903682293815,
    0.00043779950013882294,
    -0.00143160314328139,
    0.00013326776507344097,
    0.00030827892344937913,
    -9.957682156697984e-05,
    -5.120964263771806e-05,
    3.801810036694064e-05,
    1.9983876910836667e-06,
    -9.949803923844633e-06,
    2.5889321068819677e-06,
    1.5590979232233459e-06,
    -1.125402329502712e-06,
    2.2786271981379172e-08,
    2.441463801824703e-07,
    -8.883964200251185e-08,
    -2.0786985532116902e-08,
    2.3366495328826804e-08,
    -2.9760825777888203e-09,
    -2.3983917499304947e-09,
    7.300863410479107e-10,
)
"""`log(erfc(z) exp(z**2) / t)` with `t = 2 / (2 + z)`, for `z` up to the end, in powers of `t`, which is scaled to
-1 to 1. Error: 2**-54."""


def erfc(x: Operand, kind: Attribute) -> Operand:
    """Return `1 - erf(x)` of floats of a type, computed in f64, with all its digits where it is small.

    The square of `|x|` in the exponent is split into the square of a number near it, which is exact, and a small rest.
    """
    y = x if kind == f64 else op.astype(x, f64)
    z = op.clip(op.abs(y), 0.0, ERFC_END)
    reciprocal = op.divide(1.0, op.add(z, 2.0))
    # (t - middle) / (1 - middle) with `t = 2 / (2 + z)`, exact for small numbers.
    place = op.subtract(1.0, op.multiply(op.multiply(z, reciprocal), 1 / (1 - ERFC_MIDDLE)))
    sum_of_powers: Operand = ERFC[-1]
    for coefficient in reversed(ERFC[:-1]):
        sum_of_powers = op.add(op.multiply(place, sum_of_powers), coefficient)
    near = op.divide(op.round(op.multiply(z, 1024.0)), 1024.0)
    rest = op.multiply(op.subtract(near, z), op.add(near, z))
    powers = op.multiply(op.exp(op.negative(op.multiply(near, near))), op.exp(op.add(rest, sum_of_powers)))
    tail = op.multiply(op.multiply(reciprocal, 2.0), powers)
    result = op.where(op.less(y, 0.0), op.subtract(2.0, tail), tail)
    return result if kind == f64 else op.astype(result, kind)


def logit(x: Operand) -> Operand:
    """Return `log(x / (1 - x))`, the inverse of the logistic function. Near a half, it is
    `log(1 + 2 (x - 1/2) / (1 - x))`, where the difference in the numerator is exact."""
    rest, offset = op.subtract(1.0, x), op.subtract(x, 0.5)
    far = op.log(op.divide(x, rest))
    near = op.log1p(op.divide(op.multiply(offset, 2.0), rest))
    return op.where(op.less(op.abs(offset), 0.25), near, far)


def hypot(x: Operand, y: Operand) -> Operand:
    """Return `sqrt(x**2 + y**2)`, also where the squares are out of range; infinite if either number is."""
    a, b = op.abs(x), op.abs(y)
    large, small = op.maximum(a, b), op.minimum(a, b)
    ratio = op.divide(small, op.where(op.equal(large, 0.0), 1.0, large))
    length = op.multiply(large, op.sqrt(op.multiply(ratio, ratio) + 1.0))
    return op.where(op.logical_or(op.isinf(x), op.isinf(y)), inf, length)


def floor_quotient(x: Operand, y: Operand) -> Operand:
    """Return a quotient rounded down, without the error of the division: of 1 by 0.1 it is 9. A zero has the sign of
    the quotient."""
    rest = op.mod(x, y)
    is_between = op.logical_and(op.not_equal(rest, 0.0), op.not_equal(op.less(y, 0.0), op.less(rest, 0.0)))
    whole, quotient = op.round(op.divide(op.subtract(x, rest), y)), op.divide(x, y)
    down = op.where(is_between, op.subtract(whole, 1.0), whole)
    signed = op.where(op.equal(down, 0.0), op.multiply(quotient, 0.0), down)
    return op.where(op.equal(y, 0.0), quotient, signed)
