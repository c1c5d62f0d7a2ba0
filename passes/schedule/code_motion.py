"""Legality of code motion: which accesses a block crosses when it is moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import span_of
from relex.dialects.index.from_ir import index_of
from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.dialects.walks import ancestors
from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.dependence import block_accesses, may_conflict, statement_accesses
from relex.passes.analysis.loop_tree import (
    check_conditions,
    following,
    function_of,
    guard_of,
    is_scalar,
    label_of,
    may_trap,
    name_of_block,
)


def branches(block: BlockOp, loop: ForOp) -> tuple[Operation, Operation]:
    """Return the ancestor of `block` and the ancestor of `loop` that are siblings; fail if one of the two contains the
    other, or if blocks or conditions lie between."""
    if loop.is_ancestor(block) or block.is_ancestor(loop):
        fail(block, f"expected {name_of_block(block)} to stand outside of {label_of(loop)}")
    around = [loop, *ancestors(loop)]
    branch = next(op for op in (block, *ancestors(block)) if op.parent_op() in around)
    scope = branch.parent_op()
    assert scope is not None
    other = around[around.index(scope) - 1]
    for op in around[: around.index(scope) + 1]:
        if not isinstance(op, ForOp) and op is not scope:
            fail(loop, f"expected loops only between {label_of(loop)} and {name_of_block(block)}, found '{op.name}'")
    if not isinstance(scope, ForOp | PrimFuncOp | BlockOp) or branch.parent is not other.parent:
        fail(loop, f"expected loops only around {label_of(loop)} and {name_of_block(block)}, found '{scope.name}'")
    return branch, other


def accesses_from(first: Operation, last: Operation) -> Iterator[Access]:
    """Yield the accesses of the statements from `first` to `last`, inclusive."""
    for op in (first, *following(first)):
        if op.regions:
            yield from statement_accesses(op)
        if op is last:
            return


def check_independent(block: BlockOp, passed: Sequence[Access], exempt: Sequence[SSAValue] = ()) -> None:
    """Fail if a block conflicts with an access that it is moved across: both may access the same element, and one is a
    write. Accesses of buffers in `exempt` do not count, unless they may share memory with other buffers."""
    for own in block_accesses(block):
        for other in passed:
            if other.block is block or (own.buffer is other.buffer and own.buffer in exempt):
                continue
            if may_conflict(own, other):
                verb = "writes" if other.is_write else "reads"
                fail(block, f"expected {name_of_block(block)} to pass nothing that it depends on, found "
                            f"{name_of_block(other.block)}, which {verb} {name_of(other.buffer)}")  # fmt: skip


def check_runs_anywhere(block: BlockOp) -> None:
    """Fail unless a block is safe to run without its guard: in bounds, without traps, and not overwriting an input."""
    check_conditions(block)
    if guard_of(block) is None:
        return
    check_unshared_outputs(block)
    for access in block_accesses(block):
        for index, size in zip(access.indices, access.shape, strict=True):
            span = span_of(index_of(index))
            if not (0 <= span.low and span.high < size):
                fail(block, f"expected {name_of_block(block)} to run without its condition, found indices of "
                            f"{name_of(access.buffer)} that may be out of bounds then")  # fmt: skip
    for op in block.walk():
        if may_trap(op):
            fail(block, f"expected {name_of_block(block)} to run without its condition, found a division")


def check_unshared_outputs(block: BlockOp) -> None:
    """Fail if additional elements that a block would write may belong to an input."""
    for buffer in buffers_written(block):
        check_unshared(buffer, block)


def check_unshared(buffer: SSAValue, block: BlockOp) -> None:
    """Fail if additional elements of a buffer that would be written for a block may belong to an input."""
    func = function_of(block)
    if buffer in func.args and not func.noalias:
        fail(block, f"expected a function with 'tir.noalias', as {name_of_block(block)} may write elements of "
                    f"{name_of(buffer)} that it has not written before")  # fmt: skip


def find_late_values(block: BlockOp, place: Operation) -> list[Operation]:
    """Return the ops that must move before `place` so that the block can: computations of sizes, constants and buffers,
    in order of definition. Fail if the block needs anything else that is computed after `place`."""
    late: dict[Operation, None] = {}

    def visit(value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or block.is_ancestor(op) or op in late or is_available(op, place):
            return
        if not is_scalar(op) and not isinstance(op, AllocBufferOp | memref.DimOp):
            fail(block, f"expected {name_of_block(block)} to use nothing that is computed after "
                        f"its new place, found '{op.name}'")  # fmt: skip
        for operand in op.operands:
            visit(operand)
        late[op] = None

    for op in block.walk():
        for operand in [*block.dynamic_extents] if op is block else op.operands:
            visit(operand)
    return list(late)


def is_available(owner: Operation | Block, place: Operation) -> bool:
    """Return whether an op comes before `place`, or before an op around it, or is a block around it."""
    home = owner if isinstance(owner, Block) else owner.parent
    beside = next((scope for scope in (place, *ancestors(place)) if scope.parent is home), None)
    return beside is not None and (isinstance(owner, Block) or owner.is_before_in_block(beside))


def move_before(ops: Sequence[Operation], place: Operation) -> None:
    """Move ops, in order, before `place`."""
    for op in ops:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(place))
