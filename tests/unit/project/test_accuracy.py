"""
Elementwise functions of floats against 100 digits, at some of the numbers that `make accuracy` takes.

Each function is measured, for one of the element types and compiled in one of the modes; all with `--full`.
"""

from __future__ import annotations

import numpy as np
import pytest
from accuracy import MODES, Function, compositions, functions, load, measure
from accuracy_draws import results
from exact_functions import COMPOSITIONS, OPERATORS
from many_digits import mp
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from relex.dialects.dtypes import FLOATS, record_of
from relex.dialects.element_types import ELEMENTS

FUNCTIONS = list(functions())


def test_all_functions_are_measured() -> None:
    """A new operator needs `make accuracy`, and a row in `exact_functions.py` if its formula is no definition."""
    assert sorted(COMPOSITIONS) == sorted(compositions())
    measured = {(name, element) for name, rows in load().items() for element in rows}
    assert measured == {(function.name, record_of(function.element).name) for function in FUNCTIONS}


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_measured_errors_are_in_bounds(function: Function) -> None:
    errors = load()[function.name][record_of(function.element).name]
    assert all(error <= function.bound(mode) for mode, error in errors.items()), errors


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*OPERATORS, *COMPOSITIONS])
@pytest.mark.parametrize("element", FLOATS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_errors(name: str, element: Attribute, mode: str) -> None:
    function = Function(name, {**OPERATORS, **COMPOSITIONS}[name], element)
    (worst,) = measure(function, 0.1, whole=False, modes=[mode]).values()
    assert worst.error <= function.bound(mode), worst


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_units_in_the_last_place(name: str) -> None:
    element = ELEMENTS[name]
    epsilon = 2.0**-element.fraction_bits
    largest = (2 - epsilon) * 2.0**element.exponent_bias
    smallest = 2.0 ** (1 - element.exponent_bias - element.fraction_bits)
    exact = results(element, [1.0, 1.0, 2.0, largest, largest, mp.mpf(smallest) / 4, 0.0, -0.0, np.nan, np.inf, 1.0])
    found = [1.0, 1 + epsilon, 2 - epsilon, largest, np.inf, 0.0, 0.0, 0.0, np.nan, largest, np.nan]
    errors = exact.errors(np.array(found).astype(element.numpy))
    assert errors.tolist() == [0, 1, 0.5, 0, 1, 0.25, 0, np.inf, 0, np.inf, np.inf]


def test_wrong_functions_are_found() -> None:
    function = Function("exp", OPERATORS["exp"], f32)
    operands = function.operands(1)
    with np.errstate(all="ignore"):
        found = np.exp(operands[0] * np.float32(1 + 1e-6))
    assert function.results(operands).errors(found).max() > 100
