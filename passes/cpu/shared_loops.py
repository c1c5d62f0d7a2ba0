"""Loops that are worth running on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod
from operator import mul

from relex.dialects.tir import BlockOp, ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.loop_tree import blocks_in, is_scalar, loops_of

MIN_WORK = 2**24
"""Minimum number of steps between the start of threads and their end; tiles take about 100 microseconds for it."""

ENOUGH_PARTS = 16
"""Number of iterations that keeps threads busy until the end; if no loop has as many, the longest one is best."""


def loops_to_share(func: PrimFuncOp) -> list[Sequence[ForOp]]:
    """Return for each large nest of a function the loops that threads may share, best first."""
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
    """Yield a loop and the loops perfectly nested in it."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])


def _extent(loop: ForOp) -> int:
    """Return the trip count of a loop; 0 if it is only known at run time."""
    return loop.extent if isinstance(loop.extent, int) else 0


def _steps(block: BlockOp) -> int:
    return prod(map(_extent, loops_of(block)))
