"""Activation functions, element by element."""

from __future__ import annotations

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.conversions import by_floats, gelu, rounded_once
from relex.frontend.importing.values import with_node
from relex.frontend.onnx import OnnxNode, Operand, Tensor, imports
from relex.frontend.onnx.import_table import row


def hard_line(x: Operand, slope: float, offset: float) -> Operand:
    """Return a line between 0 and 1."""
    return op.clip(op.add(op.multiply(x, slope), offset), 0.0, 1.0)


def _shrunk(x: Operand, limit: float, bias: float) -> Operand:
    """Return `x` moved towards zero by a bias, and 0 near zero."""
    small = op.where(op.greater(x, limit), op.subtract(x, bias), 0.0)
    return op.where(op.less(x, -limit), op.add(x, bias), small)


def _above(x: Operand, limit: float) -> Operand:
    """Return `x` above a limit, else 0."""
    return op.where(op.greater(x, limit), x, 0)


row("Celu", activations.celu, rounded_once, alpha="alpha")
row("Elu", activations.elu, rounded_once, alpha="alpha")
row("Gelu", gelu, with_node, approximate="approximate")
row("HardSigmoid", hard_line, rounded_once, slope="alpha", offset="beta")
row("HardSwish", activations.hard_swish, rounded_once)
row("LeakyRelu", activations.leaky_relu, slope="alpha")
row("Mish", activations.mish, rounded_once)
row("PRelu", activations.leaky_relu)
row("Selu", activations.elu, rounded_once, alpha="alpha", scale="gamma")
row("Shrink", _shrunk, by_floats, limit="lambd", bias="bias")
row("Softplus", activations.softplus, rounded_once)
row("Softsign", activations.softsign, rounded_once)
row("ThresholdedRelu", _above, limit="alpha")


@imports("Swish")
def swish(node: OnnxNode, x: Tensor) -> Operand:
    """`x` times a logistic function."""
    alpha = node.number("alpha", 1.0)
    return op.silu(x) if alpha == 1 else rounded_once(node, activations.swish, x, alpha)
