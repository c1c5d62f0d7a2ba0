"""Which of two zeros is the larger: the reference semantics say what compiled code does, to the sign."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from programs import Array, MakeOperator, operator_program

from relex.dialects.relex import ClipOp, MaximumOp, MaxOp, MaxPool2dOp, MinimumOp, MinOp, ReluOp
from relex.reference import interpret
from relex.runtime import build

ZEROS = np.array([0.0, -0.0, 0.0, -0.0, np.nan, 1.0, -1.0, -0.0], np.float32)
OTHERS = np.array([-0.0, 0.0, 0.0, -0.0, 0.0, np.nan, -0.0, np.inf], np.float32)
ROWS = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0], [-1.0, -0.0], [np.nan, 0.0]], np.float32)

CASES: list[tuple[MakeOperator, list[Array]]] = [
    (MaximumOp, [ZEROS, OTHERS]),
    (MinimumOp, [ZEROS, OTHERS]),
    (ReluOp, [ZEROS]),
    (partial(ClipOp, min=-0.0, max=0.0), [ZEROS]),
    (partial(ClipOp, min=0.0), [OTHERS]),
    (partial(ClipOp, max=-0.0), [OTHERS]),
    (partial(MaxOp, axis=[1]), [ROWS]),
    (partial(MinOp, axis=[1], keepdims=True), [ROWS]),
    (partial(MaxOp, axis=[]), [ROWS]),
    (MaxOp, [ROWS[:5]]),
    (MinOp, [ROWS[:4]]),
    (partial(MaxPool2dOp, pool_size=[1, 2]), [ROWS[None, None]]),
]


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_signs_of_zeros(make: MakeOperator, operands: list[Array]) -> None:
    text = operator_program(make, operands)
    compiled, reference = build(text)["main"](*operands), interpret(text)["main"](*operands)
    np.testing.assert_array_equal(compiled, reference)
    numbers = ~np.isnan(reference)
    np.testing.assert_array_equal(np.signbit(compiled)[numbers], np.signbit(reference)[numbers])
