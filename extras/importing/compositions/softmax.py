"""Parts of normalizations, and the relatives of softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relex.frontend import op
from relex.frontend.graph_expressions import Operand


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


def log_sum_exp(x: Operand, axis: list[int], keepdims: bool) -> Operand:
    """Return the logarithm of the sum of exponentials, without overflow."""
    largest = op.max(x, axis, True)
    # The maximum may be infinite, and then it is the result.
    shift = op.where(op.equal(op.abs(largest), np.inf), 0.0, largest)
    result = op.log(op.sum(op.exp(op.subtract(x, shift)), axis, True)) + shift
    return result if keepdims else op.squeeze(result, axis)
