"""Loops that are worth running on several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from relex.dialects.target.processors import Processor
from relex.dialects.tir import ForOp, LoopKind
from relex.dialects.tir.accesses import variables_in
from relex.passes.analysis.loop_tree import is_scalar, loops_in
from relex.passes.analysis.sharing import packs
from relex.passes.cpu import cost
from relex.passes.cpu.cycles import cycles_of
from relex.passes.cpu.reduction_nest import count


@dataclass(frozen=True)
class SharedLoops:
    """Loops whose iterations threads may share: they are perfectly nested, except for loops of one iteration between
    them."""

    loops: Sequence[ForOp]
    cycles: float
    """The cycles that all iterations take, for likely sizes."""

    @property
    def parts(self) -> int:
        """The number of iterations, where an extent that is only known at run time counts as one."""
        return count(self.loops, 1)

    @property
    def least(self) -> int:
        """The number of iterations from which on sharing pays off, if their number is only known at run time; else
        0."""
        return 0 if all(isinstance(loop.extent, int) for loop in self.loops) else self._least

    @property
    def _least(self) -> int:
        return max(2, ceil(cost.MIN_CYCLES_TO_SHARE / self.cycles * self.likely))

    @property
    def likely(self) -> int:
        """The likely number of iterations."""
        return count(self.loops, cost.LIKELY_SIZE)

    @property
    def is_worth_it(self) -> bool:
        """Whether sharing gains more than waking the threads costs, or may, depending on sizes."""
        return self.cycles > 0 and (self.least > 0 or self.likely >= self._least)


def stays(nest: ForOp) -> bool:
    """Return whether threads share loops of a nest already."""
    return any(loop.kind.data is LoopKind.PARALLEL for loop in loops_in(nest))


def loops_to_share(nest: ForOp, processor: Processor) -> list[SharedLoops]:
    """Return the loops of a nest that threads may share, best first."""
    chain, is_copy = list(_chain(nest)), packs(nest)
    cycles, found = cycles_of(nest, processor, cost.LIKELY_SIZE), list[SharedLoops]()
    for number, loop in enumerate(chain):
        if loop.kind.data is LoopKind.SERIAL and loop.extent not in (0, 1):
            if is_copy:  # Its panels: LLVM compiles the loops inside of them better if it knows their ranges.
                found.append(SharedLoops([loop], cycles))
                break
            found.append(_together(chain[number:], cycles))
        cycles /= max(1, count([loop], cost.LIKELY_SIZE))
    return sorted(
        (shared for shared in found if shared.is_worth_it), key=lambda shared: -min(shared.likely, cost.ENOUGH_PARTS)
    )


def nests_inside(nest: ForOp) -> list[ForOp]:
    """Return the nests that the innermost of perfectly nested loops holds besides other ops."""
    *_, last = _chain(nest)
    return [op for op in last.body.block.ops if isinstance(op, ForOp)]


def better_inside(nest: ForOp, outside: Sequence[SharedLoops], processor: Processor) -> list[ForOp]:
    """Return the nests in a loop if sharing them, one after the other, keeps more threads busy than the best loops
    around all of them; else none."""
    parts = outside[0].parts if outside else 1
    if parts >= cost.ENOUGH_PARTS:
        return []
    is_dynamic = any(shared.least for shared in outside)
    least = (cost.MIN_SHARES_INSIDE_DYNAMIC if is_dynamic else cost.MIN_SHARES_INSIDE) * cost.MIN_CYCLES_TO_SHARE
    nests = [inner for inner in nests_inside(nest) if not stays(inner)]
    best = (found[0] for inner in nests if (found := loops_to_share(inner, processor)))
    return nests if any(shared.parts >= 2 * parts and shared.cycles >= least for shared in best) else []


def _together(chain: Sequence[ForOp], cycles: float) -> SharedLoops:
    """Return the first loop of a chain with as many of the next ones as give each thread several parts."""
    first, *others = chain
    taken, iterations = [first], count([first], cost.LIKELY_SIZE)
    for loop in (loop for loop in others if loop.extent != 1):
        iterations *= count([loop], cost.LIKELY_SIZE)
        is_short = cycles < iterations * cost.MIN_CYCLES_OF_A_PART
        if is_short or loop.kind.data is not LoopKind.SERIAL or count(taken, 1) >= cost.PARTS_TO_SHARE:
            break
        if not isinstance(loop.extent, int) and variables_in(loop.extent, first):
            break
        taken.append(loop)
    return SharedLoops(taken, cycles)


def _chain(loop: ForOp) -> Iterator[ForOp]:
    """Yield a loop and the loops perfectly nested in it."""
    yield loop
    inner = [op for op in loop.body.block.ops if not is_scalar(op)]
    if len(inner) == 1 and isinstance(inner[0], ForOp):
        yield from _chain(inner[0])
