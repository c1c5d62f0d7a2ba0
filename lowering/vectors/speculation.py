"""Accesses that are safe to speculate: in bounds and on thread-private memory."""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue, Use
from xdsl.traits import IsTerminator

from relex.dialects.index.expr import Atom, span_of, terms_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.dialects.walks import ancestors, reachable


def is_safe(load: memref.LoadOp) -> bool:
    """Return whether a load may run whatever the conditions around it say: it is in bounds, and no condition or loop
    depends on its result, which may be an element that has not been written."""
    kind = load.memref.type
    if not isa(kind, MemRefType) or DYNAMIC_INDEX in kind.get_shape():
        return False
    return all(map(_is_below, load.indices, kind.get_shape())) and not _decides(load)


def has_pairs(load: memref.LoadOp) -> bool:
    """Return whether a load of every second element of a row, of 32 or 64 bits, may load the elements between them and
    the one after the last, and LLVM knows whether the first one is even: only loops that it unrolls have odd steps."""
    kind, row = load.memref.type, index_of(load.indices[-1])
    if not isa(kind, MemRefType) or (size := kind.get_shape()[-1]) == DYNAMIC_INDEX:
        return False
    if not isinstance(kind.element_type, FixedBitwidthType) or kind.element_type.bitwidth not in (32, 64):
        return False
    span = span_of(row)
    is_even = all(factor % 2 == 0 or _is_unrolled(atom) for atom, factor in terms_of(row).items())
    return is_even and span.low >= 0 and span.high + 1 < size


def _is_unrolled(atom: Atom) -> bool:
    loop = atom.owner.parent_op() if isinstance(atom, BlockArgument) else None
    return isinstance(loop, scf.ForOp) and loop.attributes.get(LOOP_ANNOTATION) == LoopAnnotationAttr(Unrolling.FULL)


def _decides(load: memref.LoadOp) -> bool:
    """Return whether what runs, or which element is accessed, depends on a loaded value."""
    return any(_is_decided_by(use) for op in reachable(load, _users) for use in _uses(op))


def _users(op: Operation) -> list[Operation]:
    return [use.operation for use in _uses(op)]


def _uses(op: Operation) -> list[Use]:
    return [use for result in op.results for use in result.uses]


def _is_decided_by(use: Use) -> bool:
    user = use.operation
    if isinstance(user, memref.StoreOp):
        return use.index != user.operands.index(user.value)
    return bool(user.regions) or isinstance(user, memref.LoadOp) or user.has_trait(IsTerminator)


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
