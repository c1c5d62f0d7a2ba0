"""The analysis of buffer accesses: loads and stores, and the variables that values depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TypeAlias, TypeGuard

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from relex.dialects.index.expr import Index
from relex.dialects.index.from_ir import index_of, index_reader
from relex.dialects.tir.blocks import BlockOp
from relex.dialects.tir.loops import ForOp
from relex.dialects.walks import ancestors, reachable, walk, walk_of

Element: TypeAlias = tuple[Index, ...]
"""The indices of an element."""


@dataclass(eq=False)  # Not frozen: there are many, and that takes several times as long.
class UsedValues:
    """Values that an op uses, such as the indices of an access or the bindings of a block."""

    op: Operation
    indices: tuple[SSAValue, ...]
    known: Element | None = field(default=None, kw_only=True, repr=False, compare=False)
    """`element`, if it was computed before."""

    @cached_property
    def element(self) -> Element:
        """The indices, as expressions of the variables of the loops around the op."""
        return in_loops(self.indices) if self.known is None else self.known


@dataclass(eq=False)
class Access(UsedValues):
    """A read or write of one element of a buffer or, if it is `whole`, of every element."""

    buffer: SSAValue
    is_write: bool
    whole: bool = False
    is_sure: bool = True
    """Whether every element is accessed; otherwise some are, and it is unknown which."""

    @classmethod
    def of(cls, op: memref.LoadOp | memref.StoreOp, read: Callable[[SSAValue], Index] | None = None) -> Access:
        """Return the access of a load or store. `read` returns an index as an expression; by default, that is done when
        it is asked for."""
        # The accessors of xDSL, which look for optional operands, take several times as long.
        is_write, operands = type(op) is memref.StoreOp, op.operands
        indices = tuple(operands[1 + is_write :])
        known = None if read is None else tuple(map(read, indices))
        return cls(op, indices, operands[is_write], is_write, known=known)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the buffer, with `DYNAMIC_INDEX` for dynamic sizes."""
        buffer_type = self.buffer.type
        return buffer_type.get_shape() if isinstance(buffer_type, MemRefType) else ()

    @property
    def block(self) -> BlockOp:
        """The block that the access is in."""
        block = innermost_block(self.op)
        assert block is not None, "expected an access in a block"
        return block

    @property
    def in_init(self) -> bool:
        """Whether the access is in the init of its block."""
        init = self.block.init
        return init is not None and init.is_ancestor(self.op)


def innermost_block(op: Operation) -> BlockOp | None:
    """Return the innermost block around an op, if there is one."""
    return next((scope for scope in ancestors(op) if isinstance(scope, BlockOp)), None)


def in_loops(values: Iterable[SSAValue]) -> Element:
    """Return values as expressions of the variables of the loops around them."""
    return tuple(map(index_reader(_binding), values))


def _binding(variable: SSAValue) -> Index | None:
    block = variable.owner.parent_op()
    if isinstance(block, BlockOp) and isinstance(variable, BlockArgument):
        return index_of(block.binding_of(variable), _binding)
    return None


def is_access(op: Operation) -> TypeGuard[memref.LoadOp | memref.StoreOp]:
    """Return whether an op is a load or a store. It compares classes, which takes a fifth of `isinstance`."""
    return type(op) is memref.LoadOp or type(op) is memref.StoreOp


def accesses(op: Operation) -> Iterator[Access]:
    """Yield the accesses in `op`, including nested ones, in program order."""
    return map(Access.of, walk_of(op, memref.LoadOp, memref.StoreOp))


def is_pure(op: Operation) -> bool:
    """Return whether an op has no side effects. Ops of `arith` and `math` have none, though xDSL does not declare it
    for all of them."""
    return is_arithmetic(type(op)) or is_side_effect_free(op)


@cache
def is_arithmetic(kind: type[Operation]) -> bool:
    """Return whether a class is one of the ops of `arith` and `math`."""
    return kind.dialect_name() in ("arith", "math")


def variables_in(value: SSAValue, scope: Operation) -> set[BlockArgument]:
    """Return the block arguments inside `scope` that `value` depends on, including through loads, bindings and
    regions."""
    return {v for v in reachable(value, lambda v: _sources(v, scope)) if isinstance(v, BlockArgument)}


def _sources(value: SSAValue, scope: Operation) -> Sequence[SSAValue]:
    """Return the values that a value inside `scope` is computed from."""
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
