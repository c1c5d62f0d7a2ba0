"""Reductions along dimensions."""

from __future__ import annotations

import numpy as np

from relex.frontend import op
from relex.frontend.expressions import Operand


def log_sum_exp(x: Operand, axis: list[int], keepdims: bool) -> Operand:
    """Return the logarithm of the sum of exponentials, without overflow."""
    largest = op.max(x, axis, True)
    # The maximum may be infinite, and then it is the result.
    shift = op.where(op.equal(op.abs(largest), np.inf), 0.0, largest)
    result = op.log(op.sum(op.exp(op.subtract(x, shift)), axis, True)) + shift
    return result if keepdims else op.squeeze(result, axis)
