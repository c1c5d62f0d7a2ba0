"""Loops that are worth running on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import mul

from relex.dialects.processors import Processor
from relex.dialects.tir import ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.loop_tree import is_scalar, loops_in
from relex.passes.cpu import cost
from relex.passes.cpu.cycles import cycles_of
from relex.passes.cpu.reductions import count


def loops_to_share(func: PrimFuncOp, processor: Processor) -> list[Sequence[ForOp]]:
    """Return for each long nest of a function the loops that threads may share, best first."""
    nests = [op for op in func.body.block.ops if isinstance(op, ForOp)]
    return [loops for nest in nests if (loops := _candidates(nest, processor))]


def _candidates(nest: ForOp, processor: Processor) -> Sequence[ForOp]:
    if any(loop.kind.data is LoopKind.PARALLEL for loop in loops_in(nest)):
        return []
    cycles = cycles_of(nest, processor)
    extents = {loop: count([loop], unknown=0) for loop in _chain(nest)}
    starts = zip(extents, accumulate(extents.values(), mul, initial=1), strict=False)
    long = [loop for loop, times in starts if times and cycles / times >= cost.MIN_CYCLES_TO_SHARE]
    divisible = [loop for loop in long if extents[loop] > 1 and loop.kind.data is LoopKind.SERIAL]
    return sorted(divisible, key=lambda loop: -min(extents[loop], cost.ENOUGH_PARTS))


def _chain(loop: ForOp) -> Iterator[ForOp]:
    """Yield a loop and the loops perfectly nested in it."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])
