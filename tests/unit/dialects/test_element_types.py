"""The records of element types, compared with NumPy's types."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.ir import Attribute

from relex.dialects.dlpack import FLOATS, from_dlpack, tensor_in
from relex.dialects.dtypes import ELEMENT_TYPES, integer_limits, record_of, size_in_bytes
from relex.dialects.element_types import ELEMENTS
from relex.dialects.errors import DTypeError
from relex.runtime import build

ARRAY_ELEMENTS = [t for t in ELEMENT_TYPES if record_of(t).in_numpy]
NUMPY_NAMES = {element.name: element.dtype for element in ELEMENTS.values() if element.in_numpy}


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
    # NumPy calls the conversion of 64-bit integers to f64 safe, which rounds.
    expected = np.can_cast(NUMPY_NAMES[other], NUMPY_NAMES[name]) and not (other.endswith("i64") and name == "f64")
    assert ELEMENTS[name].holds(ELEMENTS[other]) == expected


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


IDENTITY = "func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> { func.return %x : tensor<2xbf16> }"


def test_bf16_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(DTypeError, match="bf16 has no NumPy equivalent without the package ml_dtypes"):
        build(IDENTITY)["main"](np.ones(2, np.float32))


def test_bf16_is_not_converted_silently(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    main = build(IDENTITY)["main"]
    with pytest.raises(DTypeError, match="argument 'x': expected dtype bfloat16, found float32"):
        main(np.ones(2, np.float32))
    x = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    assert main(x).dtype == x.dtype
    # NumPy's files do not say that it is bf16.
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(main(np.load(tmp_path / "x.npy")), x)


class Foreign:
    """A tensor of another library that has an element type of this code in DLPack: integers of the same bits here."""

    def __init__(self, bits: Array, code: int, *, versioned: bool = True):
        self._bits, self._code, self._versioned = bits, code, versioned

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self._versioned:
            raise TypeError("unexpected keyword arguments")
        capsule = self._bits.__dlpack__(**options)
        head = tensor_in(capsule)
        assert head is not None
        head.code = self._code
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._bits.__dlpack_device__()


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(("code", "name"), FLOATS.items())
def test_tensors_of_floats_that_numpy_lacks(code: int, name: str, versioned: bool) -> None:
    pytest.importorskip("ml_dtypes")
    element = ELEMENTS[name]
    values = np.array([[1.5, -2.0, 0.5], [0.0, 8.0, 1.0]], element.numpy)
    bits = values.view(f"u{element.size}")
    shared = from_dlpack(Foreign(bits, code, versioned=versioned))
    assert shared.dtype == element.numpy
    assert np.shares_memory(shared, bits)
    main = build(IDENTITY.replace("2x", "2x3x").replace("bf16", name))["main"]
    np.testing.assert_array_equal(main(Foreign(bits, code, versioned=versioned)), values)
    strided = np.repeat(bits, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(main(Foreign(strided, code, versioned=versioned)), values)
