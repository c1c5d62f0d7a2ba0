"""Functions of one number, element by element, activations among them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64, i1

from relex.frontend import op
from relex.frontend.compositions import activations, gamma_functions, special_functions
from relex.frontend.compositions.conversions import gelu
from relex.frontend.compositions.number_functions import OF_NUMBERS, reciprocal, square
from relex.frontend.importing.values import with_node
from relex.frontend.torch import Operand, Tensor, TorchNode, imports, refuse
from relex.frontend.torch.import_table import row
from relex.frontend.torch.node import Value, in_result_type, in_steps

CHANGELESS = ("ceil", "floor", "trunc")
"""Functions that leave integers as they are."""


def _unless_integers(node: TorchNode, function: Callable[[Operand], Operand], x: Value) -> Operand:
    y = node.typed(x)
    return function(y) if node.is_float(y) else y


def _relu6(x: Operand) -> Operand:
    return op.clip(x, 0.0, 6.0)


def _above(x: Operand, limit: float, value: float) -> Operand:
    """Return `x` above a limit, else a number."""
    return op.where(op.less_equal(x, limit), value, x)


def _softplus(x: Operand, beta: float, threshold: float) -> Operand:
    """Return `log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is above a threshold."""
    inner = x if beta == 1 else op.multiply(x, float(beta))
    soft = activations.softplus(inner) if beta == 1 else op.divide(activations.softplus(inner), float(beta))
    return op.where(op.greater(inner, float(threshold)), x, soft)


def _logit(x: Operand, epsilon: float | None) -> Operand:
    """Return the inverse of the logistic function."""
    return special_functions.logit(x if epsilon is None else op.clip(x, epsilon, 1 - epsilon))


def _rrelu(x: Operand, lower: float, upper: float, *options: object) -> Operand:
    """Return a line with a knee at zero: the slope is the mean of two when not in training."""
    return activations.leaky_relu(x, (lower + upper) / 2)


def _rrelu_with_noise(
    node: TorchNode, x: Tensor, noise: Tensor, lower: float, upper: float, training: bool = False, *options: object
) -> list[Operand] | Operand:
    """A line with a knee at zero, whose slope is the mean of two."""
    if training:
        refuse("random numbers in training; expected model.eval()")
    y = in_steps(node, _rrelu, x, lower, upper)
    return [y, noise] if node.name.endswith("functional") else y


FUNCTIONS: dict[str, Callable[[Operand], Operand]] = {
    **OF_NUMBERS,
    **{name: getattr(op, name) for name in "exp2 expm1 log10 log1p log2 rsqrt silu trunc".split()},
    "neg": op.negative,
    "reciprocal": reciprocal,
    "relu6": _relu6,
    "square": square,
}
"""Functions of a tensor that is converted to the type of the result first."""

IN_STEPS: dict[str, Callable[..., Operand]] = {
    "celu": activations.celu,
    "elu": activations.elu,
    "hardshrink": activations.hard_shrink,
    "hardsigmoid": activations.hard_sigmoid,
    "hardswish": activations.hard_swish,
    "leaky_relu": activations.leaky_relu,
    "log_sigmoid": activations.log_sigmoid,
    "logit": _logit,
    "mish": activations.mish,
    "rrelu": _rrelu,
    "selu": activations.selu,
    "softplus": _softplus,
    "softshrink": activations.soft_shrink,
    "softsign": activations.softsign,
    "threshold": _above,
}
"""Functions of a tensor, and numbers, in several steps: floats that are smaller than f32 are rounded after the last
one."""

for _name, _function in FUNCTIONS.items():
    row(_name, _function, _unless_integers if _name in CHANGELESS else in_result_type)
for _name, _function in IN_STEPS.items():
    row(_name, _function, in_steps)
row("gelu", gelu, with_node)
row("rrelu_with_noise rrelu_with_noise_functional", _rrelu_with_noise, with_node)


@imports("aten.sign")
def sign(node: TorchNode, x: Tensor) -> Operand:
    """-1, 0 or 1; 0 for NaN."""
    if node.is_float(x):
        return op.where(op.isnan(x), 0.0, op.sign(x))
    return x if node.result_type == i1 else op.sign(x)


@imports("aten.round")
def rounded(node: TorchNode, x: Tensor, decimals: int = 0) -> Operand:
    """The nearest integer, or multiple of a power of ten."""
    if not node.is_float(x):
        return x
    if not decimals:
        return op.round(x)
    y, unit = node.widened(x), 10.0 ** abs(decimals)
    shift, back = (op.multiply, op.divide) if decimals > 0 else (op.divide, op.multiply)
    return node.typed(back(op.round(shift(y, unit)), unit))


@imports("aten.bitwise_not")
def bitwise_not(node: TorchNode, x: Tensor) -> Operand:
    """All bits flipped."""
    return op.logical_not(x) if node.result_type == i1 else op.bitwise_not(x)


@imports("aten.erfc")
def complement(node: TorchNode, x: Value) -> Operand:
    """1 minus the error function."""
    y = node.typed(x)
    return special_functions.erfc(y, node.element_type(y))


def _prelu(x: Operand, slope: Operand) -> Operand:
    """Return a line with a knee at zero, of a slope for each channel."""
    return op.where(op.greater(x, 0), x, op.multiply(slope, x))


row("_prelu_kernel", _prelu)


@imports("aten.lgamma")
def log_gamma(node: TorchNode, x: Value) -> Operand:
    """The logarithm of the absolute value of the gamma function."""
    return node.typed(gamma_functions.log_gamma(node.typed(x, f64)))


@imports("aten.digamma")
def digamma(node: TorchNode, x: Value) -> Operand:
    """The derivative of the logarithm of the gamma function."""
    y = node.typed(x, f64)
    return node.typed(op.where(op.equal(y, 0.0), op.divide(-1.0, y), gamma_functions.digamma(y)))
