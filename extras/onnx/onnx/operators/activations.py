"""Activation functions, element by element."""

from __future__ import annotations

from collections.abc import Callable

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.conversions import by_floats, rounded_once
from relex.frontend.onnx import Node, Operand, Tensor, imports
from relex.frontend.onnx.table import IMPORTS

IN_STEPS: dict[str, Callable[[Operand], Operand]] = {
    "HardSwish": activations.hard_swish,
    "Mish": activations.mish,
    "Softplus": activations.softplus,
    "Softsign": activations.softsign,
}
"""Functions of a tensor in several steps."""


def _in_steps(function: Callable[[Operand], Operand]) -> Callable[..., Operand]:
    def imported(node: Node, x: Tensor) -> Operand:
        return rounded_once(node, function, x)

    return imported


for _name, _function in IN_STEPS.items():
    IMPORTS.add(_in_steps(_function), ("", _name, 1))


@imports("LeakyRelu")
def leaky_relu(node: Node, x: Tensor) -> Operand:
    """A line with a knee at zero."""
    return activations.leaky_relu(x, node.number("alpha"))


@imports("PRelu")
def prelu(node: Node, x: Tensor, slope: Tensor) -> Operand:
    """A line with a knee at zero, of a given slope."""
    return activations.leaky_relu(x, slope)


@imports("Elu")
def elu(node: Node, x: Tensor) -> Operand:
    """Exponential below zero."""
    return rounded_once(node, activations.elu, x, node.number("alpha"))


@imports("Celu")
def celu(node: Node, x: Tensor) -> Operand:
    """Exponential below zero, scaled."""
    return rounded_once(node, activations.celu, x, node.number("alpha"))


@imports("Selu")
def selu(node: Node, x: Tensor) -> Operand:
    """Exponential below zero, all of it scaled."""
    alpha, gamma = node.number("alpha"), node.number("gamma")
    return rounded_once(node, activations.elu, x, alpha, gamma)


@imports("HardSigmoid")
def hard_sigmoid(node: Node, x: Tensor) -> Operand:
    """A line between 0 and 1."""
    alpha, beta = node.number("alpha"), node.number("beta")

    def line(x: Operand) -> Operand:
        return op.clip(op.add(op.multiply(x, alpha), beta), 0.0, 1.0)

    return rounded_once(node, line, x)


@imports("ThresholdedRelu")
def thresholded_relu(node: Node, x: Tensor) -> Operand:
    """`x` above a threshold, else 0."""
    return op.where(op.greater(x, node.number("alpha")), x, node.like(0, x))


@imports("Shrink")
def shrink(node: Node, x: Tensor) -> Operand:
    """`x` moved towards zero by a bias, and 0 near zero."""
    limit, bias = node.number("lambd"), node.number("bias")

    def shrunk(x: Operand) -> Operand:
        small = op.where(op.greater(x, node.like(limit, x)), op.subtract(x, node.like(bias, x)), node.like(0, x))
        return op.where(op.less(x, node.like(-limit, x)), op.add(x, node.like(bias, x)), small)

    return by_floats(node, shrunk, x)


@imports("Gelu")
def gelu(node: Node, x: Tensor) -> Operand:
    """The Gaussian error linear unit, exact or by a hyperbolic tangent."""
    if node.text("approximate") != "tanh":
        return op.gelu(x)
    return rounded_once(node, activations.gelu_by_tanh, x)


@imports("Swish")
def swish(node: Node, x: Tensor) -> Operand:
    """`x` times a logistic function."""
    alpha = node.number("alpha", 1.0)
    return op.silu(x) if alpha == 1 else rounded_once(node, activations.swish, x, alpha)
