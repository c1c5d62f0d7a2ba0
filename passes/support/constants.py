"""Queries on the contents of constants."""

from __future__ import annotations

import struct

from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from relex.dialects.dtypes import FLOATS
from relex.dialects.relex import ConstantOp
from relex.dialects.upstream.dense import dense_bytes

_FORMATS: dict[Attribute, str] = {f16: "<e", f32: "<f", f64: "<d", i1: "<?", i8: "<b", i32: "<i", i64: "<q"}
"""The storage formats of types."""


def holds_only(value: SSAValue, number: float) -> bool:
    """Return whether a value is a constant that holds nothing but `number`, with the same sign if that is zero.
    Integers never equal a number like 0.5."""
    if not isinstance(constant := value.owner, ConstantOp):
        return False
    data, element = dense_bytes(constant.value), _bytes_of(number, constant.value.get_element_type())
    return element is not None and data == element * (len(data) // len(element))


def _bytes_of(number: float, element_type: Attribute) -> bytes | None:
    """Return the stored bytes of a number; None if the type does not have it. Floats are rounded, except that a bf16
    must be exact."""
    try:
        if element_type == bf16:
            upper = struct.pack("<f", number)
            return upper[2:] if not any(upper[:2]) else None
        if element_type in FLOATS:
            return struct.pack(_FORMATS[element_type], number)
        return struct.pack(_FORMATS[element_type], int(number)) if number == int(number) else None
    except (OverflowError, ValueError, struct.error):
        return None
