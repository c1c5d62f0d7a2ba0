"""What a block reads and writes: the one analysis of buffer accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Dialect, Operation, SSAValue
from xdsl.traits import is_side_effect_free


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
        """The shape of the buffer, `DYNAMIC_INDEX` for a size known at run time."""
        buffer_type = self.buffer.type
        return buffer_type.get_shape() if isinstance(buffer_type, MemRefType) else ()


def accesses(op: Operation) -> Iterator[Access]:
    """The accesses in `op`, nested ones included, in program order."""
    for inner in op.walk():
        if isinstance(inner, memref.LoadOp | memref.StoreOp):
            yield Access(inner)


def is_pure(op: Operation) -> bool:
    """Whether an op has no side effect. Those of `arith` and `math` have none, though xDSL does not say it of all."""
    return Dialect.split_name(op.name)[0] in ("arith", "math") or is_side_effect_free(op)


def variables_in(value: SSAValue, scope: Operation) -> set[BlockArgument]:
    """The block arguments inside `scope` that `value` depends on: through loads, bindings and regions as well."""
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
        pending.extend(_sources(current, scope))
    return found


def _sources(value: SSAValue, scope: Operation) -> Sequence[SSAValue]:
    """What a value inside `scope` is computed from."""
    from relex.dialects.tir.blocks import BlockOp
    from relex.dialects.tir.loops import ForOp

    if not isinstance(value, BlockArgument):
        op = value.owner
        inside = isinstance(op, Operation) and scope.is_ancestor(op)
        return [operand for inner in op.walk() for operand in inner.operands] if inside else ()
    op = value.owner.parent_op()
    if op is None or op is scope or not scope.is_ancestor(op):
        return ()
    if isinstance(op, ForOp):
        return ()  # It counts from 0; its extent says only how far.
    if isinstance(op, BlockOp):
        return op.bindings[value.index : value.index + 1]
    return op.operands
