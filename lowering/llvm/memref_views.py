"""Conversion of `memref` ops that access no memory: they read descriptors or make new ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, NoneAttr, i8
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike
from xdsl.utils.hints import isa

from relex.dialects.errors import fail
from relex.lowering.conversion import Conversion, ConversionTable
from relex.lowering.llvm.buffers import (
    Number,
    buffer_strides,
    buffer_type,
    contiguous_strides,
    first_element,
    offset_of,
    product,
    sizes_of,
    strides_of,
    total,
)
from relex.lowering.llvm.descriptor import ALIGNED, BASE, OFFSET, Descriptor, Position, size_at, stride_at
from relex.lowering.llvm.intrinsics import call_intrinsic
from relex.lowering.llvm.types import EQ, constant

VIEWS_TO_LLVM = ConversionTable("views of memory to LLVM")
"""Conversion rules for ops that neither allocate nor access memory."""


# Reading descriptors


@VIEWS_TO_LLVM.rule(memref.DimOp)
def convert_dim(op: memref.DimOp, conversion: Conversion) -> None:
    """Convert to the size of a dimension; a dynamic dimension becomes a chain of selects."""
    shape = buffer_type(op, op.source.type).get_shape()
    index = conversion.value(op.index)
    match _known_integer(op.index), _known_integer(index):
        case (None, None):
            conversion.replace(_size_at_dynamic(op, conversion, index))
        case (known, None) | (_, known):
            if not 0 <= known < len(shape):
                fail(op, f"expected a dimension below {len(shape)}, found {known}")
            conversion.replace(_size(op, conversion, known))


def _known_integer(value: SSAValue) -> int | None:
    """Return the value of a constant, converted or not; else None."""
    attr = value.owner.value if isinstance(value.owner, llvm.ConstantOp) else ConstantLike.get_constant_value(value)
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _size(op: memref.DimOp, conversion: Conversion, dim: int) -> SSAValue:
    known = buffer_type(op, op.source.type).get_shape()[dim]
    if known != DYNAMIC_INDEX:
        return constant(conversion, known)
    return Descriptor.of(conversion, op.source).field(size_at(dim))


def _size_at_dynamic(op: memref.DimOp, conversion: Conversion, index: SSAValue) -> SSAValue:
    rank = buffer_type(op, op.source.type).get_num_dims()
    if not rank:
        fail(op, "expected a memref with dimensions, found one of rank 0")
    size = _size(op, conversion, rank - 1)
    for dim in range(rank - 1):
        equal = conversion.add(llvm.ICmpOp(index, constant(conversion, dim), EQ)).res
        size = conversion.add(llvm.SelectOp(equal, _size(op, conversion, dim), size)).res
    return size


@VIEWS_TO_LLVM.rule(memref.RankOp)
def convert_rank(op: memref.RankOp, conversion: Conversion) -> None:
    """Convert to a constant."""
    conversion.replace(constant(conversion, buffer_type(op, op.source.type).get_num_dims()))


@VIEWS_TO_LLVM.rule(memref.CastOp)
def convert_cast(op: memref.CastOp, conversion: Conversion) -> None:
    """Reuse the descriptor of the source."""
    source, dest = (buffer_type(op, value.type) for value in (op.source, op.dest))
    if source.get_num_dims() != dest.get_num_dims():
        fail(op, f"expected memrefs of one rank, found {source} and {dest}")
    conversion.replace(Descriptor.of(conversion, op.source).as_type(op.dest))


@VIEWS_TO_LLVM.rule(memref.ExtractAlignedPointerAsIndexOp)
def convert_extract_aligned_pointer(op: memref.ExtractAlignedPointerAsIndexOp, conversion: Conversion) -> None:
    """Convert to the aligned pointer as an integer."""
    buffer_type(op, op.source.type)
    pointer = Descriptor.of(conversion, op.source).field(ALIGNED)
    conversion.replace(conversion.add(llvm.PtrToIntOp(pointer)).output)


@VIEWS_TO_LLVM.rule(memref.ExtractStridedMetaDataOp)
def convert_extract_strided_metadata(op: memref.ExtractStridedMetaDataOp, conversion: Conversion) -> None:
    """Convert to the base buffer, offset, sizes and strides of the descriptor."""
    source = Descriptor.of(conversion, op.source)
    base = Descriptor(conversion, op.base_buffer, {BASE: source.known(BASE), ALIGNED: source.known(ALIGNED), OFFSET: 0})
    numbers = [
        offset_of(op, conversion, op.source),
        *sizes_of(op, conversion, op.source),
        *strides_of(op, conversion, op.source),
    ]
    conversion.replace(base, *(_value(conversion, number) for number in numbers))


def _value(conversion: Conversion, number: Number) -> SSAValue:
    return constant(conversion, number) if isinstance(number, int) else number


@VIEWS_TO_LLVM.rule(memref.AssumeAlignmentOp)
def convert_assume_alignment(op: memref.AssumeAlignmentOp, conversion: Conversion) -> None:
    """Convert to `llvm.assume` on the low bits of the address of the first element."""
    alignment = op.alignment.value.data
    if alignment & (alignment - 1):
        fail(op, f"expected an alignment that is a power of two, found {alignment}")
    address = conversion.add(llvm.PtrToIntOp(first_element(op, conversion, op.memref))).output
    rest = conversion.add(llvm.AndOp(address, constant(conversion, alignment - 1))).res
    is_aligned = conversion.add(llvm.ICmpOp(rest, constant(conversion, 0), EQ)).res
    conversion.add(call_intrinsic("llvm.assume", [is_aligned], []))
    conversion.replace(Descriptor.of(conversion, op.memref).as_type(op.result))


# New descriptors


@VIEWS_TO_LLVM.rule(memref.MemorySpaceCastOp)
def convert_memory_space_cast(op: memref.MemorySpaceCastOp, conversion: Conversion) -> None:
    """Reuse the descriptor of the source; both must be in the default memory space."""
    for value in (op.source, op.dest):
        buffer_type(op, value.type)
    conversion.replace(Descriptor.of(conversion, op.source).as_type(op.dest))


@VIEWS_TO_LLVM.rule(memref.SubviewOp)
def convert_subview(op: memref.SubviewOp, conversion: Conversion) -> None:
    """Make a descriptor with a shifted offset and scaled strides, without the dropped dimensions."""
    old_strides = strides_of(op, conversion, op.source)
    offsets = _numbers(conversion, op.static_offsets.get_values(), op.offsets)
    sizes = _numbers(conversion, op.static_sizes.get_values(), op.sizes)
    steps = _numbers(conversion, op.static_strides.get_values(), op.strides)
    if not len(old_strides) == len(offsets) == len(sizes) == len(steps):
        fail(op, f"expected an offset, a size and a stride for each dimension of {op.source.type}")
    offset = offset_of(op, conversion, op.source)
    for place, stride in zip(offsets, old_strides, strict=True):
        offset = total(conversion, offset, product(conversion, place, stride))
    strides = [product(conversion, step, stride) for step, stride in zip(steps, old_strides, strict=True)]
    kept = _kept_dimensions(op, sizes, strides)
    conversion.replace(_view(op, conversion, offset, [sizes[dim] for dim in kept], [strides[dim] for dim in kept]))


def _kept_dimensions(op: memref.SubviewOp, sizes: Sequence[Number], strides: Sequence[Number]) -> Sequence[int]:
    """The dimensions that the result keeps: it may drop some of size 1."""
    result = buffer_type(op, op.result.type)
    dims = range(len(sizes))
    for dropped in combinations([dim for dim in dims if sizes[dim] == 1], len(dims) - result.get_num_dims()):
        kept = [dim for dim in dims if dim not in dropped]
        if _agrees(op, [sizes[dim] for dim in kept], [strides[dim] for dim in kept]):
            return kept
    fail(op, f"expected a result type with the sizes and strides of the view, found {result}")


@VIEWS_TO_LLVM.rule(memref.ReinterpretCastOp)
def convert_reinterpret_cast(op: memref.ReinterpretCastOp, conversion: Conversion) -> None:
    """Make a descriptor with the given offset, sizes and strides."""
    buffer_type(op, op.source.type)
    offsets = _numbers(conversion, op.static_offsets.get_values(), op.offsets)
    sizes = _numbers(conversion, op.static_sizes.get_values(), op.sizes)
    strides = _numbers(conversion, op.static_strides.get_values(), op.strides)
    if len(offsets) != 1 or len(sizes) != len(strides):
        fail(op, "expected one offset, and a size and a stride for each dimension of the result")
    conversion.replace(_view(op, conversion, offsets[0], sizes, strides))


@VIEWS_TO_LLVM.rule(memref.ExpandShapeOp)
def convert_expand_shape(op: memref.ExpandShapeOp, conversion: Conversion) -> None:
    """Make a descriptor with each dimension split into contiguous ones."""
    sizes = _numbers(conversion, op.static_output_shape.get_values(), op.output_shape)
    strides: list[Number] = []
    groups = _groups(op)
    if [dim for group in groups for dim in group] != list(range(len(sizes))):
        fail(op, "expected a reassociation that names each dimension of the result once, in order")
    for group, stride in zip(groups, strides_of(op, conversion, op.src), strict=True):
        strides += contiguous_strides(conversion, [sizes[dim] for dim in group], stride)
    conversion.replace(_view(op, conversion, offset_of(op, conversion, op.src), sizes, strides))


@VIEWS_TO_LLVM.rule(memref.CollapseShapeOp)
def convert_collapse_shape(op: memref.CollapseShapeOp, conversion: Conversion) -> None:
    """Make a descriptor with each group of dimensions, which must be contiguous, merged into one."""
    old_sizes, old_strides = sizes_of(op, conversion, op.src), strides_of(op, conversion, op.src)
    sizes: list[Number] = []
    strides: list[Number] = []
    groups = _groups(op)
    if [dim for group in groups for dim in group] != list(range(len(old_sizes))):
        fail(op, "expected a reassociation that names each dimension of the source once, in order")
    for group in groups:
        _require_contiguous(op, group)
        # A dimension of size 1 may have any stride.
        last = next((dim for dim in reversed(group) if old_sizes[dim] != 1), group[-1])
        size: Number = 1
        for dim in group:
            size = product(conversion, size, old_sizes[dim])
        sizes.append(size)
        strides.append(old_strides[last])
    if not groups:
        sizes = strides = []
    conversion.replace(_view(op, conversion, offset_of(op, conversion, op.src), sizes, strides))


def _require_contiguous(op: memref.CollapseShapeOp, group: Sequence[int]) -> None:
    """Refuse to collapse dimensions that have, or may have, gaps between them."""
    kind = buffer_type(op, op.src.type)
    if isinstance(kind.layout, NoneAttr):
        return
    shape, strides = kind.get_shape(), buffer_strides(op, kind)
    wide = [dim for dim in group if shape[dim] != 1]
    for outer, inner in pairwise(wide):
        step = strides[inner]
        if step is None or shape[inner] == DYNAMIC_INDEX or strides[outer] != step * shape[inner]:
            fail(op, f"expected dimensions {list(group)} without gaps between them, found {kind}")


def _groups(op: memref.AlterShapeOperation) -> list[list[int]]:
    """The dimensions of the larger shape that each dimension of the smaller one stands for."""
    groups: list[list[int]] = []
    for group in op.reassociation:
        assert isa(group, ArrayAttr[IntegerAttr])
        groups.append([dim.value.data for dim in group])
    return groups


@VIEWS_TO_LLVM.rule(memref.ViewOp)
def convert_view(op: memref.ViewOp, conversion: Conversion) -> None:
    """Make a descriptor of the target shape at a byte offset."""
    for value in (op.source, op.result):
        buffer_type(op, value.type)
    shift = conversion.value(op.byte_shift)
    pointer = first_element(op, conversion, op.source)
    aligned = conversion.add(llvm.GEPOp.from_mixed_indices(pointer, [shift], i8)).result
    sizes = _numbers(conversion, op.result.type.get_shape(), op.sizes)
    base = Descriptor.of(conversion, op.source).field(BASE)
    conversion.replace(new_descriptor(conversion, op.result, base, aligned, sizes))


def new_descriptor(
    conversion: Conversion, buffer: SSAValue, base: SSAValue, aligned: SSAValue, sizes: Sequence[Number]
) -> Descriptor:
    """Build the descriptor of a contiguous buffer."""
    if aligned.name_hint is None:
        aligned.name_hint = buffer.name_hint
    strides = contiguous_strides(conversion, sizes)
    return Descriptor(conversion, buffer, _fields(base, aligned, 0, sizes, strides))


def _view(
    op: memref.SubviewOp | memref.ReinterpretCastOp | memref.AlterShapeOperation,
    conversion: Conversion,
    offset: Number,
    sizes: Sequence[Number],
    strides: Sequence[Number],
) -> Descriptor:
    """Build the descriptor of the result, in the memory of the source."""
    kind = buffer_type(op, op.result.type)
    if not _agrees(op, sizes, strides) or not _equal(kind.get_offset(), offset):
        fail(op, f"expected a result type with the sizes, strides and offset of the view, found {kind}")
    source = Descriptor.of(conversion, op.operands[0])
    fields = _fields(source.known(BASE), source.known(ALIGNED), offset, sizes, strides)
    return Descriptor(conversion, op.result, fields)


def _agrees(op: Operation, sizes: Sequence[Number], strides: Sequence[Number]) -> bool:
    """Return whether the sizes and strides stated by the result type are correct, as far as they are known."""
    kind = buffer_type(op, op.results[0].type)
    shape = [None if size == DYNAMIC_INDEX else size for size in kind.get_shape()]
    if isinstance(kind.layout, NoneAttr) and None in shape:
        # The layout only says that there are no gaps.
        known: Sequence[int | None] = [None] * len(shape)
    else:
        known = buffer_strides(op, kind)
    return (
        len(shape) == len(sizes)
        and all(map(_equal, shape, sizes))
        and all(size == 1 or _equal(stride, number) for size, stride, number in zip(shape, known, strides, strict=True))
    )


def _equal(known: int | None, number: Number) -> bool:
    return known is None or not isinstance(number, int) or known == number


def _fields(
    base: Number, aligned: Number, offset: Number, sizes: Sequence[Number], strides: Sequence[Number]
) -> dict[Position, Number]:
    fields: dict[Position, Number] = {BASE: base, ALIGNED: aligned, OFFSET: offset}
    fields |= {size_at(dim): size for dim, size in enumerate(sizes)}
    return fields | {stride_at(dim): stride for dim, stride in enumerate(strides)}


def _numbers(conversion: Conversion, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[Number]:
    return get_dynamic_index_list(static, conversion.values(dynamic), DYNAMIC_INDEX)
