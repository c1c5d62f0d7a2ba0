"""Sizes of buffers as values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import SSAValue

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.op_edits import index_value
from relex.dialects.sizes.attributes import sizes_in_type
from relex.lowering.conversion.driver import Conversion


def as_index(number: int | SSAValue, conversion: Conversion) -> SSAValue:
    """Return a number as a value."""
    return number if isinstance(number, SSAValue) else index_value(number, conversion.add)


def size_of(buffer: SSAValue, dimension: int, conversion: Conversion) -> int | SSAValue:
    """Return the size of a buffer in a dimension: a number where its type has it."""
    size = sizes_in_type(buffer.type)[dimension]
    if size != DYNAMIC_INDEX:
        return size
    return conversion.add(memref.DimOp(buffer, as_index(dimension, conversion))).result


def size_value(buffer: SSAValue, dimension: int, conversion: Conversion) -> SSAValue:
    """Return the size of a buffer in a dimension as a value."""
    return as_index(size_of(buffer, dimension, conversion), conversion)


def bytes_of(kind: MemRefType, sizes: Sequence[SSAValue], builder: Builder) -> SSAValue:
    """Return the size in bytes of a buffer with these dynamic sizes."""
    given, size = iter(sizes), index_value(size_in_bytes(kind.element_type), builder.insert)
    for n in kind.get_shape():
        factor = next(given) if n == DYNAMIC_INDEX else index_value(n, builder.insert)
        size = builder.insert(arith.MuliOp(size, factor)).result
    return size
