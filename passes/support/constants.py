"""Queries on the contents of constants."""

from __future__ import annotations

from xdsl.ir import SSAValue

from relex.dialects.dtypes import record_of
from relex.dialects.relex import ConstantOp
from relex.dialects.upstream.dense import dense_bytes


def holds_only(value: SSAValue, number: float) -> bool:
    """Return whether a value is a constant that holds nothing but `number`, with the same sign if that is zero.
    Integers never equal a number like 0.5."""
    if not isinstance(constant := value.owner, ConstantOp):
        return False
    try:
        element = record_of(constant.value.get_element_type()).bytes_of(number)
    except (OverflowError, ValueError):
        return False
    data = dense_bytes(constant.value)
    return data == element * (len(data) // len(element))
