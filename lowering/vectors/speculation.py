"""Accesses that are safe to speculate: in bounds and on thread-private memory."""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.index.expr import span_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.walks import ancestors


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
