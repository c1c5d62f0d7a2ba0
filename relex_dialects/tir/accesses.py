"""What a block reads and writes: the one analysis of buffer accesses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue


@dataclass(frozen=True)
class Access:
    """One load from or store into a buffer."""

    op: memref.LoadOp | memref.StoreOp

    @property
    def buffer(self) -> SSAValue:
        return self.op.memref

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        return tuple(self.op.indices)

    @property
    def is_write(self) -> bool:
        return isinstance(self.op, memref.StoreOp)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the buffer, -1 for a size known at run time."""
        buffer_type = self.buffer.type
        return buffer_type.get_shape() if isinstance(buffer_type, MemRefType) else ()


def accesses(op: Operation) -> Iterator[Access]:
    """The accesses in `op`, nested ones included, in program order."""
    for inner in op.walk():
        if isinstance(inner, memref.LoadOp | memref.StoreOp):
            yield Access(inner)


def variables_in(value: SSAValue, scope: Operation) -> set[BlockArgument]:
    """The block arguments inside `scope` that `value` depends on, through loads as well."""
    found: set[BlockArgument] = set()
    seen: set[SSAValue] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, BlockArgument):
            found.add(current)
        elif isinstance(owner := current.owner, Operation) and scope.is_ancestor(owner):
            pending.extend(owner.operands)
    return found
