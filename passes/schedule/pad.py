"""`pad`: round up the extent of a loop."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from relex.dialects.index.expr import IndexExpr
from relex.dialects.schedule.loops import PadOp
from relex.dialects.tir import ForOp
from relex.passes.analysis.loop_tree import base_name, check_serial, check_structure
from relex.passes.editing.index_arithmetic import Emitter, constant
from relex.passes.editing.loop_edits import new_loop
from relex.passes.schedule.split import replace_loop
from relex.passes.schedule.table import primitive


@primitive(PadOp)
def pad(loop: ForOp, multiple: int) -> None:
    """Round up the extent of a loop to a multiple of a number, and guard the blocks inside."""
    check_serial(loop)
    check_structure(loop)
    padded = new_loop(_round_up(loop, multiple), base_name(loop), loop)
    replace_loop(loop, [padded], IndexExpr.of(padded.variable), exact=padded.extent == loop.extent)


def _round_up(loop: ForOp, multiple: int) -> int | SSAValue:
    if isinstance(loop.extent, int):
        return -(-loop.extent // multiple) * multiple
    emitter, factor = Emitter(loop), constant(multiple, loop)
    return emitter.add(arith.MuliOp(emitter.add(arith.CeilDivSIOp(loop.extent, factor)), factor))
