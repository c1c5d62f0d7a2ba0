"""What loops tell later passes and LLVM: which become vectors, and which are unrolled."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute

from relex.dialects.target import processor_in
from relex.dialects.tir import ForOp, LoopKind, loops_around
from relex.dialects.upstream.llvm import LOOP_ANNOTATION, LoopAnnotationAttr, Unrolling
from relex.dialects.walks import ancestors, walk
from relex.lowering.vectors import VECTORIZED_ATTR
from relex.passes.analysis.sharing import is_spatial
from relex.passes.cpu import cost

_SCHEDULED = (LoopKind.VECTORIZED, LoopKind.UNROLLED)


def loop_attributes(loop: ForOp) -> dict[str, Attribute]:
    """Return the attributes that tell later passes how to lower a loop."""
    match loop.kind.data:
        case LoopKind.VECTORIZED:
            return {VECTORIZED_ATTR: UnitAttr()}
        case LoopKind.UNROLLED:
            # LLVM warns of a loop that it cannot unroll.
            known = isinstance(loop.extent, int)
            return {LOOP_ANNOTATION: LoopAnnotationAttr(Unrolling.FULL if known else Unrolling.DISABLE)}
        case _:
            inside = [inner for inner in walk(loop) if isinstance(inner, ForOp) and inner is not loop]
            if not any(inner.kind.data in _SCHEDULED for inner in inside):
                return {}
            # The schedule decides what is unrolled. LLVM would add an exit in the middle of the loop, which is slow.
            return {LOOP_ANNOTATION: LoopAnnotationAttr(_iterations_at_once(loop, inside) or Unrolling.DISABLE)}


def _iterations_at_once(loop: ForOp, inside: list[ForOp]) -> int | None:
    """Return how many iterations become one, a divisor of their number; None if each stays as it is."""
    if any(inner.kind.data not in _SCHEDULED for inner in inside) or not isinstance(loop.extent, int):
        return None
    copies = _steps([inner for inner in inside if inner.kind.data is LoopKind.UNROLLED])
    if copies == 1 or is_spatial(loop):
        return None
    if _steps([*loops_around(loop), loop, *inside]) < cost.MIN_STEPS_FOR_SEVERAL_TERMS:
        return None
    module = next((scope for scope in ancestors(loop) if isinstance(scope, ModuleOp)), None)
    processor = processor_in(module) if module is not None else None
    if processor is None or not processor.shares_issue:
        return None
    at_once = max(n for n in range(1, max(1, cost.MAX_COPIES_OF_TERMS // copies) + 1) if loop.extent % n == 0)
    return at_once if at_once > 1 else None


def _steps(loops: list[ForOp]) -> int:
    return prod(loop.extent if isinstance(loop.extent, int) else cost.LIKELY_EXTENT for loop in loops)
