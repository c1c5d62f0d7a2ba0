"""Loops that are worth it to be shared by threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod
from operator import mul

from relex.dialects.tir import BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.indices import is_scalar
from relex.passes.analysis.loop_tree import blocks_in, loops_of

MIN_WORK = 2**24
"""Steps between the start of threads and their end; tiles take about 100 microseconds for so many."""

ENOUGH_PARTS = 16
"""Iterations that keep threads busy until the end; of fewer, the most that there are."""


def loops_to_share(func: PrimFuncOp) -> list[Sequence[ForOp]]:
    """For each nest of a function that is large enough, the loops that may be shared, those that suit best first."""
    nests = [op for op in func.body.block.ops if isinstance(op, ForOp)]
    return [loops for nest in nests if (loops := _candidates(nest))]


def _candidates(nest: ForOp) -> Sequence[ForOp]:
    chain = list(_chain(nest))
    if any(loop.kind.data is LoopKind.PARALLEL for loop in chain):
        return []
    starts = accumulate((_extent(loop) for loop in chain), mul, initial=1)
    work = sum(map(_steps, blocks_in(nest)))
    large = [loop for loop, often in zip(chain, starts, strict=False) if often and work // often >= MIN_WORK]
    return sorted((loop for loop in large if _extent(loop) > 1), key=lambda loop: -min(_extent(loop), ENOUGH_PARTS))


def _chain(loop: ForOp) -> Iterator[ForOp]:
    """A loop and those inside of it, as long as each is all that the one before holds."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])


def _extent(loop: ForOp) -> int:
    """How often a loop runs; 0 where that is known at run time only."""
    return loop.extent if isinstance(loop.extent, int) else 0


def _steps(block: BlockOp) -> int:
    return prod(map(_extent, loops_of(block)))
