"""Activation functions, element by element."""

from __future__ import annotations

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.conversions import by_floats
from relex.frontend.onnx import Node, Operand, Tensor, imports


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
    return activations.elu(x, node.number("alpha"))


@imports("Celu")
def celu(node: Node, x: Tensor) -> Operand:
    """Exponential below zero, scaled."""
    alpha = node.number("alpha")
    return activations.elu(x, alpha, 1.0, 1 / alpha)


@imports("Selu")
def selu(node: Node, x: Tensor) -> Operand:
    """Exponential below zero, all of it scaled."""
    alpha, gamma = node.number("alpha"), node.number("gamma")
    return activations.elu(x, alpha, gamma)


@imports("HardSigmoid")
def hard_sigmoid(node: Node, x: Tensor) -> Operand:
    """A line between 0 and 1."""
    return op.clip(x * node.number("alpha") + node.number("beta"), 0.0, 1.0)


@imports("HardSwish")
def hard_swish(node: Node, x: Tensor) -> Operand:
    """`x` times a line between 0 and 1."""
    return x * activations.hard_sigmoid(x)


@imports("ThresholdedRelu")
def thresholded_relu(node: Node, x: Tensor) -> Operand:
    """`x` above a threshold, else 0."""
    return op.where(op.greater(x, node.number("alpha")), x, x * 0.0)


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
    return activations.gelu_by_tanh(x)


@imports("Swish")
def swish(node: Node, x: Tensor) -> Operand:
    """`x` times a logistic function."""
    return x / (1.0 + op.exp(x * -node.number("alpha", 1.0)))
