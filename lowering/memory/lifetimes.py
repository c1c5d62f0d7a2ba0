"""Lifetimes of the buffers of a function that can be moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import cf, memref, scf
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use

from relex.dialects.walks import reachable, walk
from relex.lowering.support.result_buffers import ALIGNMENT

_TOUCH = frozenset(
    "func.call memref.atomic_rmw memref.copy memref.load memref.prefetch memref.store scf.for scf.while tir.call "
    "vector.load vector.maskedload vector.maskedstore vector.store vector.transfer_read vector.transfer_write".split()
)
"""Ops that read or write buffers while they run, and do not capture them. Their results may alias the buffers."""

_LOOK = frozenset(
    "arith.select memref.assume_alignment memref.cast memref.collapse_shape memref.dim memref.expand_shape "
    "memref.extract_strided_metadata memref.rank memref.reinterpret_cast memref.subview memref.view".split()
)
"""Ops that access no element. Buffers among their results alias their operands."""

STRUCTURED = (scf.IfOp, scf.IndexSwitchOp, scf.ForOp, scf.WhileOp)
"""Ops whose regions run one after the other, never at the same time."""

ENDS = (scf.ConditionOp, scf.YieldOp)
"""Terminators that pass buffers to the parent op, as its results or as arguments of its regions."""


_BRANCHES = (cf.BranchOp, cf.ConditionalBranchOp, cf.SwitchOp)
"""Terminators that pass buffers to other blocks."""

Positions = dict[Operation, tuple[int, int]]
"""For each op, its position in the order of a function, and the position of the last op in its regions."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer, the op that frees it, and the positions of the first and last op that access it."""

    alloc: memref.AllocOp
    dealloc: memref.DeallocOp
    first: int
    last: int

    @property
    def buffer(self) -> SSAValue[MemRefType]:
        """The buffer."""
        return self.alloc.memref


def lifetimes(block: Block) -> list[Lifetime]:
    """Return the lifetimes of the buffers that a block, or a branch or loop in it, allocates and frees and whose uses
    are all known. The block must run at most once. A buffer from outside of a loop lives in all of its trips; one from
    inside lives in a part of each, and needs the same memory in all of them."""
    positions = positions_in(block)
    allocs = [op for op in positions if isinstance(op, memref.AllocOp) and _is_plain(op)]
    return [found for alloc in allocs if (found := _lifetime(alloc, positions)) is not None]


def positions_in(block: Block) -> Positions:
    """Return the positions of the ops in a block, and in branches and loops in it that allocate buffers."""
    found: Positions = {}
    for op in block.ops:
        start = len(found)
        found[op] = start, start
        if isinstance(op, STRUCTURED) and any(isinstance(inner, memref.AllocOp) for inner in walk(op)):
            for inner in (inner for region in op.regions for inner in region.blocks):
                for of_one, (first, last) in positions_in(inner).items():
                    found[of_one] = start + 1 + first, start + 1 + last
            found[op] = start, len(found) - 1
    return found


def _is_plain(alloc: memref.AllocOp) -> bool:
    """Return whether a buffer is just a number of bytes, with no stricter alignment than all others."""
    kind = alloc.memref.type
    element: Attribute = kind.element_type
    alignment = alloc.alignment.value.data if alloc.alignment is not None else 1
    return (
        isinstance(kind.layout, NoneAttr)
        and isinstance(kind.memory_space, NoneAttr)
        and isinstance(element, FixedBitwidthType | IndexType)
        and not alloc.symbol_operands
        and ALIGNMENT % alignment == 0
    )


def _lifetime(alloc: memref.AllocOp, positions: Positions) -> Lifetime | None:
    block = alloc.parent_block()
    assert block is not None
    start, _ = positions[alloc]
    uses = uses_of_memory(alloc.memref)
    if uses is None:
        return None
    deallocs = [op for use in uses if isinstance(op := use.operation, memref.DeallocOp)]
    touched = touched_by([use.operation for use in uses if use.operation not in deallocs], block, positions)
    if len(deallocs) != 1 or deallocs[0].memref is not alloc.memref or deallocs[0].parent is not block:
        return None
    if touched is None or positions[deallocs[0]][0] < max(touched, default=start):
        return None
    return Lifetime(alloc, deallocs[0], min(touched, default=start), max(touched, default=start))


def touched_by(users: Iterable[Operation], block: Block, positions: Positions) -> list[int] | None:
    """Return the positions at which users of a buffer access it; None if one of them is outside of the block."""
    statements = [(op, block.find_ancestor_op_in_block(op)) for op in users]
    if any(statement is None for _, statement in statements):
        return None
    return [place for op, at in statements if at is not None and op.name not in _LOOK for place in positions[at]]


def uses_of_memory(buffer: SSAValue) -> Sequence[Use] | None:
    """Return the uses of a buffer and of everything that may alias it; None if it may escape."""
    found: list[Use] = []
    for alias in reachable(buffer, _aliases):
        if any(map(_may_keep, alias.uses)):
            return None
        found += alias.uses
    return found


def _aliases(buffer: SSAValue) -> list[SSAValue]:
    """Return what may alias a buffer by a use of it."""
    return [v for use in buffer.uses for v in aliases_by(use) if isinstance(v.type, MemRefType)]


def _may_keep(use: Use) -> bool:
    """Return whether a use lets the memory escape other than through the results of its op."""
    op = use.operation
    if isinstance(op, memref.StoreOp) and op.value is op.operands[use.index]:
        return True
    return op.name not in _TOUCH | _LOOK and not isinstance(op, (memref.DeallocOp, *ENDS, *_BRANCHES))


def aliases_by(use: Use) -> Iterator[SSAValue]:
    """Yield the values that may alias an operand by a use of it: where it is passed on, only those that take it."""
    op, i = use.operation, use.index
    parent = op.parent_op()
    if isinstance(op, scf.ForOp) and i >= 3:
        yield from (op.results[i - 3], op.body.block.args[i - 2])
    elif isinstance(op, scf.WhileOp):
        yield op.before_region.block.args[i]
    elif isinstance(op, scf.ConditionOp) and isinstance(parent, scf.WhileOp):
        yield from (parent.results[i - 1], parent.after_region.block.args[i - 1]) if i else ()
    elif isinstance(op, scf.YieldOp) and isinstance(parent, scf.WhileOp):
        yield parent.before_region.block.args[i]
    elif isinstance(op, scf.YieldOp) and parent is not None:
        yield parent.results[i]
        if isinstance(parent, scf.ForOp):
            yield parent.body.block.args[i + 1]
    elif isinstance(op, _BRANCHES):
        pairs = (pair for block, given in edges(op) for pair in zip(block.args, given, strict=True))
        yield from (argument for argument, value in pairs if value is op.operands[i])
    else:
        yield from op.results
        yield from (argument for region in op.regions for block in region.blocks for argument in block.args)


def edges(op: Operation | None) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    """Yield the blocks that may follow after the last op of a block, each with what its arguments are."""
    if isinstance(op, cf.BranchOp):
        yield op.successor, op.arguments
    elif isinstance(op, cf.ConditionalBranchOp):
        yield op.then_block, op.then_arguments
        yield op.else_block, op.else_arguments
    elif isinstance(op, cf.SwitchOp):
        yield op.default_block, op.default_operands
        given = iter(op.case_operands)
        for block in op.case_blocks:
            yield block, [next(given) for _ in block.args]
