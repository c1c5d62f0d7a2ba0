"""`reorder` and `fuse`: change the order of nested loops, or merge them into one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail, name_of
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.index.from_ir import index_of
from relex.dialects.schedule.loop_primitives import FuseOp, ReorderOp
from relex.dialects.tir import ForOp, IterKind, LoopKind, loops_around
from relex.dialects.tir.accesses import Access, UsedValues
from relex.passes.analysis import loop_tree
from relex.passes.analysis.dependence import Meeting, check_bindings_differ, dependences, lifetime
from relex.passes.analysis.kept import resumed
from relex.passes.analysis.reduction_order import order_matters
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, substitute
from relex.passes.rewriting.loop_edits import insert_nest, new_loop, take_body
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.primitive_table import primitive


@primitive(ReorderOp)
def reorder(*loops: ForOp) -> None:
    """Put nested loops into the given order, outermost first. Loops between them that are not given stay in place."""
    nest = _nest(loops)
    loop_tree.check_structure(nest[0])
    loop_tree.check_nested(nest)
    loop_tree.check_extents(nest)
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
            names = " and ".join(map(loop_tree.label_of, loops))
            fail(loops[0], f"expected {names} to be perfectly nested")
        nest.append(scope)
    return nest[::-1]


@resumed()
def _check_order(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    for block in loop_tree.blocks_in(nest[0]):
        if block.init is not None:
            check_bindings_differ(block, nest)
    for a, b, carried in dependences(nest):
        fixed = [loop for loop in carried if loop.kind.data in (LoopKind.PARALLEL, LoopKind.VECTORIZED)]
        if fixed and nest != order:
            fail(
                fixed[0], f"expected {loop_tree.label_of(fixed[0])} to stay in its place, as it is {fixed[0].kind.data}"
            )
        if [loop for loop in order if loop in carried] == carried:
            continue
        kept = ", ".join(map(loop_tree.label_of, carried))
        if a.block is not b.block:
            blocks = f"{loop_tree.name_of_block(a.block)} and {loop_tree.name_of_block(b.block)}"
            fail(nest[0], f"cannot reorder {kept}: {blocks} have a dependence through {name_of(a.buffer)}")
        if (reason := _reason_to_keep(a, b, nest[0])) is not None:
            fail(a.block, f"cannot reorder {kept}: they carry the reduction {loop_tree.name_of_block(a.block)} "
                          f"and {reason}")  # fmt: skip


def _reason_to_keep(a: Access, b: Access, nest: ForOp) -> str | None:
    """Return why two accesses of one block that depend on each other must keep their order; None if they need not."""
    in_init = a.in_init or b.in_init
    if not in_init and (reason := order_matters(a.block)) is not None:
        return reason
    if a.buffer is not b.buffer:
        return f"{name_of(a.buffer)} and {name_of(b.buffer)} may share memory"
    if in_init and not _belong_together(a, b, nest):
        return f"its init accesses other elements of {name_of(a.buffer)}"
    return None


def _belong_together(a: Access, b: Access, nest: ForOp) -> bool:
    """Return whether accesses of a block, one of them in its init, only reach the same element for the same values of
    its spatial variables. The init then comes first in any order of the loops."""
    spatial = [(v.variable, v.variable) for v in a.block.iter_vars if v.kind is IterKind.SPATIAL]
    first, second = (UsedValues(x.op, x.indices, known=tuple(map(index_of, x.indices))) for x in (a, b))
    scope = lifetime(a.buffer, nest.parent_op() or nest)
    return not Meeting(first, second, scope, spatial).may_happen(spatial)


def _permute(nest: Sequence[ForOp], order: Sequence[ForOp]) -> None:
    holder, following = nest[0].parent_block(), nest[0].next_op
    assert holder is not None
    body = take_body(nest[-1])
    for loop in nest:
        loop.detach()
    insert_nest(order, body, InsertPoint(holder, following))


@primitive(FuseOp)
def fuse(*loops: ForOp, names: NewNames) -> ForOp:
    """Replace perfectly nested loops, outermost first, by a single loop: `i`, `j` become `i_j_fused`."""
    outer = loops[0]
    for loop in loops:
        loop_tree.check_serial(loop)
    loop_tree.check_structure(outer)
    loop_tree.check_extents(loops)
    loop_tree.check_nested(loops)
    if empty := [loop for loop in loops if loop.extent == 0]:
        fail(
            empty[0],
            f"expected {loop_tree.label_of(empty[0])} to have iterations, as others cannot be computed from none",
        )
    _, (label,) = names.take(loops=[f"{'_'.join(map(loop_tree.base_name, loops))}_fused"])
    substitute(outer)
    fused = new_loop(_product(loops), label, outer)
    insert_nest([fused], take_body(loops[-1]), InsertPoint.before(outer))
    substitute(fused, _indices(loops, fused))
    substitute(fused)  # Quotients by dynamic extents are emitted at the top of the loop.
    Rewriter.erase_op(outer)
    return fused


def _product(loops: Sequence[ForOp]) -> int | SSAValue:
    """Return the product of the trip counts."""
    total = prod(loop.extent if isinstance(loop.extent, int) else IndexExpr.of(loop.extent) for loop in loops)
    return total if isinstance(total, int) else IndexArithmetic(loops[0]).emit(total)


def _indices(loops: Sequence[ForOp], fused: ForOp) -> dict[SSAValue, Index]:
    """Return the variables of the loops as quotients and remainders of the fused variable."""
    rest = IndexExpr.of(fused.variable)
    forms: dict[SSAValue, Index] = {}
    for loop in reversed(loops[1:]):
        if isinstance(loop.extent, int):
            forms[loop.variable], rest = rest % loop.extent, rest // loop.extent
        elif (first := fused.body.block.first_op) is not None:
            emitter = IndexArithmetic(first)
            whole = emitter.emit(rest)
            forms[loop.variable] = IndexExpr.of(emitter.add(arith.RemSIOp(whole, loop.extent)))
            rest = IndexExpr.of(emitter.add(arith.DivSIOp(whole, loop.extent)))
    forms[loops[0].variable] = rest
    return forms
