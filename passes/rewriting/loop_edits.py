"""Building and changing the loops of a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.index.expr import Index
from relex.dialects.names import name_value
from relex.dialects.op_edits import insert_before
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, IterKind, LoopKind
from relex.dialects.tir.accesses import is_pure
from relex.passes.analysis.loop_tree import guard_of, steps_in
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, constant


def insert_nest(loops: Sequence[ForOp], innermost: Operation | Sequence[Operation], at: InsertPoint) -> None:
    """Nest loops without bodies into each other, put ops into the innermost, and insert the nest."""
    inside = [innermost] if isinstance(innermost, Operation) else innermost
    for loop in reversed(loops):
        loop.body.block.add_ops(inside)
        inside = [loop]
    Rewriter.insert_op(inside, at)


def new_loop(extent: int | SSAValue, label: str, source: Operation, kind: LoopKind = LoopKind.SERIAL) -> ForOp:
    """Create a loop with an empty body, at the location of `source`."""
    loop = ForOp(extent, kind=kind, label=label)
    loop.location = source.location
    # As the name hint of a value, `j_0` would lose its number.
    name_value(loop.variable, re.sub(r"_(?=\d)", "", label))
    return loop


def set_extent(loop: ForOp, extent: int | SSAValue) -> None:
    """Set the extent of a loop."""
    loop.static_extent = IntegerAttr(extent, i64) if isinstance(extent, int) else None
    loop.operands = [extent] if isinstance(extent, SSAValue) else []


def take_body(loop: ForOp) -> list[Operation]:
    """Detach the ops in a loop and return them."""
    ops = list(loop.body.block.ops)
    for op in ops:
        op.detach()
    return ops


def erase_empty(scope: Operation | None) -> None:
    """Erase `scope`, and the loops and conditions around it, as long as nothing in them does anything."""
    while isinstance(scope, ForOp | scf.IfOp) and all(map(_does_nothing, steps_in(scope))):
        parent = scope.parent_op()
        Rewriter.erase_op(scope)
        scope = parent


def _does_nothing(op: Operation) -> bool:
    return isinstance(op, ForOp | scf.IfOp | scf.YieldOp | AllocBufferOp) or is_pure(op)


def add_guard(block: BlockOp, form: Index, bound: int | SSAValue, predicate: str = "slt") -> None:
    """Guard a block by `form < bound`, or by another comparison."""
    emitter = IndexArithmetic(guard_of(block) or block)
    value = emitter.emit(form)
    limit = constant(bound, block) if isinstance(bound, int) else bound
    add_condition(block, emitter.add(arith.CmpiOp(value, limit, predicate)))


def add_condition(block: BlockOp, holds: SSAValue) -> None:
    """Let a block run only where a condition holds as well."""
    guard = guard_of(block)
    if guard is not None:
        guard.operands[0] = IndexArithmetic(guard).add(arith.AndIOp(guard.cond, holds))
        return
    inside = Block()
    insert_before(block, scf.IfOp(holds, [], Region(inside)))
    block.detach()
    inside.add_ops([block, scf.YieldOp()])


def spatial_block(
    name: str, loops: Sequence[ForOp], body: Callable[[Sequence[SSAValue]], Sequence[Operation]], origin: Operation
) -> BlockOp:
    """Return a block with a spatial variable for each of some loops, at the location of `origin`. `body` returns what
    it does, given its variables."""
    inside = Block(arg_types=[IndexType()] * len(loops))
    for loop, variable in zip(loops, inside.args, strict=True):
        variable.name_hint = f"v{loop.variable.name_hint}"
    inside.add_ops(body(inside.args))
    kinds, extents = [IterKind.SPATIAL] * len(loops), [loop.extent for loop in loops]
    block = BlockOp(name, kinds, extents, [loop.variable for loop in loops], Region(inside))
    for op in block.walk():
        op.location = origin.location
    return block
