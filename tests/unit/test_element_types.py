"""The records of element types, compared with NumPy's types."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from xdsl.ir import Attribute

from relex.dialects.dtypes import ARRAY_ELEMENTS, integer_limits, record_of, size_in_bytes
from relex.dialects.element_types import ELEMENTS, NUMPY_NAMES


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_sizes(name: str) -> None:
    element, dtype = ELEMENTS[name], np.dtype(NUMPY_NAMES[name])
    assert element.size == dtype.itemsize
    assert element.is_float == (dtype.kind == "f")
    if element.is_float:
        info = np.finfo(dtype)
        assert (element.fraction_bits, element.exponent_bias) == (info.nmant, info.maxexp - 1)


@pytest.mark.parametrize("other", NUMPY_NAMES)
@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_which_types_hold_all_numbers_of_another(name: str, other: str) -> None:
    # NumPy calls the conversion of i64 to f64 safe, which rounds.
    expected = np.can_cast(NUMPY_NAMES[other], NUMPY_NAMES[name]) and (other, name) != ("i64", "f64")
    assert ELEMENTS[name].holds(ELEMENTS[other]) == expected


def test_bf16_is_the_upper_half_of_f32() -> None:
    bf16, f32 = ELEMENTS["bf16"], ELEMENTS["f32"]
    assert f32.holds(bf16)
    assert not bf16.holds(ELEMENTS["f16"])
    assert not ELEMENTS["f16"].holds(bf16)
    for number in (0.0, -0.0, 1.5, -3.0, inf):
        assert f32.bytes_of(number) == bytes(2) + bf16.bytes_of(number)
    with pytest.raises(ValueError, match="expected a number of bf16, found"):
        bf16.bytes_of(0.1)


@pytest.mark.parametrize("element_type", ARRAY_ELEMENTS, ids=str)
@pytest.mark.parametrize("number", [0, 1, -1, 1.5, 127, -128, 128, 2**31 - 1, 2**31, 2**63 - 1, 1e300, inf, -inf])
def test_how_numbers_are_stored(element_type: Attribute, number: float) -> None:
    element = record_of(element_type)
    dtype = np.dtype(element.dtype)
    try:
        found = np.frombuffer(element.bytes_of(number), dtype)[0]
    except (OverflowError, ValueError):
        if dtype.kind == "f":
            assert abs(number) > float(np.finfo(dtype).max)
        else:
            low, high = integer_limits(element_type)
            assert not low <= number <= high or number != int(number)
    else:
        assert found == (dtype.type(number) if dtype.kind == "f" else number)


def test_limits() -> None:
    for t in ARRAY_ELEMENTS:
        element = record_of(t)
        assert size_in_bytes(t) == element.size
        if element.is_float:
            with pytest.raises(ValueError, match="expected a type with a smallest and a largest number"):
                integer_limits(t)
        elif not element.is_bool:
            info = np.iinfo(element.dtype)
            assert integer_limits(t) == (info.min, info.max)
