"""
Activation functions, element by element, for operands of f32 or f64.

They are exact to a few units in the last place, where results are small and where exponentials leave the range as well.
Importers compute smaller floats in f32 (`relex.frontend.compositions.conversions`).
"""

from __future__ import annotations

from math import pi, sqrt

from relex.frontend import op
from relex.frontend.graph_expressions import Operand

EXPONENTIAL_TAIL = -80.0
"""Below, `1 + exp(x)` is 1, even with half of `x`."""


def softplus(x: Operand) -> Operand:
    """Return `log(1 + exp(x))`, without overflow."""
    return op.add(op.maximum(x, 0), op.log1p(op.exp(op.negative(op.abs(x)))))


def log_sigmoid(x: Operand) -> Operand:
    """Return the logarithm of the logistic function."""
    return op.negative(softplus(op.negative(x)))


def leaky_relu(x: Operand, slope: Operand) -> Operand:
    """Return a line with a knee at zero, of a given slope below it."""
    return op.where(op.less(x, 0), op.multiply(x, slope), x)


def elu(x: Operand, alpha: float, scale: float = 1.0, input_scale: float = 1.0) -> Operand:
    """Return `x` above zero, and an exponential function below it, scaled."""
    inner = x if input_scale == 1 else op.multiply(x, input_scale)
    low, high = op.multiply(op.expm1(inner), alpha * scale), x if scale == 1 else op.multiply(x, scale)
    return op.where(op.less_equal(x, 0), low, high)


def celu(x: Operand, alpha: float) -> Operand:
    """Return `x` above zero, and an exponential function below it whose slope at zero is 1."""
    return elu(x, alpha, 1.0, 1 / alpha)


def selu(x: Operand) -> Operand:
    """Return the scaled exponential function that keeps mean and variance."""
    return elu(x, 1.6732632423543772, 1.0507009873554805)


def hard_sigmoid(x: Operand) -> Operand:
    """Return a line between 0 and 1. The sum is exact where the result is small."""
    return op.multiply(op.clip(op.add(x, 3.0), 0.0, 6.0), 1 / 6)


def hard_swish(x: Operand) -> Operand:
    """Return `x` times a line between 0 and 1."""
    return op.multiply(x, hard_sigmoid(x))


def hard_shrink(x: Operand, limit: float) -> Operand:
    """Return `x`, and 0 near zero."""
    return op.where(op.less_equal(op.abs(x), limit), 0.0, x)


def soft_shrink(x: Operand, limit: float) -> Operand:
    """Return `x` moved towards zero by a limit, and 0 near zero."""
    return op.subtract(x, op.clip(x, -limit, limit))


def softsign(x: Operand) -> Operand:
    """Return `x / (1 + |x|)`."""
    return op.divide(x, op.add(op.abs(x), 1.0))


def swish(x: Operand, alpha: float) -> Operand:
    """Return `x` times the logistic function of `alpha x`."""
    return _weighted(x, op.multiply(x, alpha))


def mish(x: Operand) -> Operand:
    """Return `x tanh(log(1 + exp(x)))`, which is `x n / (n + 2)` with `n = exp(x) (exp(x) + 2)`.

    Far below zero, it is `x exp(x)`, of which the exponential may be too small for a float: it is the square of one
    that is not. Far above zero, `n / (n + 2)` is 1, also if `x` is replaced by a smaller number.
    """
    is_tail = op.less(x, EXPONENTIAL_TAIL)
    power = op.exp(op.where(is_tail, op.multiply(x, 0.5), op.minimum(x, 40.0)))
    n = op.multiply(power, op.add(power, 2.0))
    share = op.where(is_tail, power, op.divide(n, op.add(n, 2.0)))
    return op.multiply(op.multiply(x, share), op.where(is_tail, power, 1.0))


def gelu_by_tanh(x: Operand) -> Operand:
    """Return the Gaussian error linear unit, approximated by a hyperbolic tangent: `x / 2 (1 + tanh(y / 2))`, which is
    `x` times the logistic function of `y`."""
    square = op.multiply(x, x)
    inner = op.multiply(x, op.add(op.multiply(square, 2 * sqrt(2 / pi) * 0.044715), 2 * sqrt(2 / pi)))
    return _weighted(x, inner)


def _weighted(x: Operand, y: Operand) -> Operand:
    """Return `x` times the logistic function of `y`: `x / (1 + exp(-y))`, and where `exp(-y)` would be too large, `x`
    times the square of `exp(y / 2)`."""
    is_tail = op.less(y, EXPONENTIAL_TAIL)
    power = op.exp(op.where(is_tail, op.multiply(y, 0.5), op.negative(y)))
    quotient = op.divide(x, op.add(power, 1.0))
    factor = op.where(is_tail, power, 1.0)
    return op.multiply(op.multiply(quotient, factor), factor)
