"""Functions of one number, element by element, activations among them."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

from xdsl.dialects.builtin import i1

from relex.frontend import op
from relex.frontend.compositions.activations import elu, gelu_by_tanh, hard_sigmoid, leaky_relu, softplus
from relex.frontend.torch import Node, Operand, Tensor, imports
from relex.frontend.torch.node import Value
from relex.frontend.torch.table import IMPORTS

FUNCTIONS: dict[str, Callable[[Operand], Operand]] = {
    "abs": op.abs,
    "acos": op.acos,
    "acosh": op.acosh,
    "asin": op.asin,
    "asinh": op.asinh,
    "atan": op.atan,
    "atanh": op.atanh,
    "ceil": op.ceil,
    "cos": op.cos,
    "cosh": op.cosh,
    "erf": op.erf,
    "exp": op.exp,
    "floor": op.floor,
    "log": op.log,
    "neg": op.negative,
    "relu": op.relu,
    "reciprocal": lambda x: op.divide(1.0, x),
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "sign": op.sign,
    "silu": op.silu,
    "sin": op.sin,
    "sinh": op.sinh,
    "sqrt": op.sqrt,
    "square": lambda x: op.multiply(x, x),
    "tan": op.tan,
    "tanh": op.tanh,
    "trunc": op.trunc,
    "exp2": lambda x: op.exp(op.multiply(x, log(2.0))),
    "erfc": lambda x: op.subtract(1.0, op.erf(x)),
    "log10": lambda x: op.multiply(op.log(x), 1 / log(10.0)),
    "log2": lambda x: op.multiply(op.log(x), 1 / log(2.0)),
    "relu6": lambda x: op.clip(x, 0.0, 6.0),
    "selu": lambda x: elu(x, 1.6732632423543772, 1.0507009873554805),
    "hardsigmoid": hard_sigmoid,
    "hardswish": lambda x: op.multiply(x, hard_sigmoid(x)),
    "log_sigmoid": lambda x: op.negative(softplus(op.negative(x))),
    "mish": lambda x: op.multiply(x, op.tanh(softplus(x))),
    "softsign": lambda x: op.divide(x, 1.0 + op.abs(x)),
}
"""Functions of a tensor that is converted to the type of the result first."""

WITH_NUMBER: dict[str, Callable[[Operand, float], Operand]] = {
    "celu": lambda x, alpha: elu(x, alpha, 1.0, 1 / alpha),
    "leaky_relu": leaky_relu,
    "hardshrink": lambda x, limit: op.where(op.greater(op.abs(x), limit), x, 0.0),
    "softshrink": lambda x, limit: op.subtract(x, op.clip(x, -limit, limit)),
}
"""Functions of a tensor and a number."""

CHANGELESS = ("ceil", "floor", "trunc", "round")
"""Functions that leave integers as they are."""


def _in_result_type(name: str, function: Callable[..., Operand]) -> Callable[..., Operand]:
    def imported(node: Node, x: Value, *numbers: float) -> Operand:
        y = node.typed(x)
        return y if name in CHANGELESS and not node.is_float(y) else function(y, *numbers)

    return imported


for _name, _function in {**FUNCTIONS, **WITH_NUMBER, "elu": elu}.items():
    IMPORTS.add(_in_result_type(_name, _function), f"aten.{_name}")


@imports("aten.threshold")
def threshold(node: Node, x: Tensor, limit: float, value: float) -> Operand:
    """`x` above a limit, else a number."""
    return op.where(op.greater(x, node.typed(limit)), x, node.typed(value))


@imports("aten.round")
def rounded(node: Node, x: Tensor, decimals: int = 0) -> Operand:
    """The nearest integer, or multiple of a power of ten."""
    if not node.is_float(x):
        return x
    return op.divide(op.round(op.multiply(x, 10.0**decimals)), 10.0**decimals) if decimals else op.round(x)


@imports("aten.bitwise_not")
def bitwise_not(node: Node, x: Tensor) -> Operand:
    """All bits flipped."""
    return op.logical_not(x) if node.result_type == i1 else op.bitwise_not(x)


@imports("aten.log1p")
def log1p(node: Node, x: Value) -> Operand:
    """`log(1 + x)`, exact for small numbers: the rounding error of the sum is corrected."""
    y = node.typed(x)
    total = node.tensor(op.add(y, 1.0))
    exact = op.multiply(op.log(total), op.divide(y, op.subtract(total, 1.0)))
    return op.where(op.equal(total, 1.0), y, op.where(op.isfinite(total), exact, op.log(total)))


@imports("aten.expm1")
def expm1(node: Node, x: Value) -> Operand:
    """`exp(x) - 1`, by a hyperbolic tangent near zero, where the difference would be inexact."""
    y = node.typed(x)
    half = node.tensor(op.tanh(op.multiply(y, 0.5)))
    near = op.divide(op.multiply(half, 2.0), op.subtract(1.0, half))
    return op.where(op.less(op.abs(y), 0.5), near, op.exp(y) - 1.0)


@imports("aten.gelu")
def gelu(node: Node, x: Tensor, approximate: str) -> Operand:
    """The Gaussian error linear unit, exact or by a hyperbolic tangent."""
    return gelu_by_tanh(x) if approximate == "tanh" else op.gelu(x)


@imports("aten.softplus")
def scaled_softplus(node: Node, x: Tensor, beta: float, threshold: float) -> Operand:
    """`log(1 + exp(beta * x)) / beta`, and `x` where that is the same."""
    if beta == 1:
        return softplus(x)
    return op.divide(softplus(op.multiply(x, float(beta))), float(beta))


@imports("aten.prelu", "aten._prelu_kernel")
def prelu(node: Node, x: Tensor, slope: Tensor) -> Operand:
    """A line with a knee at zero, whose slope is a parameter, for all elements or for each channel."""
    rank = node.rank(x)
    if node.rank(slope) == 1 and rank > 1:
        slope = node.tensor(op.expand_dims(slope, list(range(1, rank - 1)))) if rank > 2 else slope
    return leaky_relu(x, slope)


@imports("aten.logit")
def logit(node: Node, x: Tensor, epsilon: float | None) -> Operand:
    """The inverse of the logistic function."""
    y = x if epsilon is None else op.clip(x, epsilon, 1 - epsilon)
    return op.log(op.divide(y, op.subtract(1.0, y)))


@imports("aten.rrelu")
def rrelu(node: Node, x: Tensor, lower: float, upper: float, *options: Any) -> Operand:
    """A line with a knee at zero: the slope is the mean of two when not in training."""
    return leaky_relu(x, (lower + upper) / 2)
