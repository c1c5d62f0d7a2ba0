"""Accesses that are safe to speculate: in bounds and on thread-private memory."""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue, Use
from xdsl.utils.hints import isa

from relex.dialects.index.expr import span_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.walks import ancestors


def is_safe(load: memref.LoadOp) -> bool:
    """Return whether a load may run whatever the conditions around it say: it is in bounds, and no condition or loop
    depends on its result, which may be an element that has not been written."""
    kind = load.memref.type
    if not isa(kind, MemRefType) or DYNAMIC_INDEX in kind.get_shape():
        return False
    return all(map(_is_below, load.indices, kind.get_shape())) and not _decides(load)


def _decides(load: memref.LoadOp) -> bool:
    """Return whether what runs, or which element is accessed, depends on a loaded value."""
    found: dict[Operation, None] = {load: None}
    pending: list[Operation] = [load]
    while pending:
        uses = [use for result in pending.pop().results for use in result.uses]
        if any(map(_is_decided_by, uses)):
            return True
        new = [use.operation for use in uses if use.operation not in found]
        found.update(dict.fromkeys(new))
        pending += new
    return False


def _is_decided_by(use: Use) -> bool:
    user = use.operation
    if isinstance(user, memref.StoreOp):
        return use.index != user.operands.index(user.value)
    return bool(user.regions) or isinstance(user, memref.LoadOp | scf.YieldOp)


def is_private(access: memref.LoadOp | memref.StoreOp) -> bool:
    """Return whether an access is to private memory, and in bounds regardless of the conditions around it."""
    made = access.memref.owner
    kind = access.memref.type
    if not isinstance(made, memref.AllocaOp) or not isa(kind, MemRefType):
        return False
    if _is_shared(made, access):
        return False
    return all(_is_below(index, size) for index, size in zip(access.indices, kind.get_shape(), strict=True))


def _is_shared(made: memref.AllocaOp, access: Operation) -> bool:
    """Return whether concurrent iterations may access a buffer."""
    inside = takewhile(lambda scope: not scope.is_ancestor(made), ancestors(access))
    return any(isinstance(scope, scf.ParallelOp) for scope in inside)


def _is_below(index: SSAValue, size: int) -> bool:
    span = span_of(index_of(index))
    return span.low >= 0 and span.high < size
