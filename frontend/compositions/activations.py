"""Activation functions, element by element."""

from __future__ import annotations

from math import pi, sqrt

from relex.frontend import op
from relex.frontend.expressions import Operand


def softplus(x: Operand) -> Operand:
    """Return `log(1 + exp(x))`, without overflow."""
    return op.maximum(x, 0) + op.log1p(op.exp(op.negative(op.abs(x))))


def leaky_relu(x: Operand, slope: Operand) -> Operand:
    """Return a line with a knee at zero, of a given slope below it."""
    return op.where(op.less(x, 0), op.multiply(x, slope), x)


def elu(x: Operand, alpha: float, scale: float = 1.0, input_scale: float = 1.0) -> Operand:
    """Return `x` above zero, and an exponential function below it, scaled."""
    inner = x if input_scale == 1 else op.multiply(x, input_scale)
    low, high = op.multiply(op.expm1(inner), alpha * scale), x if scale == 1 else op.multiply(x, scale)
    return op.where(op.less_equal(x, 0), low, high)


def hard_sigmoid(x: Operand) -> Operand:
    """Return a line between 0 and 1."""
    return op.clip(op.multiply(x, 1 / 6) + 0.5, 0.0, 1.0)


def gelu_by_tanh(x: Operand) -> Operand:
    """Return the Gaussian error linear unit, approximated by a hyperbolic tangent."""
    cube = op.multiply(op.multiply(x, x), x)
    return op.multiply(op.multiply(x, 0.5), 1.0 + op.tanh(op.add(x, cube * 0.044715) * sqrt(2 / pi)))
