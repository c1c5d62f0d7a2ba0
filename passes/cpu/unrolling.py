"""Unrolling of the loops of a tile."""

from __future__ import annotations

from collections.abc import Sequence

from relex.passes.analysis.buffers import buffers_written
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import find_block, find_loop
from relex.passes.cpu import cost
from relex.passes.cpu.reductions import count, named, uses
from relex.passes.schedule import Block, Loop, Schedule


def unroll_in_tile(schedule: Schedule, block: Block, loops: Sequence[Loop], producer: Block) -> None:
    """Unroll loops of a block, given outermost first, that run once for each tile of the results of `producer`.

    Loops that index the tile always are: LLVM keeps a buffer in registers if all accesses to it are at constant places.
    The tile fits into the registers, so these loops are short. Other loops may have any number of iterations, such as
    the loop of a softmax over the terms, which are divided by their sum. They are unrolled from the innermost outwards
    as long as the code has no more than `cost.MAX_COPIES` copies of the block.
    """
    func = schedule.function(block.func)
    (tile,) = buffers_written(find_block(func, producer.name))
    accesses = [access for access in block_accesses(find_block(func, block.name)) if access.buffer is tile]
    found = [find_loop(func, loop.label) for loop in loops]
    chosen = [loop for loop in found if any(uses(access, loop) for access in accesses)]
    for loop in reversed([loop for loop in found if loop not in chosen]):
        if count([*chosen, loop]) > cost.MAX_COPIES:
            break
        chosen.append(loop)
    for loop in map(named, chosen):
        schedule.unroll(loop)
