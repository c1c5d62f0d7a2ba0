"""Queries on the contents of constants, and their removal."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from relex.dialects import relex
from relex.dialects.dtypes import dense_bytes, record_of, repeats
from relex.dialects.relex.types import tensor_type

_ARRANGED = (relex.BroadcastToOp, relex.ExpandDimsOp, relex.PermuteDimsOp, relex.ReshapeOp, relex.SqueezeOp)
"""Operators whose results hold what their operand holds."""


def holds_only(value: SSAValue, number: float) -> bool:
    """Return whether a value of known size is a constant, perhaps broadcast or reshaped, that only holds
    `number`, with the same sign if that is zero. Integers never equal a number like 0.5."""
    while isinstance(op := value.owner, _ARRANGED) and tensor_type(value.type).has_static_shape():
        value = op.operand
    if not isinstance(constant := value.owner, relex.ConstantOp):
        return False
    try:
        element = record_of(constant.value.get_element_type()).bytes_of(number)
    except (OverflowError, ValueError):
        return False
    return repeats(dense_bytes(constant.value), element)


def erase_constant(constant: relex.ConstantOp) -> None:
    """Remove a constant that has no users, and free its bytes. An op and its results reference each other, so the op
    itself stays in memory until it is garbage collected."""
    constant.detach()
    constant.erase()
    constant.properties.clear()


def erase_unused_constants(candidates: Iterable[object]) -> None:
    """Of some ops, erase the constants without users. Each is given once."""
    for op in candidates:
        if isinstance(op, relex.ConstantOp) and op.result.first_use is None:
            erase_constant(op)
