"""`fuse`: merge nested loops into one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail
from relex.dialects.index.expr import Index, IndexExpr
from relex.dialects.schedule.loops import FuseOp
from relex.dialects.tir import ForOp
from relex.passes.analysis.loop_tree import (
    base_name,
    check_extents,
    check_nested,
    check_serial,
    check_structure,
    label_of,
)
from relex.passes.editing.index_arithmetic import Emitter, substitute
from relex.passes.editing.loop_edits import insert_nest, new_loop, take_body
from relex.passes.schedule.new_names import NewNames
from relex.passes.schedule.table import primitive


@primitive(FuseOp)
def fuse(*loops: ForOp, names: NewNames) -> ForOp:
    """Replace perfectly nested loops, outermost first, by a single loop: `i`, `j` become `i_j_fused`."""
    outer = loops[0]
    for loop in loops:
        check_serial(loop)
    check_structure(outer)
    check_extents(loops)
    check_nested(loops)
    if empty := [loop for loop in loops if loop.extent == 0]:
        fail(empty[0], f"expected {label_of(empty[0])} to have iterations, as others cannot be computed from none")
    _, (label,) = names.take(loops=[f"{'_'.join(map(base_name, loops))}_fused"])
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
    return total if isinstance(total, int) else Emitter(loops[0]).emit(total)


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
