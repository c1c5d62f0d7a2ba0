"""Steps that leave out the terms of tiles that are products with padding."""

from __future__ import annotations

from relex.dialects.tir import ForOp, LoopKind
from relex.passes.analysis.loop_tree import loops_of
from relex.passes.analysis.padding import loops_with_padding, taps_with_padding
from relex.passes.analysis.reduction_order import order_matters
from relex.passes.analysis.sharing import is_spatial
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import count, named
from relex.passes.schedule import Block, Loop, Schedule


def skip_padding(schedule: Schedule, block: Block) -> None:
    """Leave out the terms that are products with padding for all of a tile, and those for some results of a tile that
    has whole rows of an image."""
    for loop in map(named, loops_with_padding(schedule.block_op(block), cost.MIN_SHARE_OF_PADDING)):
        schedule.skip_padding(loop)
    found = taps_with_padding(schedule.block_op(block), cost.MIN_SHARE_OF_PADDING)
    for taps, row in [(named(taps), named(row)) for taps, row in found]:
        _skip_in_rows(schedule, block, taps, row)


def _skip_in_rows(schedule: Schedule, block: Block, taps: Loop, row: Loop) -> None:
    """
    Write out the taps of a window, so that for each it is known which results of a row it reads padding for. Each tap
    keeps a separate loop: otherwise LLVM would keep elements that several taps read in the registers of the tile.

    ```mlir
    tir.for %b, %r, %s, unrolled %x in (512, 3, 3, 7) {
      ... // acc[x] += data[b, y + r, x + s] * w[b, r, s]
    }
    // _skip_in_rows
    tir.for %b, unrolled %s, %r, unrolled %x in (512, 3, 3, 7) {
      ... // if 0 <= x + s - 1 < 7: acc[x] += data[b, y + r, x + s] * w[b, r, s]
    }
    ```
    """
    op, written_out = schedule.block_op(block), schedule.loop_op(taps)
    loops = loops_of(op)
    at = loops.index(written_out)
    unrolled = [loop for loop in loops if loop.kind.data is LoopKind.UNROLLED]
    if count([written_out, *unrolled]) > cost.MAX_COPIES_OF_TAPS:
        return
    if all(loop.kind.data is not LoopKind.SERIAL for loop in loops[at + 1 :]):
        if at == 0 or not _is_serial_term(loops[at - 1]) or order_matters(op) is not None:
            return
        schedule.reorder(taps, named(loops[at - 1]))
    schedule.unroll(taps)
    schedule.skip_padding(row)


def _is_serial_term(loop: ForOp) -> bool:
    return loop.kind.data is LoopKind.SERIAL and not is_spatial(loop)
