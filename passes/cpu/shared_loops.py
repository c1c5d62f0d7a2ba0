"""Loops that are worth running on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import mul

from relex.dialects.tir import ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.loop_tree import blocks_in, is_scalar, loops_of
from relex.passes.cpu import cost
from relex.passes.cpu.reductions import count


def loops_to_share(func: PrimFuncOp) -> list[Sequence[ForOp]]:
    """Return for each large nest of a function the loops that threads may share, best first."""
    nests = [op for op in func.body.block.ops if isinstance(op, ForOp)]
    return [loops for nest in nests if (loops := _candidates(nest))]


def _candidates(nest: ForOp) -> Sequence[ForOp]:
    chain = list(_chain(nest))
    if any(loop.kind.data is LoopKind.PARALLEL for loop in chain):
        return []
    extents = {loop: count([loop], unknown=0) for loop in chain}
    steps = sum(count(loops_of(block), unknown=0) for block in blocks_in(nest))
    starts = zip(chain, accumulate(extents.values(), mul, initial=1), strict=False)
    large = [loop for loop, times in starts if times and steps // times >= cost.MIN_STEPS_FOR_THREADS]
    divisible = [loop for loop in large if extents[loop] > 1]
    return sorted(divisible, key=lambda loop: -min(extents[loop], cost.ENOUGH_PARTS))


def _chain(loop: ForOp) -> Iterator[ForOp]:
    """Yield a loop and the loops perfectly nested in it."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])
