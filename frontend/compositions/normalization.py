"""Parts of normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from relex.frontend import op
from relex.frontend.expressions import Operand


def per_channel(parameter: Operand, rank: int) -> Operand:
    """Return a vector with one element for each position along dimension 1, in a shape that broadcasts."""
    return op.expand_dims(parameter, [0, *range(2, rank)]) if rank > 1 else parameter


def standardized(x: Operand, axes: Sequence[int], epsilon: float) -> tuple[Operand, Operand, Operand]:
    """Return `x` with mean 0 and variance 1 along dimensions, with the mean and the reciprocal of the deviation."""
    mean = op.mean(x, axes, True)
    centred = op.subtract(x, mean)
    variance = op.mean(op.multiply(centred, centred), axes, True)
    inverse = 1.0 / op.sqrt(variance + epsilon)
    return op.multiply(centred, inverse), mean, inverse
