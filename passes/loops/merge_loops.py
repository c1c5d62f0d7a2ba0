"""Loop fusion: merge consecutive loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from relex.dialects.tir import (
    AllocBufferOp,
    BlockOp,
    ForOp,
    IterKind,
    IterKindAttr,
    OpPattern,
    PrimFuncOp,
    loops_around,
)
from relex.dialects.tir.accesses import is_pure
from relex.dialects.tir.indices import known_size
from relex.passes.analysis.op_patterns import pattern_of_block
from relex.passes.analysis.sharing import depends_on, has_views, is_spatial, is_understood, may_share_loop
from relex.passes.base import RelexPass


@dataclass(frozen=True)
class MergeLoopsPass(RelexPass):
    """
    Lets a loop nest share the outer loops of the nest before it, whose results it uses: elementwise consumers of a
    reduction run as soon as each of its elements is complete, and rows are processed while they are in the cache.
    Blocks stay as they are, each with its variables, in their order; every element is computed by the same operations.

    Loops are shared as deep as both nests have equal extents and access common elements in the same iteration, and as
    no block reduces along them. A product such as a dense layer shares all of its spatial loops or none, and is not
    moved into the loops of another nest: how to tile it is left to schedules.

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
        for function in op.ops:
            if isinstance(function, PrimFuncOp) and not has_views(function):
                while _merge_in(function.body.block, function):
                    pass  # A merged nest may in turn depend on the one before it.


def _merge_in(block: Block, function: PrimFuncOp) -> bool:
    """Merge each nest in a block with the one before it; return whether any were merged."""
    is_changed = False
    previous: ForOp | None = None
    between: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, AllocBufferOp) or (is_pure(op) and not op.regions):
            between.append(op)
            continue
        if isinstance(op, ForOp) and previous is not None and (depth := _shared_depth(previous, op, function)):
            _put_before(previous, between)
            _merge(previous, op, depth)
            is_changed = True
        else:
            previous = op if isinstance(op, ForOp) else None
        between = []
    return is_changed


def _shared_depth(first: ForOp, second: ForOp, function: PrimFuncOp) -> int:
    """Return how many loops two nests may share; 0 if they should not."""
    if not (depends_on(second, first) and is_understood(first) and is_understood(second)):
        return 0
    shared: list[ForOp] = []
    outer: ForOp | None = first
    inner: ForOp | None = second
    while outer is not None and inner is not None and _may_be_one(outer, inner, function):
        shared.append(outer)
        outer, inner = _last_loop(outer), _only_loop(inner)
    if not shared or _products(second):
        return 0
    spatial = {loop for product in _products(first) for loop in loops_around(product) if is_spatial(loop)}
    return len(shared) if spatial <= set(shared) else 0


def _may_be_one(first: ForOp, second: ForOp, function: PrimFuncOp) -> bool:
    return (
        known_size(first.extent) == known_size(second.extent)
        and (first.kind, first.attributes) == (second.kind, second.attributes)
        and is_spatial(first)
        and is_spatial(second)
        and may_share_loop(first, second, function)
    )


def _products(nest: ForOp) -> list[BlockOp]:
    """Return the blocks in a nest that reuse elements of their operands."""
    reductions = [op for op in nest.walk() if isinstance(op, BlockOp) and IterKindAttr(IterKind.REDUCE) in op.kinds]
    return [block for block in reductions if pattern_of_block(block) is OpPattern.OUT_ELEMENTWISE_FUSABLE]


def _last_loop(loop: ForOp) -> ForOp | None:
    last = loop.body.block.last_op
    return last if isinstance(last, ForOp) else None


def _only_loop(loop: ForOp) -> ForOp | None:
    """Return the loop that makes up the body of another one, apart from pure ops before it."""
    last = loop.body.block.last_op
    others = (op for op in loop.body.block.ops if op is not last)
    return last if isinstance(last, ForOp) and all(is_pure(op) and not op.regions for op in others) else None


def _merge(first: ForOp, second: ForOp, depth: int) -> None:
    """Append the body of the second loop to that of the first, down to a depth."""
    outer, inner = _last_loop(first), _only_loop(second)
    second.variable.replace_all_uses_with(first.variable)
    ops = list(second.body.block.ops)
    for op in ops:
        op.detach()
    first.body.block.add_ops(ops)
    second.detach()
    second.erase()
    if depth > 1 and outer is not None and inner is not None:
        _put_before(outer, ops[:-1])
        _merge(outer, inner, depth - 1)


def _put_before(place: Operation, ops: Sequence[Operation]) -> None:
    for op in ops:
        op.detach()
        if place.parent is not None:
            place.parent.insert_op_before(op, place)
