"""Parallel loops of loop functions: which of them run in parallel, and which become one loop."""

from __future__ import annotations

from xdsl.ir import Operation

from relex.dialects.tir import ForOp, LoopKind
from relex.dialects.tir.accesses import variables_in
from relex.dialects.walks import ancestors
from relex.passes.analysis.loop_tree import only_step


def all_loops_around(op: Operation) -> list[ForOp]:
    """Return the loops around `op`, innermost first, including those around blocks."""
    return [scope for scope in ancestors(op) if isinstance(scope, ForOp)]


def runs_in_parallel(loop: ForOp) -> bool:
    """Return whether a loop is parallel and all loops around it are serial."""
    around = [outer.kind.data for outer in all_loops_around(loop)]
    return loop.kind.data is LoopKind.PARALLEL and all(kind is LoopKind.SERIAL for kind in around)


def joined_with(loop: ForOp) -> list[ForOp]:
    """Return a parallel loop and those that become one `scf.parallel` with it, which holds all that is in them. Loops
    of one iteration may come between."""
    loops, last = [loop], loop
    while isinstance(inner := only_step(last), ForOp):
        last = inner
        if inner.extent == 1:
            continue
        is_known = isinstance(inner.extent, int) or not variables_in(inner.extent, loop)
        if inner.kind.data is not LoopKind.PARALLEL or not is_known:
            break
        loops.append(inner)
    return loops
