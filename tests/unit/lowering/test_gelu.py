"""The coefficients of `relex.gelu`; `test_accuracy.py` measures the operator."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import minimax
import numpy as np
import pytest
from many_digits import mp

from relex.dialects.relex.gaussian import TAIL_F32, TAIL_F64, Tail


def function_of(tail: Tail) -> minimax.Function:
    """What the polynomial is to be, for places from -1 to 1."""

    def function(place: Decimal) -> Decimal:
        with mp.workdps(60):
            t = 1 - (1 - mp.mpf(str(place))) / 2 * mp.mpf(tail.end) / (tail.middle + tail.end)
            z = tail.middle / t - tail.middle
            return Decimal(str(mp.erfc(z / mp.sqrt(2)) * mp.exp(z * z / 2) / (2 * t)))

    return function


@pytest.mark.parametrize(("tail", "dtype"), [(TAIL_F32, np.float32), (TAIL_F64, np.float64)])
def test_coefficients_are_those_of_the_best_polynomial(tail: Tail, dtype: type[np.floating[Any]]) -> None:
    function = function_of(tail)
    best = minimax.fit(function, lambda place: 1 / function(place), Decimal(-1), Decimal(1), len(tail.coefficients))
    np.testing.assert_array_equal(np.array(tail.coefficients, dtype), np.array([float(c) for c in best], dtype))
