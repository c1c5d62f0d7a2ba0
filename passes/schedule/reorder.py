"""`reorder`: change the order of nested loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.schedule.loops import ReorderOp
from relex.dialects.tir import ForOp, LoopKind, loops_around
from relex.passes.analysis.dependence import check_bindings_differ, dependences
from relex.passes.analysis.loop_tree import (
    blocks_in,
    check_extents,
    check_nested,
    check_structure,
    label_of,
    name_of_block,
)
from relex.passes.analysis.reductions import order_matters
from relex.passes.schedule.table import primitive
from relex.passes.support.index_arithmetic import substitute
from relex.passes.support.loop_edits import insert_nest, take_body


@primitive(ReorderOp)
def reorder(*loops: ForOp) -> None:
    """Put nested loops into the given order, outermost first. Loops between them that are not given stay in place."""
    nest = _nest(loops)
    check_structure(nest[0])
    check_nested(nest)
    check_extents(nest)
    given = iter(loops)
    order = [next(given) if loop in loops else loop for loop in nest]
    _check_order(nest, order)
    substitute(nest[0])
    _permute(nest, order)


def _nest(loops: Sequence[ForOp]) -> list[ForOp]:
    """Return the given loops and those between them, outermost first."""
    nest = [max(loops, key=lambda loop: len(list(loops_around(loop))))]
    while not set(loops) <= set(nest):
        scope = nest[-1].parent_op()
        if not isinstance(scope, ForOp):
            names = " and ".join(map(label_of, loops))
            fail(loops[0], f"expected {names} to stand in each other, with nothing but loops between")
        nest.append(scope)
    return nest[::-1]


def _check_order(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    for block in blocks_in(nest[0]):
        if block.init is not None:
            check_bindings_differ(block, nest)
    for a, b, carried in dependences(nest):
        fixed = [loop for loop in carried if loop.kind.data in (LoopKind.PARALLEL, LoopKind.VECTORIZED)]
        if fixed and nest != order:
            fail(fixed[0], f"expected {label_of(fixed[0])} to stay in its place, as it is {fixed[0].kind.data}")
        if [loop for loop in order if loop in carried] == carried:
            continue
        kept = ", ".join(map(label_of, carried))
        if a.block is not b.block:
            blocks = f"{name_of_block(a.block)} and {name_of_block(b.block)}"
            fail(nest[0], f"expected {kept} to keep their order, as {blocks} meet in {name_of(a.buffer)}")
        if not (a.in_init or b.in_init) and (reason := order_matters(a.block)) is not None:
            fail(a.block, f"expected {kept} to keep their order, as they carry the reduction {name_of_block(a.block)} "
                          f"and {reason}")  # fmt: skip


def _permute(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    holder, following = nest[0].parent_block(), nest[0].next_op
    assert holder is not None
    body = take_body(nest[-1])
    for loop in nest:
        loop.detach()
    insert_nest(order, body, InsertPoint(holder, following))
