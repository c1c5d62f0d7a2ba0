"""Weights in blocks, in panels of columns, that each call unpacks."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.block_panels import Unpacking, in_panels


def unpacked(kind: type[Unpacking], before: Operation, layout: str, scales: Array, digits: Array) -> SSAValue:
    """Insert operators before another one that unpack constant bytes, and return what they make of them. They do not
    become constants, which would be much larger."""
    scale_bytes, digit_bytes = (relex.ConstantOp(in_panels(part)) for part in (scales, digits))
    factors = relex.UnpackScalesOp(scale_bytes, layout)
    found = kind(factors, digit_bytes, layout, len(digits))
    for op in (scale_bytes, digit_bytes, factors, found):
        op.location = before.location
    return insert_before(before, scale_bytes, digit_bytes, factors, found).result
