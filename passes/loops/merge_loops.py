"""Loop fusion: merge consecutive loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from operator import is_not

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from relex.dialects.tir import AllocBufferOp, BlockOp, ForOp, OpPattern, PrimFuncOp, loops_around
from relex.dialects.tir.accesses import Element, is_pure
from relex.dialects.walks import walk_of
from relex.passes.analysis import sharing
from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.dependence import may_alias, statement_accesses
from relex.passes.analysis.kept import forget, keeping
from relex.passes.analysis.loop_tree import blocks_in, following, is_reduction, only_step
from relex.passes.analysis.op_patterns import pattern_of_block, reuses_operands
from relex.passes.cpu import cost
from relex.passes.cpu.caches import bytes_nearby, bytes_used
from relex.passes.cpu.reduction_nest import count
from relex.passes.driver.base import RelexPass
from relex.passes.rewriting.loop_edits import take_body
from relex.passes.schedule.code_motion import move_before


class MergeLoopsPass(RelexPass):
    """
    Lets a loop nest share the outer loops of the nest before it, whose results it uses: elementwise consumers of a
    reduction run as soon as each of its elements is complete, and rows are processed while they are in the cache.
    Blocks stay as they are, each with its variables, in their order; every element is computed by the same operations.

    Loops are shared as deep as both nests have equal extents and access common elements in the same iteration, and as
    no block reduces along them. A product such as a dense layer shares all of its spatial loops or none: how to tile it
    is left to schedules.

    A product of what another nest computed, as in attention, shares loops with that nest if what passes between them in
    an iteration then stays in the second-level cache of the module's target. Nests in between that have nothing to do
    with the first one, such as those that pack panels, come before both.

    Nests that store parts of the same results, such as tiles of one height and those for the rows left over, share all
    loops but the innermost of those that are perfectly nested, if these have enough iterations for threads.

    ```mlir
    tir.for %i, %k in (8, 4) {
      tir.block @sum (%vi: spatial<8> = %i, %vk: reduce<4> = %k) { ... }
    }
    tir.for %i in (8) {
      tir.block @relu (%vi: spatial<8> = %i) { ... }
    }
    // merge-loops
    tir.for %i in (8) {
      tir.for %k in (4) {
        tir.block @sum (%vi: spatial<8> = %i, %vk: reduce<4> = %k) { ... }
      }
      tir.block @relu (%vi: spatial<8> = %i) { ... }
    }
    ```
    """

    name = "merge-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        nearby = bytes_nearby(op)
        for function in op.ops:
            if isinstance(function, PrimFuncOp) and not sharing.has_views(function):
                with keeping({}):
                    while _merge_in(function.body.block, function, nearby):
                        pass  # A merged nest may in turn depend on the one before it.


def _merge_in(block: Block, function: PrimFuncOp, nearby: int) -> bool:
    """Merge each nest in a block with the one before it; return whether any were merged."""
    is_changed = False
    previous: Operation | None = None
    for op in list(block.ops):
        if isinstance(op, AllocBufferOp) or (is_pure(op) and not op.regions):
            continue
        if _may_come_before(previous, op, function):
            continue
        if shared := _shared_loops(previous, op, function, nearby):
            _merge(shared)
            is_changed = True
        else:
            previous = op
    return is_changed


def _may_come_before(first: Operation | None, second: Operation, function: PrimFuncOp) -> bool:
    """Return whether a nest packs panels, and may do so before the nest in front of it."""
    if not isinstance(first, ForOp) or not isinstance(second, ForOp) or not sharing.packs(second):
        return False
    return all(map(sharing.is_understood, (first, second))) and not any(
        (a.is_write or b.is_write) and may_alias(a.buffer, b.buffer, function)
        for a in sharing.all_accesses(first)
        for b in sharing.all_accesses(second)
    )


def _shared_loops(
    first: Operation | None, second: Operation | None, function: PrimFuncOp, nearby: int
) -> list[tuple[ForOp, ForOp]]:
    """Return the loops that two nests may share, in pairs, outermost first; none if they should not. `nearby` is the
    number of bytes that stay in the cache."""
    if not isinstance(first, ForOp) or not isinstance(second, ForOp):
        return []
    is_consumer = sharing.depends_on(second, first)
    if not is_consumer and {*buffers_written(first)}.isdisjoint(buffers_written(second)):
        return []
    if not sharing.is_understood(first) or not sharing.is_understood(second) or sharing.packs(first):
        return []
    spatial = {loop for product in _products(first) for loop in loops_around(product) if sharing.is_spatial(loop)}
    shared: list[tuple[ForOp, ForOp]] = []
    outer, inner = first, second
    while isinstance(outer, ForOp) and isinstance(inner, ForOp) and sharing.may_be_one(outer, inner, function):
        shared.append((outer, inner))
        outer, inner = outer.body.block.last_op, only_step(inner)
    if not is_consumer:
        is_split = isinstance(inner, ForOp) and not isinstance(only_step(inner), ForOp)
        return shared if is_split and count([o for o, _ in shared], cost.LIKELY_SIZE) >= cost.ENOUGH_PARTS else []
    if not shared or (spatial <= {outer for outer, _ in shared} and not any(map(reuses_operands, blocks_in(second)))):
        return shared
    return shared if _bytes_between(first, second, shared[-1][1]) <= nearby else []


def _bytes_between(first: ForOp, second: ForOp, loop: ForOp) -> int:
    """Return the size of what an iteration of a loop of the second nest reads of local buffers that the first one
    writes."""
    written = buffers_written(first)
    read: dict[SSAValue, list[Element]] = {}
    for access in statement_accesses(second):
        if access.buffer in written and not access.is_write:
            read.setdefault(access.buffer, []).append(access.element)
    return sum(bytes_used(buffer, elements, loop) for buffer, elements in read.items())


def _products(nest: ForOp) -> list[BlockOp]:
    """Return the blocks in a nest that reuse elements of their operands."""
    reductions = [op for op in walk_of(nest, BlockOp) if is_reduction(op)]
    return [block for block in reductions if pattern_of_block(block) is OpPattern.OUT_ELEMENTWISE_FUSABLE]


def _merge(shared: Sequence[tuple[ForOp, ForOp]]) -> None:
    """Append the body of each second loop to the body of the first."""
    forget()
    for first, second in shared:
        move_before(list(takewhile(partial(is_not, second), following(first))), first)
        second.variable.replace_all_uses_with(first.variable)
        first.body.block.add_ops(take_body(second))
        Rewriter.erase_op(second)
