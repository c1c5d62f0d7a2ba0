"""`fuse`: merge nested loops into one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.schedule import FuseOp
from relex.dialects.schedule.sequence import names_in
from relex.dialects.tir import ForOp, PrimFuncOp
from relex.passes.analysis.indices import Emitter, substitute
from relex.passes.analysis.loop_tree import (
    base_name,
    check_nested,
    check_serial,
    check_structure,
    find_loop,
    function_of,
    given_or_fresh,
    insert_nest,
    label_of,
    loop_names,
    new_loop,
    take_body,
)
from relex.passes.schedule.table import primitive


@primitive(FuseOp)
def apply_fuse(op: FuseOp, func: PrimFuncOp) -> None:
    """Apply `schedule.fuse` to a function."""
    fused = fuse([find_loop(func, label) for label in names_in(op.loops)], op.new_names)
    op.new_names = [fused.label.data] if fused.label is not None else []


def fuse(loops: Sequence[ForOp], names: Sequence[str] = ()) -> ForOp:
    """Replace perfectly nested loops, outermost first, by a single loop: `i`, `j` become `i_j_fused`."""
    outer = loops[0]
    for loop in loops:
        check_serial(loop)
    check_structure(outer)
    for loop in loops[1:]:
        if isinstance(loop.extent, SSAValue) and outer.is_ancestor(loop.extent.owner):
            fail(loop, f"expected the extent of {label_of(loop)} not to change in {label_of(outer)}")
    check_nested(loops)
    derived = "_".join(map(base_name, loops))
    (label,) = given_or_fresh(outer, loop_names(function_of(outer)), [f"{derived}_fused"], names)
    substitute(outer)
    fused = new_loop(_product(loops), label, outer)
    insert_nest([fused], take_body(loops[-1]), InsertPoint.before(outer))
    substitute(fused, _indices(loops, fused))
    substitute(fused)  # Quotients by dynamic extents are emitted at the top of the loop.
    outer.detach()
    outer.erase()
    return fused


def _product(loops: Sequence[ForOp]) -> int | SSAValue:
    """Return the product of the trip counts."""
    known = prod(loop.extent for loop in loops if isinstance(loop.extent, int))
    emitter = Emitter(loops[0])
    total: SSAValue | None = None
    for loop in loops:
        if isinstance(loop.extent, SSAValue):
            total = loop.extent if total is None else emitter.add(arith.MuliOp(total, loop.extent))
    if total is None:
        return known
    return emitter.emit(IndexExpr.of(total) * known)


def _indices(loops: Sequence[ForOp], fused: ForOp) -> dict[SSAValue, Index]:
    """Return the variables of the loops as quotients and remainders of the fused variable."""
    rest = IndexExpr.of(fused.variable)
    forms: dict[SSAValue, Index] = {}
    for loop in reversed(loops[1:]):
        if isinstance(loop.extent, int):
            forms[loop.variable], rest = rest % loop.extent, rest // loop.extent
        elif (first := fused.body.block.first_op) is not None:
            emitter = Emitter(first)
            whole = emitter.emit(rest)
            forms[loop.variable] = IndexExpr.of(emitter.add(arith.RemSIOp(whole, loop.extent)))
            rest = IndexExpr.of(emitter.add(arith.DivSIOp(whole, loop.extent)))
    forms[loops[0].variable] = rest
    return forms
