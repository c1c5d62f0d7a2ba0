"""Making, replacing and removing local buffers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from itertools import chain, takewhile
from math import prod
from operator import is_not

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import IndexExpr
from relex.dialects.tir import AllocBufferOp, PrimFuncOp
from relex.dialects.tir.indices import dimension_of, known_size
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.reshapes import groups_of
from relex.passes.analysis.buffers import size_asked
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, constant


def emit_sizes(buffer: SSAValue, before: Operation) -> list[int | SSAValue]:
    """Return the sizes of a buffer; dynamic ones are computed before the op `before`, if they are not known there."""
    assert isa(buffer.type, MemRefType)
    sizes = list[int | SSAValue](buffer.type.get_shape())
    earlier = takewhile(partial(is_not, before), before.parent.ops if before.parent is not None else ())
    known: dict[Hashable, SSAValue] = {}
    for op in earlier:
        if isinstance(op, memref.DimOp):
            known.setdefault(known_size(op.result), op.result)
    for i, size in enumerate(sizes):
        if size == DYNAMIC_INDEX:
            sizes[i] = known.get(dimension_of(buffer, i)) or _emit_size(buffer, i, before)
    return sizes


def _emit_size(buffer: SSAValue, dimension: int, before: Operation) -> int | SSAValue:
    """Return a size that is only known at run time. Sizes of views are computed from others."""
    view = buffer.owner
    if isinstance(view, memref.ExpandShapeOp):
        return view.output_shape[view.static_output_shape.get_values()[:dimension].count(DYNAMIC_INDEX)]
    if not isinstance(view, memref.CollapseShapeOp):
        return IndexArithmetic(before).add(memref.DimOp(buffer, constant(dimension, before)))
    sizes = emit_sizes(view.src, before)
    return product_of_sizes([sizes[d] for d in groups_of(view)[dimension]], IndexArithmetic(before))


def product_of_sizes(sizes: Sequence[int | SSAValue], emitter: IndexArithmetic) -> int | SSAValue:
    """Return the product of sizes, which is computed if it is not one of them or a number."""
    if len(sizes) == 1:
        return sizes[0]
    total = prod(size if isinstance(size, int) else IndexExpr.of(size) for size in sizes)
    return total if isinstance(total, int) else emitter.emit(total)


def make_buffer(
    element_type: Attribute, sizes: Sequence[int | SSAValue], name: str, at: InsertPoint, origin: Operation
) -> SSAValue:
    """Allocate a new local buffer, with the location of `origin`."""
    shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
    op = AllocBufferOp(MemRefType(element_type, shape), [size for size in sizes if isinstance(size, SSAValue)])
    op.location = origin.location
    op.buffer.name_hint = name
    Rewriter.insert_op(op, at)
    return op.buffer


def replace_buffer(scope: Operation, old: SSAValue, new: SSAValue) -> None:
    """Replace the uses of a buffer in an op by another buffer."""
    for use in list(old.uses):
        if scope.is_ancestor(use.operation):
            use.operation.operands[use.index] = new


def remove_buffer(alloc: AllocBufferOp) -> None:
    """Remove a buffer that is only used for its sizes."""
    replace_sizes(alloc)
    Rewriter.erase_op(alloc)


def replace_sizes(alloc: AllocBufferOp) -> None:
    """Replace the sizes that the program queries of a buffer by those that it is allocated with."""
    for op in [use.operation for use in alloc.buffer.uses if isinstance(use.operation, memref.DimOp)]:
        size = size_asked(op)
        if size is None:
            fail(op, f"expected a constant dimension of {name_of(alloc.buffer)}")
        op.result.replace_all_uses_with(constant(size, alloc) if isinstance(size, int) else size)
        Rewriter.erase_op(op)


def collapse(function: PrimFuncOp, buffer: SSAValue, groups: Sequence[Sequence[int]]) -> SSAValue:
    """Return a view of a buffer in which groups of its dimensions are one each, made at the top of a function or right
    after the buffer."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    sizes = [[kind.get_shape()[d] for d in group] for group in groups]
    joined = [DYNAMIC_INDEX if DYNAMIC_INDEX in part else prod(part) for part in sizes]
    view = memref.CollapseShapeOp(
        operands=[buffer],
        result_types=[MemRefType(kind.element_type, joined, memory_space=kind.memory_space)],
        properties={"reassociation": ArrayAttr([ArrayAttr([IntegerAttr(d, i64) for d in dims]) for dims in groups])},
    )
    view.location = function.location
    view.result.name_hint = buffer.name_hint
    owner = buffer.owner
    place = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(function.body.block)
    Rewriter.insert_op(view, place)
    return view.result


def expand(buffer: SSAValue, sizes: Sequence[Sequence[int | SSAValue]], before: Operation) -> SSAValue:
    """Return a view of a buffer in which each dimension is as many as it has sizes, made before an op."""
    kind = buffer.type
    assert isa(kind, MemRefType)
    parts = [*chain.from_iterable(sizes)]
    shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in parts]
    dimensions = iter(range(len(parts)))
    groups = ArrayAttr([ArrayAttr([IntegerAttr(next(dimensions), i64) for _ in group]) for group in sizes])
    view = memref.ExpandShapeOp(
        operands=[buffer, [size for size in parts if isinstance(size, SSAValue)]],
        result_types=[MemRefType(kind.element_type, shape, memory_space=kind.memory_space)],
        properties={"reassociation": groups, "static_output_shape": DenseArrayBase.from_list(i64, shape)},
    )
    view.location = before.location
    view.result.name_hint = buffer.name_hint
    Rewriter.insert_op(view, InsertPoint.before(before))
    return view.result
