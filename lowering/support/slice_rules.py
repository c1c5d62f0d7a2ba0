"""Conversion of writes to a part of a tensor to buffers: in place where nothing else reads the tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, cf, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr, StringAttr
from xdsl.ir import SSAValue

from relex.dialects.errors import fail
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.upstream.hints import isa
from relex.lowering.conversion.driver import Conversion
from relex.lowering.support.emitted_sizes import as_index, size_of
from relex.lowering.support.result_buffers import result_buffer


def convert_insert_slice(op: tensor.InsertSliceOp, conversion: Conversion) -> None:
    """Copy the tensor, unless it is to be in the same place, and write the part over it, after a check that it fits."""
    source, whole = conversion.values((op.source, op.dest))
    kind = whole.type
    assert isa(kind, MemRefType)
    if any(stride != 1 for stride in op.static_strides.get_values()):
        fail(op, "expected strides of 1")
    dims = [size_of(whole, d, conversion) for d in range(kind.get_num_dims())]
    place = result_buffer(op.result, conversion, [dim for dim in dims if isinstance(dim, SSAValue)])
    offsets = [*_mixed(op.static_offsets.get_values(), op.offsets)]
    sizes = [*_mixed(op.static_sizes.get_values(), op.sizes)]
    for offset, size, dim in zip(offsets, sizes, dims, strict=True):
        _check(op, offset, size, dim, conversion)
    if place is not whole:
        conversion.add(memref.CopyOp(whole, place))
    part = memref.SubviewOp(
        place,
        op.offsets,
        op.sizes,
        (),
        op.static_offsets.get_values(),
        op.static_sizes.get_values(),
        op.static_strides.get_values(),
        _type_of_part(op, kind),
    )
    conversion.add(memref.CopyOp(source, conversion.add(part).result))
    conversion.replace(place)


def _type_of_part(op: tensor.InsertSliceOp, whole: MemRefType) -> MemRefType:
    """Return the type of the part of a buffer, with the rank of the source: it may lack dimensions of 1."""
    shape, strides = op.static_sizes.get_values(), _strides(whole)
    offsets = op.static_offsets.get_values()
    is_known = DYNAMIC_INDEX not in offsets and None not in strides
    offset = sum(o * (s or 0) for o, s in zip(offsets, strides, strict=True)) if is_known else None
    source = sizes_in_type(op.source.type)
    kept, rest = list[int](), [*source]
    for d, size in enumerate(shape):
        # As many dimensions of 1 go as the source lacks.
        if rest and size == rest[0] and (size != 1 or len(rest) == len(shape) - d or rest[0] == 1):
            kept.append(d)
            rest.pop(0)
    if rest or any(shape[d] != 1 for d in range(len(shape)) if d not in kept):
        fail(op, f"expected a part of {op.source.type} to have the sizes {[*shape]}, apart from dimensions of 1")
    layout = StridedLayoutAttr([strides[d] for d in kept], offset)
    return MemRefType(whole.element_type, [shape[d] for d in kept], layout)


def _strides(kind: MemRefType) -> list[int | None]:
    """Return the strides of a buffer that is contiguous, None where a dynamic size is among those inside."""
    strides, known = list[int | None](), 1
    for size in reversed(kind.get_shape()):
        strides.insert(0, known)
        known = None if known is None or size == DYNAMIC_INDEX else known * size
    return strides


def _mixed(known: Sequence[int], given: Sequence[SSAValue]) -> Iterator[int | SSAValue]:
    """Yield numbers, of which those that are not known are values."""
    values = iter(given)
    for number in known:
        yield next(values) if number == DYNAMIC_INDEX else number


def _check(
    op: tensor.InsertSliceOp, offset: int | SSAValue, size: int | SSAValue, dim: int | SSAValue, conversion: Conversion
) -> None:
    """Let the program stop unless a part fits in a dimension."""
    if isinstance(offset, int) and (offset, size) == (0, dim):
        return
    if isinstance(offset, int) and isinstance(size, int) and isinstance(dim, int):
        if not 0 <= offset <= offset + size <= dim:
            fail(op, f"expected a part in 0..{dim}, found one of {size} at {offset}")
        return
    first, count, most = (as_index(number, conversion) for number in (offset, size, dim))
    room = conversion.add(arith.SubiOp(most, count)).result
    # A negative offset is a large number without a sign; a part that is larger than the dimension fits nowhere.
    fits = conversion.add(arith.CmpiOp(first, room, "ule")).result
    is_smaller = conversion.add(arith.CmpiOp(count, most, "ule")).result
    holds = conversion.add(arith.AndIOp(fits, is_smaller)).result
    conversion.add(cf.AssertOp(holds, StringAttr("expected a part that fits in the tensor")))
