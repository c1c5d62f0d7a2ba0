"""Relations between the parts of a loop function: effects, reductions, data flow."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue

from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, InitOp, IterKind, PrimFuncOp
from relex.dialects.tir.accesses import Access, accesses, is_pure, variables_in
from relex.dialects.tir.indices import known_size
from relex.dialects.walks import walk, walk_of
from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.dependence import may_alias, may_conflict
from relex.passes.analysis.kept import once

_UNDERSTOOD = {
    *(AllocBufferOp, BlockOp, ForOp, InitOp),
    *(memref.CollapseShapeOp, memref.ExpandShapeOp, memref.LoadOp, memref.StoreOp),
    *(scf.ForOp, scf.IfOp, scf.YieldOp),
}


_RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp)


def is_understood(op: Operation) -> bool:
    """Return whether an op has no other effects than loads and stores."""
    return all(type(inner) in _UNDERSTOOD or (is_pure(inner) and not inner.regions) for inner in walk(op))


def has_views(function: PrimFuncOp) -> bool:
    """Return whether a buffer of a function is a view of another one, so that different buffers may alias."""
    return any(
        type(result.type) is MemRefType and not is_only_view(op)
        for op in walk(function)
        if type(op) is not AllocBufferOp
        for result in op.results
    )


def is_only_view(op: Operation) -> bool:
    """Return whether an op makes a view of an argument that the function uses for nothing else but its sizes."""
    return (
        isinstance(op, _RESHAPES)
        and isinstance(op.src, BlockArgument)
        and all(use.operation is op or type(use.operation) is memref.DimOp for use in op.src.uses)
    )


def accessed(buffer: SSAValue) -> SSAValue:
    """Return the buffer whose elements a function accesses in the place of an argument: its only view, or itself."""
    views = [use.operation for use in buffer.uses if isinstance(use.operation, _RESHAPES)]
    return views[0].results[0] if views and is_only_view(views[0]) else buffer


def viewed(buffer: SSAValue) -> SSAValue:
    """Return the argument that a buffer is the only view of, or itself."""
    view = buffer.owner
    return view.src if isinstance(view, _RESHAPES) and is_only_view(view) else buffer


def is_spatial(loop: ForOp) -> bool:
    """Return whether no block reduces along a loop."""
    scope = loop.parent_op() or loop
    return not any(
        kind.data is IterKind.REDUCE and loop.variable in variables_in(binding, scope)
        for block in walk_of(loop, BlockOp)
        for kind, binding in zip(block.kinds, block.bindings, strict=True)
    )


def depends_on(second: Operation, first: Operation) -> bool:
    """Return whether the second op reads a buffer that the first one writes."""
    written = buffers_written(first)
    return any(access.buffer in written for access in accesses(second) if not access.is_write)


def packs(nest: Operation) -> bool:
    """Return whether a nest copies into a layout in panels, for other nests. Its elements are used again and again;
    merged with one of their uses, products are not faster on x86-64, and load more on AArch64."""
    stores = (a for a in accesses(nest) if a.is_write and not nest.is_ancestor(a.buffer.owner))
    return any(isinstance(index.owner, arith.DivSIOp | arith.RemSIOp) for store in stores for index in store.indices)


def may_be_one(first: ForOp, second: ForOp, function: PrimFuncOp) -> bool:
    """Return whether two loops may run iteration by iteration: those with different numbers do not conflict."""
    if (first.kind, first.attributes) != (second.kind, second.attributes):
        return False
    if known_size(first.extent) != known_size(second.extent) or not (is_spatial(first) and is_spatial(second)):
        return False
    apart = [(first.variable, second.variable)]
    ours, theirs = all_accesses(first), all_accesses(second)
    return not any(
        may_conflict(a, b, function, apart)
        for a in ours
        for b in theirs
        if (a.is_write or b.is_write) and may_alias(a.buffer, b.buffer, function)
    )


def all_accesses(nest: Operation) -> Sequence[Access]:
    """Return the accesses in a nest. Where they are kept, so are the elements that they access."""
    return once((all_accesses, nest), lambda: list(accesses(nest)))
