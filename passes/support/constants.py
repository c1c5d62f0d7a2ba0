"""Queries on the contents of constants."""

from __future__ import annotations

from xdsl.ir import SSAValue

from relex.dialects.dtypes import dense_bytes, record_of, repeats
from relex.dialects.relex import ConstantOp


def holds_only(value: SSAValue, number: float) -> bool:
    """Return whether a value is a constant that holds nothing but `number`, with the same sign if that is zero.
    Integers never equal a number like 0.5."""
    if not isinstance(constant := value.owner, ConstantOp):
        return False
    try:
        element = record_of(constant.value.get_element_type()).bytes_of(number)
    except (OverflowError, ValueError):
        return False
    return repeats(dense_bytes(constant.value), element)
