"""Loops that are worth running on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from operator import mul

from relex.dialects.processors import Processor
from relex.dialects.tir import ForOp, LoopKind, PrimFuncOp
from relex.passes.analysis.loop_tree import is_scalar, loops_in
from relex.passes.analysis.sharing import packs
from relex.passes.cpu import cost
from relex.passes.cpu.cycles import cycles_of
from relex.passes.cpu.reductions import count


@dataclass(frozen=True)
class SharedLoop:
    """A loop that threads may share."""

    loop: ForOp
    least: int
    """The number of iterations from which on it is worth it, if their number is only known at run time; else 0."""


def loops_to_share(func: PrimFuncOp, processor: Processor) -> list[Sequence[SharedLoop]]:
    """Return for each long nest of a function the loops that threads may share, best first."""
    nests = [op for op in func.body.block.ops if isinstance(op, ForOp)]
    return [loops for nest in nests if (loops := _candidates(nest, processor))]


def _candidates(nest: ForOp, processor: Processor) -> Sequence[SharedLoop]:
    if any(loop.kind.data is LoopKind.PARALLEL for loop in loops_in(nest)) or packs(nest):
        return []  # LLVM compiles copies into panels better that know the range of all loops.
    chain = list(_chain(nest))
    extents = [count([loop], cost.LIKELY_SIZE) for loop in chain]
    cycles, found = cycles_of(nest, processor, cost.LIKELY_SIZE), list[SharedLoop]()
    for loop, extent, times in zip(chain, extents, accumulate(extents, mul, initial=1), strict=False):
        one = cycles / times / extent if times and extent else 0
        least = ceil(cost.MIN_CYCLES_TO_SHARE / one) if one else cost.MANY
        is_long = not isinstance(loop.extent, int) or loop.extent >= max(least, 2)
        if one and is_long and loop.kind.data is LoopKind.SERIAL:
            found.append(SharedLoop(loop, 0 if isinstance(loop.extent, int) else max(least, 2)))
    return sorted(found, key=lambda shared: -min(count([shared.loop]), cost.ENOUGH_PARTS))


def _chain(loop: ForOp) -> Iterator[ForOp]:
    """Yield a loop and the loops perfectly nested in it."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])
