"""Loop annotations for later passes and LLVM: which loops are vectorized, and which are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute

from relex.dialects.index.expr import terms_of
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import ForOp, LoopKind, loops_around
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.dialects.walks import ancestors, walk
from relex.lowering.vectors import VECTORIZED_ATTR
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import blocks_in
from relex.passes.analysis.sharing import is_spatial
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import count, divisors

_SCHEDULED = (LoopKind.VECTORIZED, LoopKind.UNROLLED)


def loop_attributes(loop: ForOp, *, is_whole: bool = True) -> dict[str, Attribute]:
    """Return the attributes that tell later passes how to lower a loop, or the remaining iterations of a partial
    one."""
    match loop.kind.data:
        case LoopKind.VECTORIZED:
            return {VECTORIZED_ATTR: UnitAttr()}
        case LoopKind.UNROLLED:
            # LLVM warns of a loop that it cannot unroll.
            known = isinstance(loop.extent, int)
            return {LOOP_ANNOTATION: LoopAnnotationAttr(Unrolling.FULL if known else Unrolling.DISABLE)}
        case _ if any(isinstance(inner, ForOp) and inner.kind.data in _SCHEDULED for inner in walk(loop)):
            # The schedule decides what is unrolled. LLVM would add an exit in the middle of the loop, which is slow.
            at_once = _iterations_at_once(loop) if is_whole else 1
            return {LOOP_ANNOTATION: LoopAnnotationAttr(at_once if at_once > 1 else Unrolling.DISABLE)}
        case _:
            return {}


def _iterations_at_once(loop: ForOp) -> int:
    """Return how many iterations of a loop become one, a divisor of their number; 1 if each stays as it is."""
    inside: list[ForOp] = []
    for inner in walk(loop):
        if isinstance(inner, ForOp) and inner is not loop:
            if inner.kind.data not in _SCHEDULED:
                return 1
            inside.append(inner)
    unrolled = [inner for inner in inside if inner.kind.data is LoopKind.UNROLLED]
    copies = count(unrolled)
    steps = count([*loops_around(loop), loop, *inside], cost.LIKELY_EXTENT)
    if copies == 1 or is_spatial(loop) or steps < cost.MIN_STEPS_FOR_SEVERAL_TERMS:
        return 1
    module = next((scope for scope in ancestors(loop) if isinstance(scope, ModuleOp)), None)
    processor = processor_in(module) if module is not None else None
    if processor is None or not processor.shares_issue or _reads_again(loop, unrolled):
        return 1
    if sum(count([inner]) > 1 for inner in unrolled) == 1 and 2 * copies > processor.vector_registers:
        # An element of a row is multiplied once, and LLVM puts the sum into its register, not into the register of the
        # old sum.
        return 1
    return max(divisors(loop, cost.MAX_COPIES_OF_TERMS // copies), default=1)


def _reads_again(loop: ForOp, unrolled: Sequence[ForOp]) -> bool:
    """Return whether an iteration of a loop reads elements that an earlier one has read for another iteration of
    unrolled loops in it, as taps of a convolution do along a row. LLVM would keep them in the registers that the tile
    needs."""
    reads = [access for block in blocks_in(loop) for access in block_accesses(block) if not access.is_write]
    for factors in (terms_of(index) for access in reads for index in access.element):
        step = factors.get(loop.variable, 0)
        others = [factors[inner.variable] for inner in unrolled if inner.variable in factors]
        if step and any(factor % step == 0 and count([loop]) > abs(factor // step) for factor in others):
            return True
    return False
