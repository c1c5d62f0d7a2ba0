"""Functions of one number, element by element, activations among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import i1

from relex.frontend import op
from relex.frontend.compositions import activations, special_functions
from relex.frontend.compositions.activations import gelu_by_tanh, leaky_relu, softplus
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
    "exp2": op.exp2,
    "expm1": op.expm1,
    "floor": op.floor,
    "log": op.log,
    "log10": op.log10,
    "log1p": op.log1p,
    "log2": op.log2,
    "neg": op.negative,
    "relu": op.relu,
    "reciprocal": lambda x: op.divide(1.0, x),
    "rsqrt": op.rsqrt,
    "sigmoid": op.sigmoid,
    "silu": op.silu,
    "sin": op.sin,
    "sinh": op.sinh,
    "sqrt": op.sqrt,
    "square": lambda x: op.multiply(x, x),
    "tan": op.tan,
    "tanh": op.tanh,
    "trunc": op.trunc,
    "relu6": lambda x: op.clip(x, 0.0, 6.0),
}
"""Functions of a tensor that is converted to the type of the result first."""

COMPOSITIONS: dict[str, Callable[..., Operand]] = {
    "celu": activations.celu,
    "elu": activations.elu,
    "hardshrink": activations.hard_shrink,
    "hardsigmoid": activations.hard_sigmoid,
    "hardswish": activations.hard_swish,
    "leaky_relu": leaky_relu,
    "log_sigmoid": activations.log_sigmoid,
    "mish": activations.mish,
    "selu": activations.selu,
    "softshrink": activations.soft_shrink,
    "softsign": activations.softsign,
}
"""Functions of a tensor, and numbers, in several steps: floats that are smaller than f32 are rounded after the last
one."""

CHANGELESS = ("ceil", "floor", "trunc", "round")
"""Functions that leave integers as they are."""


def _in_result_type(name: str, function: Callable[[Operand], Operand]) -> Callable[..., Operand]:
    def imported(node: Node, x: Value) -> Operand:
        y = node.typed(x)
        return y if name in CHANGELESS and not node.is_float(y) else function(y)

    return imported


def _in_steps(function: Callable[..., Operand]) -> Callable[..., Operand]:
    def imported(node: Node, x: Value, *numbers: float) -> Operand:
        return node.typed(function(node.widened(x), *numbers))

    return imported


for _name, _function in FUNCTIONS.items():
    IMPORTS.add(_in_result_type(_name, _function), f"aten.{_name}")
for _name, _function in COMPOSITIONS.items():
    IMPORTS.add(_in_steps(_function), f"aten.{_name}")


@imports("aten.threshold")
def threshold(node: Node, x: Tensor, limit: float, value: float) -> Operand:
    """`x` above a limit, else a number."""
    y = node.widened(x)
    return node.typed(op.where(op.less_equal(y, limit), value, y))


@imports("aten.sign")
def sign(node: Node, x: Tensor) -> Operand:
    """-1, 0 or 1; 0 for NaN."""
    if node.is_float(x):
        return op.where(op.isnan(x), 0.0, op.sign(x))
    return x if node.result_type == i1 else op.sign(x)


@imports("aten.round")
def rounded(node: Node, x: Tensor, decimals: int = 0) -> Operand:
    """The nearest integer, or multiple of a power of ten."""
    if not node.is_float(x):
        return x
    if not decimals:
        return op.round(x)
    y, unit = node.widened(x), 10.0 ** abs(decimals)
    shift, back = (op.multiply, op.divide) if decimals > 0 else (op.divide, op.multiply)
    return node.typed(back(op.round(shift(y, unit)), unit))


@imports("aten.bitwise_not")
def bitwise_not(node: Node, x: Tensor) -> Operand:
    """All bits flipped."""
    return op.logical_not(x) if node.result_type == i1 else op.bitwise_not(x)


@imports("aten.erfc")
def complement(node: Node, x: Value) -> Operand:
    """1 minus the error function."""
    y = node.typed(x)
    return special_functions.erfc(y, node.element_type(y))


@imports("aten.gelu")
def gelu(node: Node, x: Tensor, approximate: str) -> Operand:
    """The Gaussian error linear unit, exact or by a hyperbolic tangent."""
    return node.typed(gelu_by_tanh(node.widened(x))) if approximate == "tanh" else op.gelu(x)


@imports("aten.softplus")
def scaled_softplus(node: Node, x: Tensor, beta: float, threshold: float) -> Operand:
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is above a threshold."""
    y = node.widened(x)
    inner = y if beta == 1 else op.multiply(y, float(beta))
    soft = softplus(inner) if beta == 1 else op.divide(softplus(inner), float(beta))
    return node.typed(op.where(op.greater(inner, float(threshold)), y, soft))


@imports("aten.prelu", "aten._prelu_kernel")
def prelu(node: Node, x: Tensor, slope: Tensor) -> Operand:
    """A line with a knee at zero, whose slope is a parameter, for all elements or for each channel."""
    rank = node.rank(x)
    if node.rank(slope) == 1 and rank > 2:
        slope = node.tensor(op.expand_dims(slope, list(range(1, rank - 1))))
    return op.where(op.greater(x, node.like(0, x)), x, op.multiply(slope, x))


@imports("aten.logit")
def logit(node: Node, x: Tensor, epsilon: float | None) -> Operand:
    """The inverse of the logistic function."""
    wide = node.widened(x)
    y = wide if epsilon is None else op.clip(wide, epsilon, 1 - epsilon)
    return node.typed(special_functions.logit(y))


@imports("aten.rrelu")
def rrelu(node: Node, x: Tensor, lower: float, upper: float, *options: Any) -> Operand:
    """A line with a knee at zero: the slope is the mean of two when not in training."""
    return node.typed(leaky_relu(node.widened(x), (lower + upper) / 2))
