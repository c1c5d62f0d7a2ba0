"""Selects the ops that are printed inside the expressions of their users instead of as statements."""

from __future__ import annotations

from xdsl.dialects import arith, memref, scf, tensor
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from relex.dialects.walks import reachable


def inlined_ops(block: Block) -> set[Operation]:
    """
    Return the ops to print inside their users.

    These are constants, sizes, and ops with a single use. An op that reads memory must not cross one that may write it.
    """
    ops = list(block.ops)
    positions = {op: i for i, op in enumerate(ops)}
    writes = [i for i, op in enumerate(ops) if may_write(op)]
    statement: dict[Operation, int] = {}
    """The position of the statement in which each op is printed."""
    inlined: set[Operation] = set()
    for op in reversed(ops):
        statement[op] = positions[op]
        if isinstance(op, arith.ConstantOp | memref.DimOp | tensor.DimOp):
            inlined.add(op)
            continue
        user = _only_user(op)
        around = block.find_ancestor_op_in_block(user) if user is not None else None
        if user is None or around is None or not _is_expression(op):
            continue
        end = statement[around]
        if _reads(op, block) and (user.parent is not block or any(positions[op] < i < end for i in writes)):
            continue
        inlined.add(op)
        statement[op] = end
    return inlined


def may_write(op: Operation) -> bool:
    """Return whether an op of a loop function may write memory."""
    if op.regions:
        return any(may_write(inner) for region in op.regions for block in region.blocks for inner in block.ops)
    return not isinstance(op, memref.LoadOp | scf.YieldOp) and not _is_pure(op)


def _is_expression(op: Operation) -> bool:
    if isinstance(op, scf.IfOp):
        return bool(op.results) and not may_write(op)
    return len(op.results) == 1 and not op.regions and (isinstance(op, memref.LoadOp) or _is_pure(op))


def _is_pure(op: Operation) -> bool:
    # xDSL does not declare all of these pure.
    return op.dialect_name() in ("arith", "math") or is_side_effect_free(op)


def _only_user(op: Operation) -> Operation | None:
    users = [use.operation for result in op.results for use in result.uses]
    return users[0] if len(users) == 1 else None


def _reads(op: Operation, block: Block) -> bool:
    """Return whether an op, or an op of the block that it depends on, reads memory."""

    def sources(user: Operation) -> list[Operation]:
        owners = (operand.owner for operand in user.operands)
        return [owner for owner in owners if isinstance(owner, Operation) and owner.parent is block]

    return any(isinstance(source, memref.LoadOp) or source.regions for source in reachable(op, sources))
