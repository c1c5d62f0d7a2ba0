"""The analysis of buffer accesses: loads and stores, and the variables that values depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Dialect, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from relex.dialects.walks import reachable, walk


@dataclass(frozen=True)
class Access:
    """One load from or store into a buffer."""

    op: memref.LoadOp | memref.StoreOp

    @property
    def buffer(self) -> SSAValue:
        """The buffer that is accessed."""
        # The accessors of xDSL, which look for optional operands, take several times as long.
        return self.op.operands[self.is_write]

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        """The indices of the element."""
        return tuple(self.op.operands[1 + self.is_write :])

    @property
    def is_write(self) -> bool:
        """True for a store."""
        return type(self.op) is memref.StoreOp

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the buffer, with `DYNAMIC_INDEX` for dynamic sizes."""
        buffer_type = self.buffer.type
        return buffer_type.get_shape() if isinstance(buffer_type, MemRefType) else ()


def is_access(op: Operation) -> TypeGuard[memref.LoadOp | memref.StoreOp]:
    """Return whether an op is a load or a store. It compares classes, which takes a fifth of `isinstance`."""
    return type(op) is memref.LoadOp or type(op) is memref.StoreOp


def accesses(op: Operation) -> Iterator[Access]:
    """Yield the accesses in `op`, including nested ones, in program order."""
    return (Access(inner) for inner in walk(op) if is_access(inner))


def is_pure(op: Operation) -> bool:
    """Return whether an op has no side effects. Ops of `arith` and `math` have none, though xDSL does not declare it
    for all of them."""
    return Dialect.split_name(op.name)[0] in ("arith", "math") or is_side_effect_free(op)


def variables_in(value: SSAValue, scope: Operation) -> set[BlockArgument]:
    """Return the block arguments inside `scope` that `value` depends on, including through loads, bindings and
    regions."""
    return {v for v in reachable(value, lambda v: _sources(v, scope)) if isinstance(v, BlockArgument)}


def _sources(value: SSAValue, scope: Operation) -> Sequence[SSAValue]:
    """Return the values that a value inside `scope` is computed from."""
    from relex.dialects.tir.blocks import BlockOp
    from relex.dialects.tir.loops import ForOp

    if not isinstance(value, BlockArgument):
        op = value.owner
        if not isinstance(op, Operation) or not scope.is_ancestor(op):
            return ()
        return [operand for inner in walk(op) for operand in inner.operands]
    op = value.owner.parent_op()
    if op is None or op is scope or not scope.is_ancestor(op):
        return ()
    if isinstance(op, ForOp):
        return ()  # A loop variable counts from 0; the extent is only its bound.
    if isinstance(op, BlockOp):
        return op.bindings[value.index : value.index + 1]
    return op.operands
