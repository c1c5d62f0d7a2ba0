"""Steps that several rules take: they unroll the loops of a tile, and move the consumer of its results into a loop."""

from __future__ import annotations

from collections.abc import Sequence

from relex.dialects.errors import CompileError
from relex.dialects.tir import AllocBufferOp, BlockOp
from relex.passes.analysis.buffers import accesses_in, buffers_written
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import find_block, find_loop, function_of
from relex.passes.cpu import cost
from relex.passes.cpu.reductions import block_named, count, named, uses
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


def only_reader(block: BlockOp) -> BlockOp | None:
    """Return the only consumer of a block's results, if they are used nowhere else."""
    (buffer,) = buffers_written(block)
    readers = {access.block for access in accesses_in(function_of(block), buffer)} - {block}
    return readers.pop() if isinstance(buffer.owner, AllocBufferOp) and len(readers) == 1 else None


def move_reader(schedule: Schedule, block: Block, loop: Loop) -> Block | None:
    """Move the only consumer of a block's results into a loop of the block, as an epilogue; return it if possible."""
    reader = only_reader(find_block(schedule.function(block.func), block.name))
    if reader is None:
        return None
    epilogue = block_named(reader)
    try:
        schedule.reverse_compute_at(epilogue, loop)
    except CompileError:
        return None  # The consumer needs more than a tile.
    return epilogue
