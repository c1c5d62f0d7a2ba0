"""Normalizations."""

from __future__ import annotations

from math import inf

from relex.dialects.relex import BatchNormOp, LayerNormOp, LogSoftmaxOp, SoftmaxOp
from relex.lowering.legalizations.broadcasting import broadcast_indices, elementwise
from relex.lowering.legalizations.legalization_table import legalizes
from relex.lowering.legalizations.reduce import average, reduced
from relex.lowering.te import Axis, PrimExpr, Tensor, call, compute, equal, max, quotient, select, sum


@legalizes(SoftmaxOp)
def softmax(op: SoftmaxOp, x: Tensor) -> Tensor:
    """Legalize to `exp(x - max)` divided by its sum, so that nothing overflows."""
    axes = [op.normal_axis]
    largest = reduced(x, axes, max, "largest", keepdims=True)
    powers = elementwise("powers", lambda *e: call("exp", e[0] - _unless(op, e[1], -inf, 0)), x, largest)
    total = reduced(powers, axes, sum, "total", keepdims=True)
    return elementwise("softmax", lambda *e: quotient(e[0], _unless(op, e[1], 0, 1)), powers, total)


def _unless(op: SoftmaxOp, value: PrimExpr, hidden: float, other: float) -> PrimExpr:
    """Return another number for the one that a row has where all of its elements are minus infinity."""
    return select(equal(value, hidden), other, value) if op.safe else value


@legalizes(LogSoftmaxOp)
def log_softmax(op: LogSoftmaxOp, x: Tensor) -> Tensor:
    """Legalize to `x - max - log(sum(exp(x - max)))`."""
    axes = [op.normal_axis]
    largest = reduced(x, axes, max, "largest", keepdims=True)
    shifted = elementwise("shifted", lambda *e: e[0] - e[1], x, largest)
    powers = elementwise("powers", lambda *e: call("exp", e[0]), shifted)
    total = reduced(powers, axes, sum, "total", keepdims=True)
    return elementwise("log_softmax", lambda *e: e[0] - call("log", e[1]), shifted, total)


@legalizes(LayerNormOp)
def layer_norm(op: LayerNormOp, x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Legalize to the centred input divided by its standard deviation, scaled and shifted."""
    axes = op.normal_axes
    epsilon = op.epsilon.value.data
    total = reduced(x, axes, sum, "total", keepdims=True)
    centred = elementwise("centred", lambda *e: e[0] - e[1], x, average(total, x, axes, "mean"))
    squares = elementwise("squares", lambda *e: e[0] * e[0], centred)
    variance = average(reduced(squares, axes, sum, "total", keepdims=True), x, axes, "variance")
    deviation = elementwise("deviation", lambda *e: call("sqrt", e[0] + epsilon), variance)

    def element(*i: Axis) -> PrimExpr:
        own = [i[axis] for axis in axes]
        return centred[*i] * (gamma[own] / deviation[broadcast_indices(deviation.shape, i)]) + beta[own]

    return compute(x.shape, element, name="layer_norm")


@legalizes(BatchNormOp)
def batch_norm(
    op: BatchNormOp, x: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor
) -> Tensor:
    """Legalize to `(x - mean) * scale + beta` per channel, with the scale computed once per channel."""
    axis = op.normal_axis
    epsilon = op.epsilon.value.data
    scale = elementwise("scale", lambda *e: e[0] / call("sqrt", e[1] + epsilon), gamma, moving_var)

    def element(*i: Axis) -> PrimExpr:
        channel = i[axis]
        return (x[*i] - moving_mean[channel]) * scale[channel] + beta[channel]

    return compute(x.shape, element, name="batch_norm")
