"""Conversion of tensors that grow to buffers."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import SSAValue

from relex.dialects.relex import ConcatOp
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion.driver import Conversion
from relex.lowering.support.emitted_sizes import as_index, size_value
from relex.lowering.support.result_buffers import buffer_type, result_buffer, view_of_buffer

KEPT_ATTR = "relex.kept"
"""Marks the copy of rows that may stay where they are, if there is room for more behind them."""


def join_rows(op: ConcatOp, conversion: Conversion) -> SSAValue:
    """Copy rows behind one another, and return the buffer that has all of them."""
    axis, parts = op.normal_axis, conversion.values(op.tensors)
    dims = [
        _total(
            [size_value(part, d, conversion) for part in (parts if d == axis else parts[:1])],
            conversion,
        )
        for d, size in enumerate(sizes_in_type(op.result.type))
        if size == DYNAMIC_INDEX
    ]
    place = result_buffer(op.result, conversion, dims)
    elements, start = _flat(place, conversion), as_index(0, conversion)
    element = buffer_type(op.result).element_type
    for number, part in enumerate(parts):
        flat = _flat(part, conversion)
        (size,) = sizes_in_type(flat.type)
        count = size_value(flat, 0, conversion)
        counts = [count] if size == DYNAMIC_INDEX else []
        kind = MemRefType(element, [size], StridedLayoutAttr([1], None))
        behind = memref.SubviewOp(elements, [start], counts, [], [DYNAMIC_INDEX], [size], [1], kind)
        copy = conversion.add(memref.CopyOp(flat, conversion.add(behind).result))
        if number == 0:
            copy.attributes[KEPT_ATTR] = UnitAttr()
        start = conversion.add(arith.AddiOp(start, count)).result
    return place


def _flat(buffer: SSAValue, conversion: Conversion) -> SSAValue:
    """Return the elements of a buffer in one dimension."""
    assert isa(buffer.type, MemRefType)
    sizes = buffer.type.get_shape()
    if len(sizes) == 1:
        return buffer
    groups = ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in range(len(sizes))])])
    flat = MemRefType(buffer.type.element_type, [DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else prod(sizes)])
    return conversion.add(view_of_buffer(buffer, groups, flat)).result


def _total(numbers: list[SSAValue], conversion: Conversion) -> SSAValue:
    total, *others = numbers
    for number in others:
        total = conversion.add(arith.AddiOp(total, number)).result
    return total
