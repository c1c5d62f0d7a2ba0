"""Conversion of `memref` ops that access no memory: they read descriptors or make new ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations, pairwise

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, i8
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.upstream.reshapes import groups_of
from relex.lowering.conversion import Conversion, ConversionTable
from relex.lowering.llvm.buffers import (
    MemRefOperand,
    Number,
    as_value,
    buffer_type,
    contiguous_strides,
    product,
    static_strides,
    total,
)
from relex.lowering.llvm.descriptor import ALIGNED, BASE, Descriptor
from relex.lowering.llvm.intrinsics import call_intrinsic
from relex.lowering.llvm.types import EQ, constant, known_integer

VIEWS_TO_LLVM = ConversionTable("views of memory to LLVM")
"""Conversion rules for ops that neither allocate nor access memory."""


# Reading descriptors


@VIEWS_TO_LLVM.rule(memref.DimOp)
def convert_dim(op: memref.DimOp, conversion: Conversion) -> None:
    """Convert to the size of a dimension; a dynamic dimension becomes a chain of selects."""
    source, index = MemRefOperand(op, conversion, op.source), conversion.value(op.index)
    rank = source.kind.get_num_dims()
    known = next((n for n in map(known_integer, (op.index, index)) if n is not None), None)
    if known is not None:
        if not 0 <= known < rank:
            fail(op, f"expected a dimension below {rank}, found {known}")
        conversion.replace(as_value(conversion, source.size(known)))
        return
    if not rank:
        fail(op, "expected a memref with dimensions, found one of rank 0")
    result = as_value(conversion, source.size(rank - 1))
    for dim in range(rank - 1):
        equal = conversion.add(llvm.ICmpOp(index, constant(conversion, dim), EQ)).res
        result = conversion.add(llvm.SelectOp(equal, as_value(conversion, source.size(dim)), result)).res
    conversion.replace(result)


@VIEWS_TO_LLVM.rule(memref.RankOp)
def convert_rank(op: memref.RankOp, conversion: Conversion) -> None:
    """Convert to a constant."""
    conversion.replace(constant(conversion, buffer_type(op, op.source.type).get_num_dims()))


@VIEWS_TO_LLVM.rule(memref.CastOp, memref.MemorySpaceCastOp)
def convert_cast(op: memref.CastOp | memref.MemorySpaceCastOp, conversion: Conversion) -> None:
    """Reuse the descriptor of the source; both must be in the default memory space."""
    source, dest = (buffer_type(op, value.type) for value in (op.source, op.dest))
    if source.get_num_dims() != dest.get_num_dims():
        fail(op, f"expected memrefs of one rank, found {source} and {dest}")
    conversion.replace(Descriptor.of(conversion, op.source).as_type(op.dest))


@VIEWS_TO_LLVM.rule(memref.ExtractAlignedPointerAsIndexOp)
def convert_extract_aligned_pointer(op: memref.ExtractAlignedPointerAsIndexOp, conversion: Conversion) -> None:
    """Convert to the aligned pointer as an integer."""
    pointer = MemRefOperand(op, conversion, op.source).descriptor.field(ALIGNED)
    conversion.replace(conversion.add(llvm.PtrToIntOp(pointer)).output)


@VIEWS_TO_LLVM.rule(memref.ExtractStridedMetaDataOp)
def convert_extract_strided_metadata(op: memref.ExtractStridedMetaDataOp, conversion: Conversion) -> None:
    """Convert to the base buffer, offset, sizes and strides of the descriptor."""
    source = MemRefOperand(op, conversion, op.source)
    base = Descriptor.made_of(conversion, op.base_buffer, [*map(source.descriptor.known, (BASE, ALIGNED)), 0])
    numbers = [source.offset, *source.sizes, *source.strides]
    conversion.replace(base, *(as_value(conversion, number) for number in numbers))


@VIEWS_TO_LLVM.rule(memref.AssumeAlignmentOp)
def convert_assume_alignment(op: memref.AssumeAlignmentOp, conversion: Conversion) -> None:
    """Convert to `llvm.assume` on the low bits of the address of the first element."""
    alignment = op.alignment.value.data
    if alignment & (alignment - 1):
        fail(op, f"expected an alignment that is a power of two, found {alignment}")
    buffer = MemRefOperand(op, conversion, op.memref)
    address = conversion.add(llvm.PtrToIntOp(buffer.first_element())).output
    rest = conversion.add(llvm.AndOp(address, constant(conversion, alignment - 1))).res
    is_aligned = conversion.add(llvm.ICmpOp(rest, constant(conversion, 0), EQ)).res
    conversion.add(call_intrinsic("llvm.assume", [is_aligned], []))
    conversion.replace(buffer.descriptor.as_type(op.result))


# New descriptors


@VIEWS_TO_LLVM.rule(memref.SubviewOp)
def convert_subview(op: memref.SubviewOp, conversion: Conversion) -> None:
    """Make a descriptor with a shifted offset and scaled strides, without the dropped dimensions."""
    source = MemRefOperand(op, conversion, op.source)
    old_strides = source.strides
    offsets = _numbers(conversion, op.static_offsets.get_values(), op.offsets)
    sizes = _numbers(conversion, op.static_sizes.get_values(), op.sizes)
    steps = _numbers(conversion, op.static_strides.get_values(), op.strides)
    if not len(old_strides) == len(offsets) == len(sizes) == len(steps):
        fail(op, f"expected an offset, a size and a stride for each dimension of {op.source.type}")
    offset = source.offset
    for place, stride in zip(offsets, old_strides, strict=True):
        offset = total(conversion, offset, product(conversion, place, stride))
    strides = [product(conversion, step, stride) for step, stride in zip(steps, old_strides, strict=True)]
    kept = _kept_dimensions(op, sizes, strides)
    conversion.replace(_view(op, source, offset, [sizes[dim] for dim in kept], [strides[dim] for dim in kept]))


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
    source = MemRefOperand(op, conversion, op.source)
    offsets = _numbers(conversion, op.static_offsets.get_values(), op.offsets)
    sizes = _numbers(conversion, op.static_sizes.get_values(), op.sizes)
    strides = _numbers(conversion, op.static_strides.get_values(), op.strides)
    if len(offsets) != 1 or len(sizes) != len(strides):
        fail(op, "expected one offset, and a size and a stride for each dimension of the result")
    conversion.replace(_view(op, source, offsets[0], sizes, strides))


@VIEWS_TO_LLVM.rule(memref.ExpandShapeOp)
def convert_expand_shape(op: memref.ExpandShapeOp, conversion: Conversion) -> None:
    """Make a descriptor with each dimension split into contiguous ones."""
    source = MemRefOperand(op, conversion, op.src)
    sizes = _numbers(conversion, op.static_output_shape.get_values(), op.output_shape)
    strides: list[Number] = []
    for group, stride in zip(groups_of(op), source.strides, strict=True):
        strides += contiguous_strides(conversion, [sizes[dim] for dim in group], stride)
    conversion.replace(_view(op, source, source.offset, sizes, strides))


@VIEWS_TO_LLVM.rule(memref.CollapseShapeOp)
def convert_collapse_shape(op: memref.CollapseShapeOp, conversion: Conversion) -> None:
    """Make a descriptor with each group of dimensions, which must be contiguous, merged into one."""
    source = MemRefOperand(op, conversion, op.src)
    old_sizes, old_strides = source.sizes, source.strides
    sizes: list[Number] = []
    strides: list[Number] = []
    for group in groups_of(op):
        _require_contiguous(op, group)
        # A dimension of size 1 may have any stride.
        last = next((dim for dim in reversed(group) if old_sizes[dim] != 1), group[-1])
        sizes.append(reduce(partial(product, conversion), [old_sizes[dim] for dim in group]))
        strides.append(old_strides[last])
    conversion.replace(_view(op, source, source.offset, sizes, strides))


def _require_contiguous(op: memref.CollapseShapeOp, group: Sequence[int]) -> None:
    """Refuse to collapse dimensions that have, or may have, gaps between them."""
    kind = buffer_type(op, op.src.type)
    if isinstance(kind.layout, NoneAttr):
        return
    shape, strides = kind.get_shape(), static_strides(op, kind)
    wide = [dim for dim in group if shape[dim] != 1]
    for outer, inner in pairwise(wide):
        step = strides[inner]
        if step is None or shape[inner] == DYNAMIC_INDEX or strides[outer] != step * shape[inner]:
            fail(op, f"expected dimensions {list(group)} without gaps between them, found {kind}")


@VIEWS_TO_LLVM.rule(memref.ViewOp)
def convert_view(op: memref.ViewOp, conversion: Conversion) -> None:
    """Make a descriptor of the target shape at a byte offset."""
    source, kind = MemRefOperand(op, conversion, op.source), buffer_type(op, op.result.type)
    shift = conversion.value(op.byte_shift)
    aligned = conversion.add(llvm.GEPOp.from_mixed_indices(source.first_element(), [shift], i8)).result
    sizes = _numbers(conversion, kind.get_shape(), op.sizes)
    conversion.replace(new_descriptor(conversion, op.result, source.descriptor.field(BASE), aligned, sizes))


def new_descriptor(
    conversion: Conversion, buffer: SSAValue, base: SSAValue, aligned: SSAValue, sizes: Sequence[Number]
) -> Descriptor:
    """Build the descriptor of a contiguous buffer."""
    if aligned.name_hint is None:
        aligned.name_hint = buffer.name_hint
    fields = [base, aligned, 0, *sizes, *contiguous_strides(conversion, sizes)]
    return Descriptor.made_of(conversion, buffer, fields)


def _view(
    op: memref.SubviewOp | memref.ReinterpretCastOp | memref.AlterShapeOperation,
    source: MemRefOperand,
    offset: Number,
    sizes: Sequence[Number],
    strides: Sequence[Number],
) -> Descriptor:
    """Build the descriptor of the result, in the memory of the source."""
    kind = buffer_type(op, op.result.type)
    if not _agrees(op, sizes, strides) or not _equal(kind.get_offset(), offset):
        fail(op, f"expected a result type with the sizes, strides and offset of the view, found {kind}")
    pointers = map(source.descriptor.known, (BASE, ALIGNED))
    return Descriptor.made_of(source.conversion, op.result, [*pointers, offset, *sizes, *strides])


def _agrees(op: Operation, sizes: Sequence[Number], strides: Sequence[Number]) -> bool:
    """Return whether the sizes and strides stated by the result type are correct, as far as they are known."""
    kind = buffer_type(op, op.results[0].type)
    shape = [None if size == DYNAMIC_INDEX else size for size in kind.get_shape()]
    if isinstance(kind.layout, NoneAttr) and None in shape:
        # The layout only says that there are no gaps.
        known: Sequence[int | None] = [None] * len(shape)
    else:
        known = static_strides(op, kind)
    return (
        len(shape) == len(sizes)
        and all(map(_equal, shape, sizes))
        and all(size == 1 or _equal(stride, number) for size, stride, number in zip(shape, known, strides, strict=True))
    )


def _equal(known: int | None, number: Number) -> bool:
    return known is None or not isinstance(number, int) or known == number


def _numbers(conversion: Conversion, static: Sequence[int], dynamic: Sequence[SSAValue]) -> list[Number]:
    return get_dynamic_index_list(static, conversion.values(dynamic), DYNAMIC_INDEX)
