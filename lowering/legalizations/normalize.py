"""Normalizations."""

from __future__ import annotations

from math import inf

from relex.dialects.relex import BatchNormOp, LayerNormOp, LogSoftmaxOp, SoftmaxOp
from relex.lowering import te
from relex.lowering.legalizations.broadcasting import broadcast_indices, elementwise
from relex.lowering.legalizations.legalization_table import legalizes
from relex.lowering.legalizations.reduce import average, reduced


@legalizes(SoftmaxOp)
def softmax(op: SoftmaxOp, x: te.Tensor) -> te.Tensor:
    """Legalize to `exp(x - max)` divided by its sum, so that nothing overflows."""
    axes = [op.normal_axis]
    largest = reduced(x, axes, te.max, "largest", keepdims=True)
    powers = elementwise("powers", lambda *e: te.call("exp", e[0] - _unless(op, e[1], -inf, 0)), x, largest)
    total = reduced(powers, axes, te.sum, "total", keepdims=True)
    return elementwise("softmax", lambda *e: te.quotient(e[0], _unless(op, e[1], 0, 1)), powers, total)


def _unless(op: SoftmaxOp, value: te.PrimExpr, hidden: float, other: float) -> te.PrimExpr:
    """Return another number for the one that a row has where all of its elements are minus infinity."""
    return te.select(te.equal(value, hidden), other, value) if op.safe else value


@legalizes(LogSoftmaxOp)
def log_softmax(op: LogSoftmaxOp, x: te.Tensor) -> te.Tensor:
    """Legalize to `x - max - log(sum(exp(x - max)))`."""
    axes = [op.normal_axis]
    largest = reduced(x, axes, te.max, "largest", keepdims=True)
    shifted = elementwise("shifted", lambda *e: e[0] - e[1], x, largest)
    powers = elementwise("powers", lambda *e: te.call("exp", e[0]), shifted)
    total = reduced(powers, axes, te.sum, "total", keepdims=True)
    return elementwise("log_softmax", lambda *e: e[0] - te.call("log", e[1]), shifted, total)


@legalizes(LayerNormOp)
def layer_norm(op: LayerNormOp, x: te.Tensor, gamma: te.Tensor, beta: te.Tensor) -> te.Tensor:
    """Legalize to the centred input divided by its standard deviation, scaled and shifted."""
    axes = op.normal_axes
    epsilon = op.epsilon.value.data
    total = reduced(x, axes, te.sum, "total", keepdims=True)
    centred = elementwise("centred", lambda *e: e[0] - e[1], x, average(total, x, axes, "mean"))
    squares = elementwise("squares", lambda *e: e[0] * e[0], centred)
    variance = average(reduced(squares, axes, te.sum, "total", keepdims=True), x, axes, "variance")
    deviation = elementwise("deviation", lambda *e: te.call("sqrt", e[0] + epsilon), variance)

    def element(*i: te.Axis) -> te.PrimExpr:
        own = [i[axis] for axis in axes]
        return centred[*i] * (gamma[own] / deviation[broadcast_indices(deviation.shape, i)]) + beta[own]

    return te.compute(x.shape, element, name="layer_norm")


@legalizes(BatchNormOp)
def batch_norm(
    op: BatchNormOp, x: te.Tensor, gamma: te.Tensor, beta: te.Tensor, moving_mean: te.Tensor, moving_var: te.Tensor
) -> te.Tensor:
    """Legalize to `(x - mean) * scale + beta` per channel, with the scale computed once per channel."""
    axis = op.normal_axis
    epsilon = op.epsilon.value.data
    scale = elementwise("scale", lambda *e: e[0] / te.call("sqrt", e[1] + epsilon), gamma, moving_var)

    def element(*i: te.Axis) -> te.PrimExpr:
        channel = i[axis]
        return (x[*i] - moving_mean[channel]) * scale[channel] + beta[channel]

    return te.compute(x.shape, element, name="batch_norm")
